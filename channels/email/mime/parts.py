"""The parts that a mail is made of (RFC 2046 §5), found in one pass over its lines, whatever is missing:
a boundary that is never used, never closed, used twice, or not even named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from channels.email.mime import clean, headers, params, transfer
from channels.email.mime.limits import BOUNDARY_LINES, DASHED_LINES, DEPTH, OverLimitError
from channels.email.mime.params import Params

_WHOLE_MAILS: Final = frozenset({"message/rfc822", "message/global", "message/news"})
_LONG_BOUNDARY: Final = 500


@dataclass(slots=True)
class Part:
    """``path`` counts from 1 on each level: "2.1" is the first part in the second. ``data[start:end]`` is
    what it holds, its transfer encoding not undone."""

    path: str
    kind: Literal["leaf", "multipart", "mail"]
    media_type: str
    header: headers.Header
    type: Params
    disposition: Params
    data: bytes
    start: int
    end: int
    parent: Part | None = None
    preamble: int = -1
    """Where a multipart's first boundary line ends what stands before its parts."""
    parts: list[Part] = field(default_factory=list["Part"])

    @property
    def encoding(self) -> str:
        return transfer.encoding(self.header.first("content-transfer-encoding"))

    @property
    def size(self) -> int:
        """Of its bytes as they were sent."""
        return self.end - self.start

    def content(self) -> bytes:
        return transfer.undone(self.data[self.start : self.end], self.encoding)

    @property
    def file_name(self) -> str:
        """Made harmless."""
        named = self.disposition.get("filename") or self.type.get("name")
        return clean.filename(named)

    @property
    def content_id(self) -> str:
        return clean.line(self.header.first("content-id").decode("latin-1")).strip("<>")


def walk(raw: bytes) -> Part:
    """The whole mail as one part, its parts in it. Raises ``OverLimitError``."""
    walker = _Walker()
    root = walker.walk(raw, None)
    while walker.waiting:
        part = walker.waiting.pop()
        data = part.content()
        part.parts = [walker.walk(data, part)]
    root.path = root.path or "1" if root.kind == "leaf" else ""
    return root


def leaves(root: Part) -> list[Part]:
    """All that hold something, in the order in which they stand."""
    found: list[Part] = []
    pending = [root]
    while pending:
        part = pending.pop()
        if part.kind == "leaf":
            found.append(part)
        pending.extend(reversed(part.parts))
    return found


@dataclass(slots=True)
class _Open:
    """A part whose end isn't known yet. ``boundary`` is empty for what is no multipart, or is closed."""

    part: Part
    depth: int
    boundary: bytes = b""


