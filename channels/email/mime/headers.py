"""A header's fields as they stand in the bytes (RFC 5322 §2.2). What a line is, is decided as mail servers
decide it, so that nobody sees a field here which they didn't: a bare CR ends no line, and the first line
that is no field ends the header."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from channels.email.mail import Field
from channels.email.mime import clean, words
from channels.email.mime.limits import FIELD, FIELDS, FROM, HEADER, IDS
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

_NAME: Final = bytes(range(33, 127)).replace(b":", b"")
_CONTROLS: Final = bytes([*range(9), *range(10, 32), 127])
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_ZONES: Final = {
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
}


@struct(frozen=True, slots=True)
class Header:
    """``body`` is where the header's text ends and the rest begins. ``over`` names a limit it goes beyond."""

    fields: tuple[Field, ...]
    body: int
    over: str = ""

    def first(self, name: str) -> bytes:
        return next((field.value for field in self.fields if field.name == name), b"")


def fields(raw: bytes) -> tuple[Field, ...]:
    """The header of a mail, byte-exact. A field beyond its limit is there with an empty value, so that
    none can hide behind its length."""
    return header(raw).fields


def header(data: bytes, at: int = 0, stop: Callable[[bytes], bool] | None = None) -> Header:
    """The header that begins at ``at``. ``stop`` knows the lines at which a part is over."""
    limit = min(len(data), at + HEADER)
    lines = _Lines(data)
    if at == 0 and data.startswith((b"From ", b">From ")):
        first = _next(data, 0, limit)
        at = first if _value(data[:first]) < 0 else 0  # a mailbox file's own line
    while at < limit:
        following = _next(data, at, limit)
        line = data[at:following]
        if stop is not None and stop(line):
            break
        if line in {b"\r\n", b"\n"}:
            lines.close(at)
            return Header(tuple(lines.found), following, lines.over)
        if not lines.take(line, at):
            break
        at = following
    else:
        if limit < len(data):
            lines.over = f"a header of more than {HEADER} bytes"
    lines.close(at)
    return Header(tuple(lines.found), at, lines.over)


class _Lines:
    """The fields that a header's lines make up."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.found: list[Field] = []
        self.over = ""
        self._begin = self._value = -1

    def take(self, line: bytes, at: int) -> bool:
        """Whether this line, which begins at ``at``, belongs to the header."""
        if self._begin >= 0 and line[0] in b" \t":
            return True
        self.close(at)
        value = _value(line)
        if value >= 0 and len(self.found) == FIELDS:
            self.over = f"more than {FIELDS} header fields"
        elif value >= 0:
            self._begin, self._value = at, at + value
            return True
        return False

    def close(self, end: int) -> None:
        """The field under way, if any, ends here."""
        if self._begin < 0:
            return
        name = self.data[self._begin : self._value - 1].rstrip(b" \t").decode("ascii").lower()
        most = FROM if name == "from" else FIELD
        value = b""
        if end - self._begin <= most:
            value = _ended(self.data[self._value : end])
        else:
            self.over = f"a header field of more than {most} bytes"
        self.found.append(Field(name, value, len(self.found)))
        self._begin = -1


def _next(data: bytes, at: int, limit: int) -> int:
    found = data.find(b"\n", at, limit)
    return limit if found < 0 else found + 1


def _ended(value: bytes) -> bytes:
    if value.endswith(b"\n"):
        value = value[:-1]
        return value[:-1] if value.endswith(b"\r") else value
    return value


def _value(line: bytes) -> int:
    """Where the value of the field in this line begins; -1 for a line that is no field."""
    colon = line.find(b":")
    name = line[:colon].rstrip(b" \t") if colon > 0 else b""
    return colon + 1 if name and not name.strip(_NAME) else -1


# -- what the fields say ---------------------------------------------------------------------------
def decoded(value: bytes) -> str:
    """An unstructured value for people: encoded words read, on one line, without control characters."""
    return words.spelled_out(value)


def ids(value: bytes) -> tuple[str, ...]:
    """The message ids in a value, byte for byte but for folds and control characters, in angle brackets.

    Anything between brackets is one (``<[1@host]>``). Where there are no brackets, what has an ``@`` in
    it is. A value that some program wrote as encoded words is read first.
    """
    if b"=?" in value:
        value = words.unencoded(value).encode("latin-1", "replace")
    value = value.translate(None, _CONTROLS)
    found: list[str] = []
    at = 0
    while (end := value.find(b">", at)) >= 0:
        begin = value.rfind(b"<", at, end)
        if begin >= 0 and (inside := value[begin + 1 : end].strip()):
            found.append(f"<{inside.decode('latin-1')}>")
        at = end + 1
    if not found and b"<" not in value:
        found = [
            f"<{word.decode('latin-1')}>" for word in value.split() if b"@" in word.strip(b"@")
        ]
    return tuple(_printable(each) for each in found[-IDS:])


def _printable(value: str) -> str:
    """Bytes above 127 are letters of an id, but for the control characters among them; a tab is of a fold."""
    value = value.replace("\t", "")
    return value if value.isascii() else "".join(c for c in value if not "\x7f" <= c < "\xa0")


def date(value: bytes) -> Millis | None:
    """The moment that a ``Date`` names (RFC 5322 §3.3, and its older spellings)."""
    text = clean.line(value[:200].decode("latin-1")).partition("(")[0].replace(",", " ")
    parts = (
        text.replace("-", " - ").split()
        if text[:1].isalpha() and "-" in text[:12]
        else text.split()
    )
    parts = [part for part in parts if part != "-"]
    if parts and parts[0].isalpha():
        parts = parts[1:]
    try:
        moment = _moment(parts)
        return Millis(int(moment.timestamp() * 1000))
    except (ValueError, OverflowError, IndexError):
        return None


def _moment(parts: list[str]) -> datetime:
    day, month, year = int(parts[0]), _MONTHS.index(parts[1][:3].lower()) + 1, int(parts[2])
    if year < 100:
        year += 1900 if year >= 50 else 2000
    clock = [int(number) for number in parts[3].split(":")]
    hour, minute, second = (*clock, 0)[:3]
    zone = _zone(parts[4]) if len(parts) > 4 else UTC
    return datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)


def _zone(word: str) -> timezone:
    if word[:1] in {"+", "-"} and len(word) == 5 and word[1:].isdecimal():
        minutes = int(word[1:3]) * 60 + int(word[3:])
        return timezone(timedelta(minutes=-minutes if word[0] == "-" else minutes))
    return timezone(timedelta(hours=_ZONES.get(word.lower(), 0)))
