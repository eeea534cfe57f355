"""What Block Kit refuses, with the words and the pointer that lead to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.emulator.blocks.validate import check, check_view
from gateway.engine.kinds import Json, JsonObject
from tests.unit.emulator.stage import Play, buttons


def plain(text: str) -> JsonObject:
    return {"type": "plain_text", "text": text}


def section(**more: Json) -> JsonObject:
    return {"type": "section", **more}


def select(options: int, text: str = "a") -> JsonObject:
    made: list[Json] = [{"text": plain(text), "value": str(n)} for n in range(options)]
    return {"type": "static_select", "action_id": "s", "options": made}


def actions(*elements: Json) -> JsonObject:
    return {"type": "actions", "elements": [*elements]}


def button(**more: Json) -> JsonObject:
    return {"type": "button", "text": plain("Go"), "action_id": "go", **more}


# One that just fits, and the same grown past its limit; what is complained about, and where.
LIMITS: list[tuple[JsonObject, JsonObject, str]] = [
    (section(text=plain("a" * 3000)), section(text=plain("a" * 3001)), "3001 characters [json-pointer:/blocks/0/text/text]"),
    (section(fields=[plain("a" * 2000)] * 10), section(fields=[plain("a")] * 11), "10 items allowed [json-pointer:/blocks/0/fields]"),
    (section(fields=[plain("a")]), section(fields=[plain("a" * 2001)]), "2001 characters [json-pointer:/blocks/0/fields/0/text]"),
    ({"type": "header", "text": plain("a" * 150)}, {"type": "header", "text": plain("a" * 151)}, "151 characters"),
    ({"type": "header", "text": plain("a")}, {"type": "header", "text": {"type": "mrkdwn", "text": "a"}}, "must be plain_text"),
    ({"type": "context", "elements": [plain("a")] * 10}, {"type": "context", "elements": [plain("a")] * 11}, "10 items"),
    (actions(*[button(action_id=str(n)) for n in range(25)]), actions(*[button(action_id=str(n)) for n in range(26)]), "25 items"),
    (actions(button(), button(action_id="b")), actions(button(), button()), "action_id `go` is used more than once [json-pointer:/blocks/0/elements/1/action_id]"),
    (actions(button(text=plain("a" * 75))), actions(button(text=plain("a" * 76))), "76 characters"),
    (actions(button(value="a" * 2000)), actions(button(value="a" * 2001)), "2001 characters"),
    (actions(button(url="a" * 3000)), actions(button(url="a" * 3001)), "3001 characters"),
    (actions(button(action_id="a" * 255)), actions(button(action_id="a" * 256)), "256 characters"),
    (actions(button(style="danger")), actions(button(style="pink")), "style must be"),
    (actions(button()), actions(button(text={"type": "mrkdwn", "text": "a"})), "must be plain_text"),
    (actions(select(100)), actions(select(101)), "100 items"),
    (actions(select(1, "a" * 75)), actions(select(1, "a" * 76)), "76 characters"),
    (actions(button(confirm={"title": plain("a" * 100)})), actions(button(confirm={"title": plain("a" * 101)})), "101 characters"),
    (section(text=plain("a"), block_id="a" * 255), section(text=plain("a"), block_id="a" * 256), "256 characters"),
    (section(text=plain("a")), section(), "missing required field: text"),
    (section(text=plain("a")), section(text=plain("")), "more than 0 characters"),
    ({"type": "divider"}, {"type": "sparkles"}, "unsupported type: sparkles [json-pointer:/blocks/0/type]"),
    ({"type": "markdown", "text": "a" * 12_000}, {"type": "markdown", "text": "a" * 12_001}, "12001 characters together"),
    ({"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": []}]}, {"type": "rich_text", "elements": [{"type": "text", "text": "a"}]}, "unsupported type: text"),
    ({"type": "task_card", "task_id": "1", "title": "a", "status": "complete"}, {"type": "task_card", "task_id": "1", "title": "a", "status": "done"}, "status must be"),
    ({"type": "task_card", "task_id": "1", "title": "a" * 256}, {"type": "task_card", "task_id": "1", "title": "a" * 257}, "257 characters"),
    ({"type": "plan", "title": "a", "tasks": [{"task_id": "1", "title": "a"}]}, {"type": "plan", "title": "a", "tasks": [{"title": "a"}]}, "missing required field: task_id"),
    ({"type": "table", "rows": [[plain("a")] * 20] * 100}, {"type": "table", "rows": [[plain("a")] * 21]}, "20 items"),
    ({"type": "context_actions", "elements": [button()]}, {"type": "context_actions", "elements": [button(action_id=str(n)) for n in range(6)]}, "5 items"),
]  # fmt: skip


@pytest.mark.parametrize(("fits", "grown", "told"), LIMITS)
def test_a_limit_holds_to_the_character(fits: JsonObject, grown: JsonObject, told: str) -> None:
    assert check([fits], "message") == []
    problems = check([grown], "message")
    assert any(told in problem for problem in problems), problems


def test_ids_and_counts_over_the_whole_message() -> None:
    assert check([{"type": "divider"}] * 50, "message") == []
    (many,) = check([{"type": "divider"}] * 51, "message")
    assert "no more than 50 items" in many
    assert check([{"type": "divider"}] * 100, "modal") == []
    (twice,) = check([{"type": "divider", "block_id": "a"}] * 2, "message")
    assert "block_id `a` is used more than once" in twice
    half: JsonObject = {"type": "markdown", "text": "a" * 6_001}
    (together,) = check([half, half], "message")
    assert "12001 characters together" in together
    (nothing,) = check(["text"], "message")
    assert "must be an object" in nothing


def modal(**more: Json) -> JsonObject:
    return {"type": "modal", "title": plain("Why"), "blocks": [], **more}


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (modal(title=plain("a" * 25)), "25 characters [json-pointer:/view/title/text]"),
        (modal(submit=plain("a" * 25)), "25 characters"),
        (modal(private_metadata="a" * 3001), "3001 characters"),
        (modal(callback_id="a" * 256), "256 characters"),
        (modal(blocks=[section(text=plain("é" * 2999))] * 60), "less than 250000 bytes"),
        (modal(blocks=[{"type": "input", "label": plain("a"), "element": {"type": "plain_text_input"}}]), "missing required field: submit"),
        (modal(blocks=[{"type": "task_card", "task_id": "1", "title": "a"}]), "unsupported type: task_card"),
        ({"type": "modal", "blocks": []}, "missing required field: title"),
        ({"type": "modal", "title": plain("a")}, "missing required field: blocks"),
        ({"type": "window"}, "must be modal or home"),
    ],
)  # fmt: skip
def test_a_view_has_limits_of_its_own(view: JsonObject, told: str) -> None:
    assert check_view(modal()) == []
    assert any(told in problem for problem in check_view(view)), check_view(view)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "elements", "accessory", "title", "rows", "a"]),
            inner | st.sampled_from(["section", "actions", "button", "table", "plan", "modal"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_no_blocks_break_the_check(blocks: list[Any]) -> None:
    for problem in check(blocks, "message"):
        assert problem.startswith("[ERROR] ")
        assert "[json-pointer:/blocks" in problem


async def test_a_refusal_says_where(play: Play) -> None:
    blocks = buttons("Go", "Go")
    refused = await play.refusal("chat.postMessage", channel=play.support.id, blocks=blocks)
    assert refused["error"] == "invalid_blocks"
    assert refused["response_metadata"]["messages"] == [
        "[ERROR] action_id `go` is used more than once [json-pointer:/blocks/0/elements/1/action_id]"
    ]
    refused = await play.refusal("blocks.validate", blocks=blocks)
    assert refused["error"] == "invalid_blocks"
    assert (await play.call("blocks.validate", message={"blocks": buttons("Go")}))["ok"]
    assert await play.refused("blocks.validate", view={"type": "window"}) == "invalid_blocks"
    assert await play.refused("blocks.validate") == "invalid_arguments"


async def test_what_has_no_id_is_given_one(play: Play) -> None:
    posted = await play.post(
        blocks=[
            {"type": "divider"},
            {"type": "actions", "elements": [{"type": "button", "text": plain("Go")}]},
        ]
    )
    first, second = posted["message"]["blocks"]
    assert first["block_id"]
    assert second["block_id"] != first["block_id"]
    assert second["elements"][0]["action_id"]
