"""Where a mail's header stops being ours: below the ``Received`` that our border wrote.

Every server puts its lines on top, so what a sender wrote lies below the first ``Received`` of the
border, whatever it says (RFC 8601 §5). Whose name a result bears proves nothing: a filter that is told
to remove foreign results was seen to leave them (OpenDKIM 2.11 with ``RemoveARFrom``).

A ``Received`` tells the sender's HELO, in which some servers let blanks and brackets through. One that
can be read in two ways ends the search, and nothing above it is believed.
"""

from __future__ import annotations

from typing import Final

from channels.email.identity.domains import below
from channels.email.identity.scan import Scanner, Unreadable, unfolded
from channels.email.mail import Field
from gateway.engine.struct import struct

__all__ = ["RESULTS", "Zone", "named", "zone"]

RESULTS: Final = "authentication-results"
_STOPS: Final = frozenset('();"')
_APART: Final = dict.fromkeys(map(ord, _STOPS), " ")
_HOST: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._:[]")


@struct(frozen=True, slots=True, kw_only=True)
class Zone:
    """``results`` are the fields that our side wrote. ``ends`` is where the sender's begin. ``why`` says
    what is wrong instead."""

    results: tuple[Field, ...] = ()
    ends: int = 0
    why: str = ""


@struct(frozen=True, slots=True)
class _Hop:
    by: str
    protocol: str


def named(fields: tuple[Field, ...], name: str) -> tuple[Field, ...]:
    """All fields of a name, those with a blank before their colon among them."""
    return tuple(field for field in fields if field.name.strip().lower() == name)


def zone(
    fields: tuple[Field, ...], border: str | None, *, gmail: bool, direct: bool = False
) -> Zone:
    """``border`` is the host whose ``Received`` to look for. ``gmail``: it writes its results below that
    line, the first of them, before any older ``Received``. ``direct``: the mail came from that host by no
    other, so that its line is the first; below anybody else's, the sender may have written one."""
    if not border:
        return Zone(why="border_not_set")
    mine: list[Field] = []
    for place, field in enumerate(fields):
        name = field.name.strip().lower()
        if name == RESULTS:
            mine.append(field)
        if name != "received":
            continue
        try:
            hop = _hop(field.value)
        except Unreadable:
            return Zone(why="border_unclear")
        # The delivery into the mailbox may be by the same host, above what it found out.
        if below(hop.by, border) and not hop.protocol.startswith(("lmtp", "utf8lmtp")):
            rest = fields[place + 1 :] if gmail else ()
            return _ended(mine, place, field, rest)
        if direct and not below(hop.by, border):
            return Zone(why="border_missing")
    return Zone(why="border_missing")


def _ended(mine: list[Field], place: int, border: Field, rest: tuple[Field, ...]) -> Zone:
    ends = border.at
    for field in rest:
        name = field.name.strip().lower()
        if name == "received":
            break
        if name == RESULTS:
            return Zone(results=(*mine, field), ends=field.at)
    return Zone(results=tuple(mine), ends=ends)


def _hop(value: bytes) -> _Hop:
    """``[from NAME] by HOST [with PROTOCOL] ...`` (RFC 5321 §4.4). Where there are two ``by``, also in a
    comment, one of them may be the sender's."""
    line = unfolded(value)
    if line.lower().translate(_APART).split().count("by") != 1:
        raise Unreadable
    words = _words(line)
    if words and words[0].lower() == "from":
        words = words[2:]
    if len(words) < 2 or words[0].lower() != "by":
        raise Unreadable
    by = words[1].lower()
    if not _HOST.issuperset(by):
        raise Unreadable
    told = len(words) > 3 and words[2].lower() == "with"
    return _Hop(by, words[3].lower() if told else "")


def _words(line: str) -> list[str]:
    """The first words outside comments; no more than are looked at."""
    scan, out = Scanner(line), list[str]()
    scan.space()
    while scan.next and scan.next != ";" and len(out) < 8:
        word = scan.run(_STOPS)
        if not word:
            raise Unreadable
        out.append(word)
        scan.space()
    return out
