"""What a message of ours shows, as far as the journal knows it.

A part's row says which slice of the text it carries; ``Extra`` says the rest: how it was opened, which
tasks stand in it and how, which line of our own it ends with. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from channels.slack.words.doc import Task
from gateway.engine.kinds import JsonObject
from gateway.engine.ledger import Delivery, Part
from gateway.engine.struct import replace, struct

Plain = Literal[0, 1, 2]
"""How plainly it is said: Markdown and cards, rich text, or nothing but text."""


@struct(frozen=True, slots=True, kw_only=True)
class Extra:
    """``tasks`` are marks by id (``mark``). ``whole`` is the last offset that was sent with nothing held
    back. ``drop``: it can't be rewritten, so it is to go. ``file`` names the file that the part is, and
    ``upload`` Slack's id of it. ``unsure``: until this moment a change whose answer was lost may still be
    carried out, and would undo another."""

    opening: str = ""
    tasks: tuple[tuple[str, str], ...] = ()
    note: str = ""
    whole: int = 0
    plain: Plain = 0
    drop: bool = False
    file: str = ""
    upload: str = ""
    unsure: int = 0


def extra_of(part: Part) -> Extra:
    if not part.extra:
        return Extra()
    read = cast("dict[str, Any]", json.loads(part.extra))
    tasks: Mapping[str, str] = read.pop("tasks", {})
    return Extra(tasks=tuple(tasks.items()), **read)


def with_extra(part: Part, extra: Extra) -> Part:
    fields: JsonObject = {
        "opening": extra.opening,
        "tasks": dict(extra.tasks),
        "note": extra.note,
        "whole": extra.whole,
        "plain": extra.plain,
        "drop": extra.drop,
        "file": extra.file,
        "upload": extra.upload,
        "unsure": extra.unsure,
    }
    kept = {name: value for name, value in fields.items() if value}
    return replace(part, extra=json.dumps(kept, ensure_ascii=False) if kept else None)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def mark(task: Task) -> str:
    """How a task stands, in a few letters that change with it."""
    return digest(f"{task.state} {task.line}")[:8]


def marks(tasks: Iterable[Task]) -> tuple[tuple[str, str], ...]:
    return tuple((task.id, mark(task)) for task in tasks)


def nonce(delivery: Delivery, n: int, attempt: int) -> str:
    """What a message is found by. A turn's id is its post's, so no other message has it."""
    parts = (
        delivery.agent,
        delivery.session,
        delivery.turn_id,
        delivery.part,
        str(n),
        str(attempt),
    )
    return digest("\0".join(parts))


def face(status: str, parts: Iterable[Part]) -> str:
    """The digest of all that a place shows of a delivery."""
    shown = [
        f"{part.n} {part.ref} {part.start} {part.end} {part.hash} {part.extra}"
        for part in parts
        if part.state not in {"opening", "gone"}
    ]
    return digest("\n".join([status, *shown]))
