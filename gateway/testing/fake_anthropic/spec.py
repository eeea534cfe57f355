"""What a script says: the reply to send, and what goes wrong while it is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gateway.engine.kinds import JsonObject


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """``text`` may be empty, as with ``display: omitted``. ``signed`` false is what a client keeps
    of a stream that was cut inside the block."""

    text: str = ""
    redacted: bool = False
    signed: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """``written`` replaces the arguments' JSON text: cut off, or no JSON at all."""

    name: str
    input: JsonObject = field(default_factory=JsonObject)
    id: str = ""
    written: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Any other block, sent whole in its ``content_block_start``."""

    raw: JsonObject
    deltas: tuple[JsonObject, ...] = ()


Part = Say | Think | Call | Block


@dataclass(frozen=True, slots=True)
class Cut:
    """The body ends after ``at`` bytes.

    ``clean`` ends it as if it were whole, ``close`` hangs up inside it, ``reset`` hangs up with a
    TCP reset.
    """

    at: int
    how: Literal["clean", "close", "reset"] = "close"


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing is sent for ``seconds`` once ``at`` bytes of the body are out."""

    at: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A 200 answer. By default whole, with a stop reason that fits and a plausible bill.

    ``insert`` puts raw bytes before the event of that number (0 is ``message_start``, -1 the last):
    pings, errors, broken frames. ``delta`` is characters per delta; ``piece`` is bytes per write.
    """

    content: Sequence[Part] = ()
    stop: str | None = ""
    """``""``: ``tool_use`` with calls, else ``end_turn``. ``None``: none is sent."""
    stop_details: JsonObject | None = None
    usage: JsonObject | None = None
    model: str | None = None
    delta: int = 16
    piece: int | None = None
    insert: Sequence[tuple[int, bytes]] = ()
    cut: Cut | None = None
    stall: Stall | None = None

    @property
    def stop_reason(self) -> str | None:
        if self.stop != "":
            return self.stop
        return "tool_use" if any(isinstance(part, Call) for part in self.content) else "end_turn"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that says no. ``body`` replaces the API's error shape (a proxy's page, nothing)."""

    status: int
    type: str
    message: str = ""
    code: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


Answer = Reply | Refusal
Script = Sequence[Answer] | Callable[[JsonObject], Answer]
"""Answers in order, or a function of the request's body."""

_NO_REQUEST_OF_OURS = 500


def say(text: str) -> Reply:
    return Reply(content=[Say(text)])


def overloaded(retry_after: str | None = None) -> Refusal:
    return Refusal(529, "overloaded_error", "Overloaded", headers=_wait(retry_after))


def rate_limited(retry_after: str | None = None, code: str | None = None) -> Refusal:
    return Refusal(
        429, "rate_limit_error", "Rate limit reached", code=code, headers=_wait(retry_after)
    )


def exhausted() -> Refusal:
    """What a script of answers says when asked once more than it has answers."""
    return Refusal(_NO_REQUEST_OF_OURS, "api_error", "the script has no more answers")


def ping() -> bytes:
    return event("ping", {"type": "ping"})


def stream_error(type: str, message: str = "", code: str | None = None) -> bytes:  # noqa: A002
    return event("error", error_body(type, message, code))


def event(name: str, body: JsonObject) -> bytes:
    return f"event: {name}\ndata: {dumps(body)}\n\n".encode()


def error_body(type: str, message: str, code: str | None = None) -> JsonObject:  # noqa: A002
    error: JsonObject = {"type": type, "message": message}
    if code is not None:
        error["details"] = {"error_code": code}
    return {"type": "error", "error": error, "request_id": "req_fake"}


def dumps(body: JsonObject) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _wait(seconds: str | None) -> tuple[tuple[str, str], ...]:
    return () if seconds is None else (("retry-after", seconds),)
