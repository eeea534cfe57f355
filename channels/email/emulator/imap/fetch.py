"""What FETCH answers about one mail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from channels.email.emulator.boxes import Stored
from channels.email.emulator.imap.wire import BadCommandError, Token, word

MACROS = {"FAST": ("FLAGS", "INTERNALDATE", "RFC822.SIZE")}
SECTIONS = {"RFC822": "BODY[]", "RFC822.HEADER": "BODY.PEEK[HEADER]", "RFC822.TEXT": "BODY[TEXT]"}
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def items(token: Token) -> list[str]:
    """What is asked for, in upper case."""
    if isinstance(token, list):
        return [word(one).upper() for one in token]
    name = word(token).upper()
    return list(MACROS.get(name, (name,)))


def marks_seen(asked: Sequence[str]) -> bool:
    """Whether the mail counts as read after that."""
    return any(SECTIONS.get(one, one).startswith("BODY[") for one in asked)


def answer(mail: Stored, asked: Sequence[str]) -> bytes:
    """What stands between the parentheses of one FETCH response."""
    return b" ".join(_item(mail, one) for one in asked)


def flags(mail: Stored) -> str:
    return f"({' '.join(sorted(mail.flags))})"


def _item(mail: Stored, name: str) -> bytes:
    if name == "UID":
        return f"UID {mail.uid}".encode("ascii")
    if name == "FLAGS":
        return f"FLAGS {flags(mail)}".encode("utf-8", "replace")
    if name == "RFC822.SIZE":
        return f"RFC822.SIZE {len(mail.raw)}".encode("ascii")
    if name == "INTERNALDATE":
        at = datetime.fromtimestamp(mail.at / 1000, UTC)
        day = f"{at.day:2d}-{MONTHS[at.month - 1]}-{at.year:04d}"
        return f'INTERNALDATE "{day} {at:%H:%M:%S} +0000"'.encode("ascii")
    return _section(mail.raw, name)


def _section(raw: bytes, asked: str) -> bytes:
    """``BODY.PEEK[HEADER.FIELDS (FROM TO)]<0.2048>`` and its relatives."""
    name, bracket, rest = SECTIONS.get(asked, asked).partition("[")
    section, closed, part = rest.rpartition("]")
    if name not in {"BODY", "BODY.PEEK"} or not bracket or not closed:
        raise BadCommandError(f"this server doesn't fetch {asked}")
    head, gap, body = raw.partition(b"\r\n\r\n")
    head += gap
    if not section:
        content = raw
    elif section == "HEADER":
        content = head
    elif section == "TEXT":
        content = body
    elif section.startswith("HEADER.FIELDS ("):
        content = _fields(head, section[len("HEADER.FIELDS (") : -1].split())
    else:
        raise BadCommandError(f"this server has no part {section}")
    begin = ""
    if part:
        first, _, count = part.strip("<>").partition(".")
        if not first.isdigit() or not count.isdigit():
            raise BadCommandError("that is no part of a part")
        content, begin = content[int(first) :][: int(count)], f"<{int(first)}>"
    shown = asked if asked in SECTIONS else f"BODY[{section}]{begin}"
    return f"{shown} {{{len(content)}}}\r\n".encode("ascii", "replace") + content


def _fields(head: bytes, names: Sequence[str]) -> bytes:
    wanted = {name.encode("ascii", "replace") for name in names}
    kept: list[bytes] = []
    keep = False
    for line in head.splitlines(keepends=True):
        if not line.startswith((b" ", b"\t")):
            keep = line.partition(b":")[0].strip().upper() in wanted
        if keep:
            kept.append(line)
    return b"".join(kept) + b"\r\n"
