"""Server-sent events from bytes, in one pass and within a bound.

The format: lines end in LF, CR or CRLF; ``field: value``; a blank line ends an event; a line that
starts with a colon is a comment (WHATWG HTML, "Interpreting an event stream"). The SDK's own
decoder keeps a line that never ends for ever; this one fails (``FrameTooLarge``).
"""

from __future__ import annotations

from collections.abc import Iterator

from gateway.engine.struct import struct


class FrameTooLarge(Exception):
    """An event that grew past the bound without ending."""


@struct(frozen=True, slots=True)
class Frame:
    event: str
    data: str


class Decoder:
    """Feed it bytes as they come; it gives the events that are complete.

    Cutting the bytes elsewhere never changes the events. What is pending at the end of the stream
    is an event that was cut off, and by the format it is not one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._after_cr = False
        self._line: list[bytes] = []
        self._event = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        if not chunk:
            return
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for part in ended:
            self._keep(part)
            line = b"".join(self._line).decode("utf-8")
            self._line.clear()
            if line:
                self._field(line)
            elif (frame := self._end()) is not None:
                yield frame
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        self._size += len(part) + 1
        if self._size > self._limit:
            raise FrameTooLarge(f"an event grew past {self._limit} bytes without ending")
        if part:
            self._line.append(part)

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)

    def _end(self) -> Frame | None:
        frame = Frame(self._event, "\n".join(self._data)) if self._data else None
        self._event = ""
        self._data.clear()
        self._size = 0
        return frame