class _Walker:
    def __init__(self) -> None:
        self.waiting: list[Part] = []
        """Mails in a transfer encoding of their own, which the standard forbids."""
        self.lines = 0
        self.dashed = 0
        self.data = b""
        self.stack: list[_Open] = []
        self.active: dict[bytes, int] = {}

    def walk(self, data: bytes, above: Part | None) -> Part:
        """The part that all of ``data`` is; ``above`` holds it in another encoding."""
        self.data, self.stack, self.active = data, [], {}
        at, root = self._open(0, above)
        while (found := self._boundary(at)) is not None:
            begin, at, level, closes = found
            self._close(level + 1, begin)
            part = self.stack[level].part
            if part.preamble < 0:
                part.preamble = max(part.start, begin)
            if closes:
                self.stack[level].boundary = b""
                self._note_boundaries()
            else:
                at, _ = self._open(at, part)
        self._close(0, len(data))
        return root

    def _boundary(self, at: int) -> tuple[int, int, int, bool] | None:
        """The next line that is a boundary: where what stands before it ends, where the line ends, which
        of the open parts it belongs to, and whether it closes that."""
        data = self.data
        while self.active:
            if (at and data[at - 1] != 0x0A) or not data.startswith(b"--", at):
                at = data.find(b"\n--", at) + 1
                if at == 0:
                    return None
            end = data.find(b"\n", at, at + _LONG_BOUNDARY + 8)
            following = end + 1 if end >= 0 else min(len(data), at + _LONG_BOUNDARY + 8)
            if (which := self._which(data[at:following])) is not None:
                self.lines += 1
                if self.lines > BOUNDARY_LINES:
                    raise OverLimitError(f"more than {BOUNDARY_LINES} boundary lines")
                before = at - 1 if at and data[at - 1] == 0x0A else at
                before -= 1 if before and data[before - 1] == 0x0D else 0
                return before, following, *which
            self.dashed += 1
            if self.dashed > DASHED_LINES:
                raise OverLimitError(
                    f"more than {DASHED_LINES} lines that begin as a boundary does"
                )
            at = following
        return None

    def _which(self, line: bytes) -> tuple[int, bool] | None:
        if not line.startswith(b"--"):
            return None
        whole = line[2:].rstrip(b" \t\r\n")
        if (level := self.active.get(whole)) is not None:
            return level, False
        if whole.endswith(b"--") and (level := self.active.get(whole[:-2])) is not None:
            return level, True
        if line.endswith(b"\n") or len(whole) < 4:
            return None
        for boundary, level in self.active.items():  # the mail ends in the middle of its last line
            if (boundary + b"--").startswith(whole):
                return level, True
        return None

    def _is_boundary(self, line: bytes) -> bool:
        return self._which(line) is not None

    def _open(self, at: int, above: Part | None) -> tuple[int, Part]:
        """Opens the part whose header begins here, and the mail in it if it is one. Where its text begins,
        and the part itself."""
        first: Part | None = None
        while True:
            depth = self.stack[-1].depth + 1 if self.stack else _depth(above)
            if depth > DEPTH:
                raise OverLimitError(f"parts within parts, more than {DEPTH} deep")
            stop: Callable[[bytes], bool] | None = self._is_boundary if self.active else None
            head = headers.header(self.data, at, stop)
            if head.over:
                raise OverLimitError(head.over)
            at = head.body
            part = _part(self.data, head, above)
            first = first or part
            self.stack.append(_Open(part, depth, self._boundary_of(part)))
            self._note_boundaries()
            if part.kind != "mail" or self._in_code(part):
                return at, first
            above = part

    def _in_code(self, part: Part) -> bool:
        """A whole mail in base64. Whoever says so often lies: then its header is there to be read."""
        line = part.data[part.start : part.start + 200].lstrip().partition(b"\n")[0]
        return part.kind == "mail" and part.encoding == "base64" and b":" not in line

    def _boundary_of(self, part: Part) -> bytes:
        """The boundary it names, or the line it begins with where it names none."""
        if part.kind != "multipart":
            return b""
        named = part.type.raw.get("boundary", b"").rstrip(b" \t")[:_LONG_BOUNDARY]
        if named:
            return named
        begin = part.start
        while self.data[begin : begin + 1] in {b"\r", b"\n"}:
            begin += 1
        line = self.data[begin : begin + _LONG_BOUNDARY].partition(b"\n")[0].rstrip(b" \t\r")
        return line[2:] if line.startswith(b"--") and len(line) > 2 else b""

    def _note_boundaries(self) -> None:
        """An inner part that repeats its parent's boundary has it."""
        self.active = {
            each.boundary: level for level, each in enumerate(self.stack) if each.boundary
        }

    def _close(self, level: int, end: int) -> None:
        """All that is open from this level on ends here."""
        for each in reversed(self.stack[level:]):
            part = each.part
            part.end = max(part.start, end)
            if part.kind == "leaf" or part.parts:
                continue
            if part.kind == "mail":
                self.waiting.append(part)
            else:  # no part was found in it: what stands there is read as text
                part.kind, part.media_type = "leaf", "text/plain"
                part.end = part.preamble if part.preamble >= 0 else part.end
        del self.stack[level:]
        self._note_boundaries()


def _depth(above: Part | None) -> int:
    depth = 0
    while above is not None:
        depth, above = depth + 1, above.parent
    return depth


def _part(data: bytes, head: headers.Header, above: Part | None) -> Part:
    said = head.first("content-type")
    kind = params.read(said)
    default = "text/plain"
    if above is not None and above.media_type == "multipart/digest":
        default = "message/rfc822"
    media_type = params.media_type(kind) if said.strip() else default
    part = Part(
        path=_path(above),
        kind=_kind(media_type),
        media_type=media_type,
        header=head,
        type=kind,
        disposition=params.read(head.first("content-disposition")),
        data=data,
        start=head.body,
        end=len(data),
        parent=above,
    )
    if above is not None:
        above.parts.append(part)
    return part


def _kind(media_type: str) -> Literal["leaf", "multipart", "mail"]:
    if media_type.startswith("multipart/"):
        return "multipart"
    return "mail" if media_type in _WHOLE_MAILS else "leaf"


def _path(above: Part | None) -> str:
    if above is None:
        return ""
    number = str(len(above.parts) + 1)
    return f"{above.path}.{number}" if above.path else number
