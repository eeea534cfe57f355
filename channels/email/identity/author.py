"""The one mailbox in ``From``, by a grammar that leaves no room for two readings.

RFC 5322 allows much in this field, and programs differ in what they make of it: a filter that checked
one of two addresses and a reader that shows the other is how a forged mail passes. So only the plain
shapes name anybody: an address, or words and an address in angle brackets. Comments, groups, routes,
quoted local parts, a second address and whatever else the grammar knows leave the mail without an
author; it is shown as text then.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from channels.email.identity import looks
from channels.email.identity.domains import a_label
from channels.email.identity.scan import Scanner, Unreadable, unfolded
from channels.email.identity.trust import Reason
from channels.email.identity.zone import named
from channels.email.mail import Author, Mail
from channels.email.mime.headers import decoded
from gateway.engine.struct import struct

__all__ = ["MAX_FROM", "From", "address", "read"]

MAX_FROM: Final = 2048
MAX_LOCAL: Final = 64
"""RFC 5321 §4.5.3.1.1"""
_ATEXT: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~"
)
_WORD: Final = _ATEXT | {"."}
"""A phrase may hold dots, as in an initial (RFC 5322 §4.1, ``obs-phrase``)."""
_STOPS: Final = frozenset('<>()[]:;@\\,"')
_ANGLES: Final = frozenset("<>")


@struct(frozen=True, slots=True, kw_only=True)
class From:
    """``author`` is ``None`` where the field names nobody for certain. ``shown`` is what it says, made
    harmless. ``reasons`` are all that speak against believing it."""

    author: Author | None
    shown: str
    reasons: tuple[Reason, ...] = ()


def read(mail: Mail) -> From:
    fields = named(mail.fields, "from")
    shown = _harmless(" | ".join(decoded(field.value[:MAX_FROM]) for field in fields[:3]), 300)
    if not fields:
        return _nobody(shown, "from_missing", "The mail has no From field.")
    if len(fields) != 1:
        return _nobody(shown, "from_repeated", f"The mail has {len(fields)} From fields.")
    value = fields[0].value
    if len(value) > MAX_FROM:
        return _nobody(shown, "from_too_long", f"The From field is over {MAX_FROM} bytes.")
    try:
        phrase, spec = _mailbox(unfolded(value))
    except Unreadable:
        why = "The From field isn't one plain mailbox, and programs differ in how they read it."
        return _nobody(shown, "from_grammar", why)
    found = address(spec)
    if found is None:
        why = "The address in From isn't a plain one in a domain that can exist."
        return _nobody(shown, "from_address", why)
    author = Author(address=found, domain=found.rpartition("@")[2], display=_display(phrase))
    shown = f"{author.display} <{found}>" if author.display else found
    return From(author=author, shown=shown, reasons=_tricks(author))


def address(spec: str) -> str | None:
    """``local@domain`` as it is compared, of a line that ``unfolded`` gave; ``None`` if it isn't plain."""
    local, at, domain = spec.partition("@")
    atoms = local.split(".")
    if not at or len(local) > MAX_LOCAL or "=?" in local:
        return None
    if not all(atom and _ATEXT.issuperset(atom) for atom in atoms):
        return None
    try:
        name = a_label(domain.encode("latin-1").decode())
    except UnicodeError:
        return None
    return f"{local.lower()}@{name}" if name else None


def _mailbox(line: str) -> tuple[str, str]:
    """What stands before the angle brackets, and the address."""
    scan = Scanner(line)
    scan.blank()
    start, words = scan.at, 0
    while scan.next not in {"", "<", "@"}:
        if scan.next == '"':
            scan.quoted()
        elif not _WORD.issuperset(scan.run(_STOPS)) or (
            scan.next in _STOPS and scan.next not in {"<", "@", '"'}
        ):
            raise Unreadable
        words += 1
        if not scan.blank():
            break
    if scan.next == "@" and words == 1:
        scan.at = start
        return "", _rest(scan)
    if scan.next != "<":
        raise Unreadable
    phrase = line[start : scan.at].strip(" \t")
    scan.take("<")
    spec = scan.run(_ANGLES)
    if not scan.take(">"):
        raise Unreadable
    scan.blank()
    if scan.next:
        raise Unreadable
    return phrase, spec


def _rest(scan: Scanner) -> str:
    spec = scan.run(_ANGLES)
    scan.blank()
    if scan.next:
        raise Unreadable
    return spec


def _tricks(author: Author) -> tuple[Reason, ...]:
    out: list[Reason] = []
    if looks.claims(author.display, author.address):
        why = "The name beside the address shows another address."
        out.append(("display_is_address", why))
    if looks.mixed(author.domain):
        why = f"The domain {author.domain} mixes alphabets that look alike."
        out.append(("mixed_script", why))
    return tuple(out)


def _nobody(shown: str, word: str, why: str) -> From:
    return From(author=None, shown=shown, reasons=((word, why),))


# -- for people -----------------------------------------------------------------------------------------
def _display(phrase: str) -> str:
    scan, out = Scanner(phrase), list[str]()
    while scan.next:
        out.append(scan.quoted() if scan.next == '"' else scan.run(frozenset('"')))
        if scan.blank():
            out.append(" ")
    return _harmless(decoded("".join(out).encode("latin-1")), 200)


def _harmless(text: str, most: int) -> str:
    """Without what a terminal, a log or a page would take for more than letters."""
    kept = (char if _visible(char) else " " for char in text)
    return " ".join("".join(kept).split())[:most]


def _visible(char: str) -> bool:
    return unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
