"""Whom a mail is written to, as far as it takes to see whether we are among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from channels.email.identity.author import address
from channels.email.identity.scan import Scanner, Unreadable, unfolded
from channels.email.identity.zone import named
from channels.email.mail import Field

__all__ = ["addresses", "bare", "elsewhere", "listed", "naming"]

MAX_RECIPIENTS: Final = 500
_STOPS: Final = frozenset('<>(),;:"')


def addresses(value: bytes) -> tuple[str, ...]:
    """The plain addresses of a list (RFC 5322 §3.4), groups and all. What is no plain address isn't one
    of ours; a list that can't be read has none."""
    try:
        found = list(_addresses(Scanner(unfolded(value))))
    except Unreadable:
        return ()
    return tuple(found)


def listed(fields: tuple[Field, ...], *names: str) -> Iterator[str]:
    """The plain addresses in all fields of these names, name by name."""
    for name in names:
        for field in named(fields, name):
            yield from addresses(field.value)


def bare(plussed: str) -> str:
    """An address without its plus part."""
    local, at, domain = plussed.lower().rpartition("@")
    return f"{local.partition('+')[0]}{at}{domain}"


def naming(fields: tuple[Field, ...], ours: frozenset[str]) -> str:
    """The field that names one of us, ``to`` or ``cc``; empty without one. ``ours`` are bare."""
    for name in ("to", "cc"):
        if any(bare(one) in ours for one in listed(fields, name)):
            return name
    return ""


def elsewhere(fields: tuple[Field, ...], envelope: tuple[str, ...], ours: frozenset[str]) -> bool:
    """Whether it was delivered to an address of ours with a plus part that the mail itself doesn't name:
    somebody sent a copy of it into another conversation. A mailbox keeps the envelope in the header."""
    told = {*envelope, *listed(fields, "delivered-to", "x-original-to")}
    tokens = {one.lower() for one in told if bare(one) in ours and bare(one) != one.lower()}
    return bool(tokens) and not tokens <= {*listed(fields, "to", "cc")}


def _addresses(scan: Scanner) -> Iterator[str]:
    """Of each entry the address in angle brackets, else its one word."""
    words: list[str] = []
    angled, seen = "", 0
    while True:
        scan.space()
        if scan.next in {"", ",", ";", ":"}:
            spec = angled or (words[0] if len(words) == 1 else "")
            if scan.next != ":" and (found := address(spec)):
                yield found
            words, angled, seen = [], "", seen + 1
            if not scan.next or seen > MAX_RECIPIENTS:
                return
            scan.at += 1
        elif scan.next == '"':
            words.append(f'"{scan.quoted()}"')
        elif scan.take("<"):
            inside = scan.run(_STOPS)
            if angled or not scan.take(">"):
                raise Unreadable
            angled = inside
        elif word := scan.run(_STOPS):
            words.append(word)
        else:
            raise Unreadable
