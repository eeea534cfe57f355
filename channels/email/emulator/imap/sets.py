"""Sets of numbers (``1,4:7,9:*``) and what SEARCH asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from channels.email.emulator.boxes import Stored
from channels.email.emulator.imap.wire import BadCommandError, Token, word

FLAGS = {
    "ANSWERED": "\\Answered",
    "DELETED": "\\Deleted",
    "DRAFT": "\\Draft",
    "FLAGGED": "\\Flagged",
    "SEEN": "\\Seen",
}
FIELDS = frozenset({"FROM", "TO", "CC", "BCC", "SUBJECT"})

Asked = Callable[[int, Stored], bool]
"""Whether a mail is meant, by its number in the folder and itself."""


def spans(text: str, highest: int) -> list[tuple[int, int]]:
    """The ranges of a set. ``*`` is the highest number in use, so ``n:*`` always holds that one."""
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        first, colon, last = part.partition(":")
        ends = [_number(end, highest) for end in ((first, last) if colon else (first, first))]
        found.append((min(ends), max(ends)))
    return found


def within(number: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(low <= number <= high for low, high in ranges)


def criteria(tokens: Sequence[Token], mails: Mapping[int, Stored]) -> Asked:
    """What a search's words ask for, all of it. ``mails`` are all there are, by number."""
    left = list(tokens)
    if len(left) > 1 and word(left[0]).upper() == "CHARSET":
        del left[:2]
    asked: list[Asked] = []
    while left:
        asked.append(_next(left, mails))
    return lambda number, mail: all(one(number, mail) for one in asked)


def _next(left: list[Token], mails: Mapping[int, Stored]) -> Asked:
    token = left.pop(0)
    if isinstance(token, list):
        return criteria(token, mails)
    key = token.decode("ascii", "replace").upper()
    if key == "ALL":
        return lambda number, mail: True
    if key.removeprefix("UN") in FLAGS:
        flag, there = FLAGS[key.removeprefix("UN")], not key.startswith("UN")
        return lambda number, mail: (flag in mail.flags) is there
    if key in {"KEYWORD", "UNKEYWORD"}:
        name, there = word(left.pop(0)), key == "KEYWORD"
        return lambda number, mail: (name in mail.flags) is there
    if key == "NOT":
        inner = _next(left, mails)
        return lambda number, mail: not inner(number, mail)
    if key == "OR":
        one, other = _next(left, mails), _next(left, mails)
        return lambda number, mail: one(number, mail) or other(number, mail)
    return _content(key, left, mails)


def _content(key: str, left: list[Token], mails: Mapping[int, Stored]) -> Asked:
    if key == "UID":
        ranges = spans(word(left.pop(0)), max((mail.uid for mail in mails.values()), default=0))
        return lambda number, mail: within(mail.uid, ranges)
    if key in FIELDS or key == "HEADER":
        name = word(left.pop(0)) if key == "HEADER" else key
        text = word(left.pop(0)).lower().encode()
        return lambda number, mail: text in header_field(mail.raw, name.lower().encode())
    if key == "SINCE":
        day = datetime.strptime(word(left.pop(0)), "%d-%b-%Y").replace(tzinfo=UTC)
        return lambda number, mail: mail.at >= day.timestamp() * 1000
    if key in {"TEXT", "BODY"}:
        text = word(left.pop(0)).lower().encode()
        return lambda number, mail: text in mail.raw.lower()
    if key[:1].isdigit() or key[:1] == "*":
        ranges = spans(key, len(mails))
        return lambda number, mail: within(number, ranges)
    raise BadCommandError(f"this server doesn't search by {key}")


def header_field(raw: bytes, name: bytes) -> bytes:
    """A field's first value in lower case; empty where there is none."""
    head = b"\n" + raw.partition(b"\r\n\r\n")[0].lower()
    value = head.partition(b"\n" + name + b":")[2]
    return value.partition(b"\n")[0]


def _number(text: str, highest: int) -> int:
    if text == "*":
        return highest
    if not text.isdigit() or len(text) > 12:
        raise BadCommandError("that is no set of numbers")
    return int(text)
