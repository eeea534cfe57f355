"""Stream events → one reply. Pure: no socket, no SDK; what it is fed decides what it says.

Events of ``POST /v1/messages`` with ``stream`` (platform.claude.com, "Streaming Messages"):
``message_start``, then for each content block ``content_block_start``, ``content_block_delta``…,
``content_block_stop``, then ``message_delta`` (stop reason and cumulative usage), ``message_stop``;
``ping`` and ``error`` anywhere. Unknown events, blocks and deltas are kept or passed over, never
refused: the API adds to them (T23).

Own accumulation instead of the SDK's: that one parses a tool's arguments again from the start with
every delta, and loses the whole message when they aren't JSON (anthropic 2.14, ``lib/streaming``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from gateway.engine.kinds import Json, JsonObject
from gateway.engine.messages import Block, Opaque, Reasoning, Text, ToolCall
from gateway.engine.model import ModelDelta, ReasoningDelta, TextDelta, ToolInputDelta
from gateway.engine.struct import struct
from gateway.models._arguments import arguments, strict
from gateway.models._text import joined, safe_json

TOOL_INPUT_EVERY = 0.5
"""Seconds between two notes on how far a call's arguments are."""


class StreamBroken(Exception):
    """Events that don't add up to a message."""


class StreamError(Exception):
    """An ``error`` event: the HTTP status is 200 long since, so the type is all there is.

    The SDK's maintainers mean it so (anthropic-sdk-python#1258, #1918).
    """

    def __init__(self, type: str, message: str, code: str | None) -> None:  # noqa: A002
        super().__init__(message)
        self.type = type
        self.code = code


@dataclass(slots=True)
class _Open:
    """A block under construction: its start as sent, its pieces by key, joined once at the end."""

    raw: JsonObject
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    shown: int = 0
    held: str = ""
    written: int = 0
    told_at: float | None = None

    @property
    def type(self) -> str:
        return str(self.raw.get("type"))


@struct(frozen=True, slots=True)
class Message:
    """A stream that came to its end: everything the provider said, nothing judged yet."""

    blocks: tuple[Block, ...]
    stop: str | None
    stop_details: JsonObject
    usage: JsonObject
    model: str


class Accumulator:
    """``names`` maps the tool names of the wire to their own; ``clock`` is monotonic seconds."""

    def __init__(self, names: Mapping[str, str], *, limit: int, clock: Callable[[], float]) -> None:
        self._names = names
        self._limit = limit
        self._clock = clock
        self._size = 0
        self.started = False
        self.written = 0
        """Characters of text, thinking and arguments so far."""
        self._open: _Open | None = None
        self._blocks: list[Block] = []
        self._stop: str | None = None
        self._details: JsonObject = {}
        self._usage: JsonObject = {}
        self._model = ""
        self.done = False

    def feed(self, event: str, data: str) -> list[ModelDelta]:
        """Take one event; the deltas it has to show."""
        body = _object(_parsed(data))
        kind = str(body.get("type") or event)
        if kind == "error":
            raise _error(body)
        if self.done or kind not in self._EVENTS:
            return []
        if not self.started and kind != "message_start":
            raise StreamBroken(f"{kind} came before message_start")
        if kind != "content_block_delta":  # of these only what they add is kept
            self._grow(len(data))
        return self._EVENTS[kind](self, body)

    def message(self) -> Message:
        """What the stream said: all of it once ``done``, else the blocks that are whole."""
        return Message(
            blocks=tuple(self._blocks),
            stop=self._stop,
            stop_details=self._details,
            usage=self._usage,
            model=self._model,
        )

    # -- events ------------------------------------------------------------------------------------
    def _message_start(self, body: JsonObject) -> list[ModelDelta]:
        if self.started:
            raise StreamBroken("a second message_start came")
        self.started = True
        message = _object(body.get("message"))
        self._model = joined(str(message.get("model") or ""))
        self._merge_usage(message.get("usage"))
        return []

    def _block_start(self, body: JsonObject) -> list[ModelDelta]:
        if self._open is not None or body.get("index") != len(self._blocks):
            raise StreamBroken(f"block {body.get('index')!r} started out of turn")
        self._open = block = _Open(dict(_object(body.get("content_block"))))
        if block.type == "tool_use":
            return self._tell(block)
        first = block.raw.get(_SHOWN.get(block.type, ""))
        return self._show(block, first) if isinstance(first, str) and first else []

    def _block_delta(self, body: JsonObject) -> list[ModelDelta]:
        block = self._open
        if block is None or body.get("index") != len(self._blocks):
            raise StreamBroken(f"a delta came for block {body.get('index')!r}, which isn't open")
        delta = _object(body.get("delta"))
        shown: list[ModelDelta] = []
        for key, piece in delta.items():
            if key == "type":
                continue
            self._grow(len(piece) if isinstance(piece, str) else len(str(piece)))
            if key == "citation":
                _list(block.raw, "citations").append(piece)
            elif key == "signature":
                block.raw[key] = piece  # whole each time, never in pieces
            elif isinstance(piece, str):
                block.pieces.setdefault(key, []).append(piece)
                self.written += len(piece)
                shown += self._piece(block, key, piece)
            elif piece is not None:
                block.raw[key] = piece
        return shown

    def _block_stop(self, body: JsonObject) -> list[ModelDelta]:
        block = self._open
        if block is None or body.get("index") != len(self._blocks):
            raise StreamBroken(f"block {body.get('index')!r} ended, which isn't open")
        self._open = None
        rest = self._emit(block, joined(block.held)) if block.held else []
        self._blocks.append(_finished(block, self._names))
        return rest

    def _message_delta(self, body: JsonObject) -> list[ModelDelta]:
        delta = _object(body.get("delta"))
        if (stop := delta.get("stop_reason")) is not None:
            self._stop = str(stop)
        if details := _object(delta.get("stop_details")):
            self._details = details
        self._merge_usage(body.get("usage"))
        return []

    def _message_stop(self, _: JsonObject) -> list[ModelDelta]:
        if self._open is not None:
            raise StreamBroken("the message ended inside a block")
        self.done = True
        return []

    def _grow(self, characters: int) -> None:
        self._size += characters
        if self._size > self._limit:
            raise StreamBroken(f"the reply grew past {self._limit} characters without ending")

    def _merge_usage(self, usage: Json) -> None:
        """Later numbers are cumulative and replace earlier ones; a missing one leaves them be."""
        self._usage.update(
            {key: value for key, value in _object(usage).items() if value is not None}
        )

    # -- deltas ------------------------------------------------------------------------------------
    def _piece(self, block: _Open, key: str, piece: str) -> list[ModelDelta]:
        if block.type == "tool_use" and key == "partial_json":
            block.written += len(piece)
            return self._tell(block)
        if _SHOWN.get(block.type) == key:
            return self._show(block, piece)
        return []

    def _show(self, block: _Open, piece: str) -> list[ModelDelta]:
        """Text to show now. The first half of a surrogate pair waits for the second."""
        piece = block.held + piece
        block.held = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return self._emit(block, joined(piece.removesuffix(block.held)))

    def _emit(self, block: _Open, text: str) -> list[ModelDelta]:
        if not text:
            return []
        offset, block.shown = block.shown, block.shown + len(text)
        kind = TextDelta if block.type == "text" else ReasoningDelta
        return [kind(text, block=len(self._blocks), offset=offset)]

    def _tell(self, block: _Open) -> list[ModelDelta]:
        now = self._clock()
        if block.told_at is not None and now - block.told_at < TOOL_INPUT_EVERY:
            return []
        block.told_at = now
        name = str(block.raw.get("name"))
        return [
            ToolInputDelta(
                call_id=str(block.raw.get("id")),
                name=self._names.get(name, name),
                characters=block.written,
            )
        ]

    _EVENTS: ClassVar[dict[str, Callable[[Accumulator, JsonObject], list[ModelDelta]]]] = {
        "message_start": _message_start,
        "content_block_start": _block_start,
        "content_block_delta": _block_delta,
        "content_block_stop": _block_stop,
        "message_delta": _message_delta,
        "message_stop": _message_stop,
    }


