"""Events as a channel without a platform tells them."""

from __future__ import annotations

from typing import Any, cast

from channels.contract import Answer, Control, ControlKind, Inbound, Missing, Place
from gateway.engine.kinds import Json, Level, Speaker
from gateway.engine.struct import replace

LEAD, SECOND = "talk:T1:LEAD", "talk:T1:SECOND"
STRANGER = "talk:T9:STRANGER"
CARD = "talk:T1:C1:9.9"
"""The reference of the message that shows the request."""


def person(id_: str = "talk:T1:U1", level: Level = "provider") -> Speaker:
    return Speaker(id=id_, name="Ada", tenant="T1", level=level)


def at(root: str) -> Place:
    return Place(key=f"talk:T1:C1:{root}", session=f"talk:T1:C1:{root}")


def said(text: str = "hello", ts: str = "1.1", **changes: Any) -> Inbound:
    """A mention at the root of its thread; ``event`` names the telling."""
    root = str(changes.pop("root", ts))
    event = str(changes.pop("event", f"Ev{ts}"))
    post = f"talk:T1:C1:{ts}"
    inbound = Inbound(
        event_id=event,
        keys=(f"talk:event:{event}", f"talk:post:T1:C1:{ts}"),
        post=post,
        turn_id=post,
        place=at(root),
        addressed="mention",
        author="person",
        speaker=person(),
        text=text,
        event={"type": "message", "ts": ts},
        target={"lane": f"talk:T1:C1:{root}", "user": "U1"},
    )
    return replace(inbound, **changes)


def reply_to(root: str, text: str = "and this?", ts: str = "2.2", **changes: Any) -> Inbound:
    """A message in a thread that doesn't name us."""
    given: dict[str, Any] = {"addressed": "thread", **changes}
    return said(text, ts, root=root, **given)


def edited(original: Inbound, text: str, at_: str = "5.5", event: str = "EvEdit") -> Control:
    turn_id = f"{original.post}:e{at_}"
    now = replace(
        original, event_id=event, text=text, turn_id=turn_id, keys=(f"talk:version:{turn_id}",)
    )
    return Control(
        event_id=event,
        keys=(f"talk:event:{event}", f"talk:edit:{turn_id}"),
        kind="edit",
        place=original.place,
        by=original.speaker,
        post=original.post,
        inbound=now,
        at=at_,
        reply={"user": "U1"},
    )


def acted(kind: str, event: str = "EvAct", by: Speaker | None = None, **changes: Any) -> Control:
    control = Control(
        event_id=event,
        keys=(f"talk:event:{event}",),
        kind="stop",
        place=at("1.1"),
        by=by or person(),
        reply={"user": "U1"},
    )
    return replace(control, kind=cast("ControlKind", kind), **changes)


def pressed(
    request: str, value: Json | Missing = True, by: str = LEAD, event: str = "", **changes: Any
) -> Answer:
    event = event or f"Press:{by}:{value}"
    answer = Answer(
        event_id=event,
        keys=(f"talk:act:{event}",),
        request=request,
        shown=CARD,
        digest="",
        by=person(by),
        value=value,
        reply={"user": by.rpartition(":")[2]},
    )
    return replace(answer, **changes)
