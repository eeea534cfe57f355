"""What Slack refuses about blocks and views, with the words and the pointer that it answers with.

Source: Slack docs "Block Kit reference" (each block, element and composition object), "Views";
slack_sdk/models/blocks and models/views.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from channels.slack.emulator.wire import a_list, a_text, an_object, objects
from gateway.engine.kinds import Json, JsonObject

Surface = Literal["message", "modal", "home"]

MOST_BLOCKS = 50
MOST_VIEW_BLOCKS = 100
MOST_VIEW_BYTES = 250_000
MOST_MARKDOWN = 12_000
MOST_ID = 255

BLOCKS: dict[str, tuple[str, ...]] = {
    "section": (),
    "header": ("text",),
    "context": ("elements",),
    "divider": (),
    "image": ("alt_text",),
    "actions": ("elements",),
    "input": ("label", "element"),
    "rich_text": ("elements",),
    "markdown": ("text",),
    "video": ("title", "video_url", "thumbnail_url", "alt_text"),
    "file": ("external_id", "source"),
    "context_actions": ("elements",),
    "task_card": ("task_id", "title"),
    "plan": ("title",),
    "table": ("rows",),
    "data_table": ("rows",),
    "alert": (),
    "card": (),
    "carousel": ("elements",),
    "container": (),
}
MESSAGE_ONLY = frozenset(
    {"task_card", "plan", "markdown", "table", "data_table", "context_actions"}
)
LENGTHS: dict[str, dict[str, int]] = {
    "section": {"text": 3000},
    "header": {"text": 150},
    "image": {"alt_text": 2000, "title": 2000, "image_url": 3000},
    "input": {"label": 2000, "hint": 2000},
    "task_card": {"title": 256, "task_id": 255},
    "plan": {"title": 256},
    "button": {"text": 75, "value": 2000, "url": 3000, "accessibility_label": 75},
    "option": {"text": 75, "value": 150, "description": 75},
    "confirm": {"title": 100, "text": 300, "confirm": 30, "deny": 30},
    "card": {"title": 150, "body": 200},
    "modal": {"title": 24, "submit": 24, "close": 24, "private_metadata": 3000, "callback_id": 255},
    "home": {"private_metadata": 3000, "callback_id": 255},
}
COUNTS: dict[str, dict[str, int]] = {
    "section": {"fields": 10},
    "context": {"elements": 10},
    "actions": {"elements": 25},
    "context_actions": {"elements": 5},
    "static_select": {"options": 100},
    "multi_static_select": {"options": 100},
    "overflow": {"options": 5},
    "radio_buttons": {"options": 10},
    "checkboxes": {"options": 10},
    "container": {"child_blocks": 10},
    "table": {"rows": 100},
}
STATUSES = frozenset({"pending", "in_progress", "complete", "error"})

Told = Iterator[str]


def error(what: str, at: str) -> str:
    return f"[ERROR] {what} [json-pointer:{at}]"


def check(blocks: Sequence[Json], surface: Surface, at: str = "/blocks") -> list[str]:
    """What is wrong with these blocks; nothing if they would be shown."""
    return list(_blocks(blocks, surface, at))


def _blocks(blocks: Sequence[Json], surface: Surface, at: str) -> Told:
    most = MOST_BLOCKS if surface == "message" else MOST_VIEW_BLOCKS
    if len(blocks) > most:
        yield error(f"no more than {most} items allowed", at)
    seen: set[str] = set()
    markdown = cards = 0
    for place, block in enumerate(blocks):
        here = f"{at}/{place}"
        if not isinstance(block, dict):
            yield error("must be an object", here)
            continue
        name = a_text(block.get("block_id"))
        if name and name in seen:
            yield error(f"block_id `{name}` is used more than once", f"{here}/block_id")
        seen.add(name)
        markdown += len(a_text(block.get("text"))) if block.get("type") == "markdown" else 0
        cards += block.get("type") == "task_card"
        yield from _block(block, surface, here)
    if markdown > MOST_MARKDOWN:
        yield error(
            f"markdown blocks must be less than {MOST_MARKDOWN + 1} characters together", at
        )
    if cards > MOST_BLOCKS:
        yield error(f"no more than {MOST_BLOCKS} task cards allowed", at)


def _block(block: JsonObject, surface: Surface, at: str) -> Told:
    kind = a_text(block.get("type"))
    if kind not in BLOCKS or (surface != "message" and kind in MESSAGE_ONLY):
        yield error(f"unsupported type: {kind or 'none'}", f"{at}/type")
        return
    for name in BLOCKS[kind]:
        if not block.get(name):
            yield error(f"missing required field: {name}", at)
    if len(a_text(block.get("block_id"))) > MOST_ID:
        yield error(f"must be less than {MOST_ID + 1} characters", f"{at}/block_id")
    yield from _sizes(kind, block, at)
    if special := SPECIAL.get(kind):
        yield from special(block, at)
    yield from _controls(block, at)


def _sizes(kind: str, node: JsonObject, at: str) -> Told:
    for name, most in LENGTHS.get(kind, {}).items():
        value = node.get(name)
        text = a_text(an_object(value).get("text")) if isinstance(value, dict) else a_text(value)
        pointer = f"{at}/{name}/text" if isinstance(value, dict) else f"{at}/{name}"
        if len(text) > most:
            yield error(f"must be less than {most + 1} characters", pointer)
        if isinstance(value, dict) and not text:
            yield error("must be more than 0 characters", pointer)
    for name, most in COUNTS.get(kind, {}).items():
        if len(a_list(node.get(name))) > most:
            yield error(f"no more than {most} items allowed", f"{at}/{name}")


def _section(block: JsonObject, at: str) -> Told:
    if not block.get("text") and not block.get("fields"):
        yield error("missing required field: text", at)
    text = an_object(block.get("text"))
    if text and text.get("type") not in {"mrkdwn", "plain_text"}:
        yield error("unsupported type: must be mrkdwn or plain_text", f"{at}/text/type")
    for place, field in enumerate(objects(block.get("fields"))):
        if len(a_text(field.get("text"))) > 2000:
            yield error("must be less than 2001 characters", f"{at}/fields/{place}/text")


def _header(block: JsonObject, at: str) -> Told:
    if an_object(block.get("text")).get("type") != "plain_text":
        yield error("unsupported type: must be plain_text", f"{at}/text/type")


def _rich(block: JsonObject, at: str) -> Told:
    for place, element in enumerate(a_list(block.get("elements"))):
        kind = a_text(an_object(element).get("type"))
        if kind not in {
            *("rich_text_section", "rich_text_list", "rich_text_preformatted", "rich_text_quote"),
        }:
            yield error(f"unsupported type: {kind or 'none'}", f"{at}/elements/{place}/type")


def _task(block: JsonObject, at: str) -> Told:
    if (status := block.get("status")) is not None and status not in STATUSES:
        yield error(f"status must be one of {', '.join(sorted(STATUSES))}", f"{at}/status")
    for name in ("details", "output"):
        value = block.get(name)
        if value is not None and an_object(value).get("type") != "rich_text":
            yield error("unsupported type: must be rich_text", f"{at}/{name}")


def _plan(block: JsonObject, at: str) -> Told:
    for place, task in enumerate(objects(block.get("tasks"))):
        yield from _block({"type": "task_card", **task}, "message", f"{at}/tasks/{place}")


def _table(block: JsonObject, at: str) -> Told:
    for place, row in enumerate(a_list(block.get("rows"))):
        if len(a_list(row)) > 20:
            yield error("no more than 20 items allowed", f"{at}/rows/{place}")


SPECIAL: dict[str, Callable[[JsonObject, str], Told]] = {
    "section": _section,
    "header": _header,
    "rich_text": _rich,
    "task_card": _task,
    "plan": _plan,
    "table": _table,
}


def _controls(block: JsonObject, at: str) -> Told:
    """Buttons, selects and the like inside one block."""
    kind = a_text(block.get("type"))
    if kind not in {"actions", "section", "input", "context_actions", "card"}:
        return
    found = [
        *((item, f"{at}/elements/{n}") for n, item in enumerate(objects(block.get("elements")))),
        *((item, f"{at}/actions/{n}") for n, item in enumerate(objects(block.get("actions")))),
        (an_object(block.get("accessory")), f"{at}/accessory"),
        (an_object(block.get("element")), f"{at}/element"),
    ]
    seen: set[str] = set()
    for control, here in found:
        if not control:
            continue
        yield from _control(control, here)
        name = a_text(control.get("action_id"))
        if name and name in seen:
            yield error(f"action_id `{name}` is used more than once", f"{here}/action_id")
        seen.add(name)


def _control(control: JsonObject, at: str) -> Told:
    kind = a_text(control.get("type"))
    if not kind:
        yield error("missing required field: type", at)
    if len(a_text(control.get("action_id"))) > MOST_ID:
        yield error(f"must be less than {MOST_ID + 1} characters", f"{at}/action_id")
    if kind == "button" and an_object(control.get("text")).get("type") != "plain_text":
        yield error("unsupported type: must be plain_text", f"{at}/text/type")
    if kind == "button" and control.get("style") not in {None, "primary", "danger"}:
        yield error("style must be primary or danger", f"{at}/style")
    yield from _sizes(kind, control, at)
    for place, option in enumerate(objects(control.get("options"))):
        yield from _sizes("option", option, f"{at}/options/{place}")
    if confirm := an_object(control.get("confirm")):
        yield from _sizes("confirm", confirm, f"{at}/confirm")


def check_view(view: JsonObject) -> list[str]:
    return list(_view(view))


def _view(view: JsonObject) -> Told:
    kind = a_text(view.get("type"))
    if kind not in {"modal", "home"}:
        yield error("unsupported type: must be modal or home", "/view/type")
        return
    if not isinstance(view.get("blocks"), list):
        yield error("missing required field: blocks", "/view")
    if kind == "modal" and not an_object(view.get("title")).get("text"):
        yield error("missing required field: title", "/view")
    blocks = a_list(view.get("blocks"))
    asks = any(an_object(block).get("type") == "input" for block in blocks)
    if kind == "modal" and asks and not view.get("submit"):
        yield error("missing required field: submit", "/view")
    if len(json.dumps(view, separators=(",", ":")).encode()) > MOST_VIEW_BYTES:
        yield error(f"must be less than {MOST_VIEW_BYTES} bytes", "/view")
    yield from _sizes(kind, view, "/view")
    yield from _blocks(blocks, "modal" if kind == "modal" else "home", "/view/blocks")