_SHOWN = {"text": "text", "thinking": "thinking"}


# -- a finished block ------------------------------------------------------------------------------
def _finished(block: _Open, names: Mapping[str, str]) -> Block:
    written = "".join(block.pieces.pop("partial_json", ()))
    raw = block.raw
    for key, pieces in block.pieces.items():
        start = raw.get(key)
        raw[key] = (start if isinstance(start, str) else "") + "".join(pieces)
    if block.type == "tool_use":
        return _call(raw, written, names)
    if written:
        raw["input"] = arguments(written)[0]
    raw = _object(safe_json(raw, text=False))
    if block.type == "text":
        more = _given(raw)
        return Text(str(raw.get("text", "")), more if more.keys() - {"type", "text"} else None)
    if block.type in {"thinking", "redacted_thinking"}:
        return Reasoning(str(raw.get("thinking", "")), raw)
    return Opaque(raw)


def _call(raw: JsonObject, written: str, names: Mapping[str, str]) -> ToolCall:
    value, problem = arguments(written) if written else (_object(raw.get("input")), None)
    name = str(raw.get("name"))
    more: JsonObject = {**_given(raw), "input": value}
    kept = more if more.keys() - {"type", "id", "name", "input"} else None
    return ToolCall(
        id=str(raw.get("id")),
        name=names.get(name, name),
        input=_object(safe_json(value, text=False)),
        problem=problem,
        raw=None if kept is None else _object(safe_json(kept, text=False)),
    )


# -- shapes ----------------------------------------------------------------------------------------
def _parsed(data: str) -> Json:
    try:
        return strict(data)
    except (ValueError, RecursionError) as error:
        raise StreamBroken("a stream event isn't JSON that can be kept") from error


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _given(raw: JsonObject) -> JsonObject:
    return {key: value for key, value in raw.items() if value is not None}


def _list(raw: JsonObject, key: str) -> list[Json]:
    value = raw.get(key)
    if not isinstance(value, list):
        value = raw[key] = []
    return value


def _error(body: JsonObject) -> StreamError:
    error = _object(body.get("error"))
    code = _object(error.get("details")).get("error_code")
    return StreamError(
        type=str(error.get("type") or "api_error"),
        message=str(error.get("message") or ""),
        code=code if isinstance(code, str) else None,
    )
