"""An event of the inbox as JSON, and back. What isn't needed to act on it isn't kept."""

from __future__ import annotations

from typing import Literal, cast

from channels.contract import (
    MISSING,
    Addressed,
    Answer,
    Author,
    Budget,
    Control,
    ControlKind,
    FileRef,
    Follow,
    Inbound,
    Place,
    Replace,
)
from gateway.engine.kinds import Json, JsonObject, Millis, Speaker
from gateway.engine.struct import struct
from gateway.engine.wire import WIRE_VERSION, dumps, speaker_from, speaker_json, versioned


@struct(frozen=True, slots=True, kw_only=True)
class Saying:
    """Words for one person that are said once the event is acknowledged."""

    reply: JsonObject
    words: str


Kept = Inbound | Answer | Control | Saying
Kind = Literal["message", "answer", "control", "say"]
"""What ``Held.kind`` tells."""


@struct(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was kept of an event. ``generation`` is the one that a reset is meant for, as it was when
    the reset was asked for; ``None`` if there was no conversation."""

    kept: Kept
    generation: int | None = None


def kind_of(kept: Kept) -> Kind:
    match kept:
        case Inbound():
            return "message"
        case Answer():
            return "answer"
        case Control():
            return "control"
        case Saying():
            return "say"


def body_of(kept: Kept, generation: int | None = None) -> str:
    return dumps(
        {
            "v": WIRE_VERSION,
            "kind": kind_of(kept),
            "generation": generation,
            "event": _json(kept),
        }
    )


def stored_from(body: str) -> Stored:
    value = versioned(body)
    event = cast("JsonObject", value["event"])
    generation = cast("int | None", value["generation"])
    match value["kind"]:
        case "message":
            return Stored(kept=_inbound(event))
        case "answer":
            return Stored(kept=_answer(event))
        case "control":
            return Stored(kept=_control(event), generation=generation)
        case "say":
            words = Saying(reply=cast("JsonObject", event["reply"]), words=str(event["words"]))
            return Stored(kept=words)
        case kind:
            raise ValueError(f"an event of kind {kind!r} can't be acted on")


def _json(kept: Kept) -> JsonObject:
    match kept:
        case Inbound():
            return _inbound_json(kept)
        case Answer():
            told: JsonObject = {
                "event_id": kept.event_id,
                "keys": [*kept.keys],
                "request": kept.request,
                "shown": kept.shown,
                "digest": kept.digest,
                "by": speaker_json(kept.by),
                "reason": kept.reason,
                "reply": kept.reply,
            }
            return told if kept.value is MISSING else {**told, "value": kept.value}
        case Control():
            return {
                "event_id": kept.event_id,
                "keys": [*kept.keys],
                "kind": kept.kind,
                "place": _place_json(kept.place),
                "by": speaker_json(kept.by),
                "post": kept.post,
                "inbound": None if kept.inbound is None else _inbound_json(kept.inbound),
                "at": kept.at,
                "reply": kept.reply,
            }
        case Saying():
            return {"reply": kept.reply, "words": kept.words}


# -- messages ----------------------------------------------------------------------------------------
def _inbound_json(inbound: Inbound) -> JsonObject:
    return {
        "event_id": inbound.event_id,
        "keys": [*inbound.keys],
        "post": inbound.post,
        "turn_id": inbound.turn_id,
        "place": _place_json(inbound.place),
        "addressed": inbound.addressed,
        "author": inbound.author,
        "speaker": speaker_json(inbound.speaker),
        "text": inbound.text,
        "files": [[f.id, f.name, f.media_type, f.size, f.url] for f in inbound.files],
        "root_is_ours": inbound.root_is_ours,
        "follow": inbound.follow,
        "pair": inbound.pair,
        "places": [*inbound.places],
        "budgets": [[one.key, one.most, one.window] for one in inbound.budgets],
        "doubt": inbound.doubt,
        "replace": inbound.replace,
        "event": inbound.event,
        "target": inbound.target,
        "fetch": inbound.fetch,
    }


def _inbound(value: JsonObject) -> Inbound:
    place = _place(value["place"])
    if place is None:
        raise ValueError("a message that is kept has no place")
    return Inbound(
        event_id=str(value["event_id"]),
        keys=_texts(value["keys"]),
        post=str(value["post"]),
        turn_id=str(value["turn_id"]),
        place=place,
        addressed=cast("Addressed", value["addressed"]),
        author=cast("Author", value["author"]),
        speaker=_speaker(value["speaker"]),
        text=str(value["text"]),
        files=tuple(_file(one) for one in cast("list[list[Json]]", value["files"])),
        root_is_ours=bool(value["root_is_ours"]),
        follow=cast("Follow", value["follow"]),
        pair=cast("str | None", value["pair"]),
        places=_texts(value.get("places", [])),
        budgets=tuple(_budget(one) for one in cast("list[list[Json]]", value.get("budgets", []))),
        doubt=str(value.get("doubt", "")),
        replace=cast("Replace", value["replace"]),
        event=cast("JsonObject", value["event"]),
        target=cast("JsonObject", value["target"]),
        fetch=cast("JsonObject | None", value["fetch"]),
    )


def _budget(value: list[Json]) -> Budget:
    key, most, window = value
    return Budget(key=str(key), most=cast("int", most), window=Millis(cast("int", window)))


def _file(value: list[Json]) -> FileRef:
    id_, name, media_type, size, url = value
    return FileRef(
        id=str(id_),
        name=str(name),
        media_type=str(media_type),
        size=cast("int", size),
        url=str(url),
    )


# -- clicks and controls -----------------------------------------------------------------------------
def _answer(value: JsonObject) -> Answer:
    return Answer(
        event_id=str(value["event_id"]),
        keys=_texts(value["keys"]),
        request=str(value["request"]),
        shown=str(value["shown"]),
        digest=str(value["digest"]),
        by=_speaker(value["by"]),
        value=value.get("value", MISSING),
        reason=cast("str | None", value["reason"]),
        reply=cast("JsonObject", value["reply"]),
    )


def _control(value: JsonObject) -> Control:
    edited = value["inbound"]
    return Control(
        event_id=str(value["event_id"]),
        keys=_texts(value["keys"]),
        kind=cast("ControlKind", value["kind"]),
        place=_place(value["place"]),
        by=speaker_from(value["by"]),
        post=cast("str | None", value["post"]),
        inbound=_inbound(edited) if isinstance(edited, dict) else None,
        at=cast("str | None", value["at"]),
        reply=cast("JsonObject", value["reply"]),
    )


def _place_json(place: Place | None) -> Json:
    return None if place is None else [place.key, place.session]


def _place(value: Json) -> Place | None:
    if not isinstance(value, list):
        return None
    key, session = value
    return Place(key=str(key), session=str(session))


def _speaker(value: Json) -> Speaker:
    found = speaker_from(value)
    if found is None:
        raise ValueError("an event that is kept says nobody did it")
    return found


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(one) for one in cast("list[Json]", value))
