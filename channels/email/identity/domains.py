"""Domain names as they are compared: lower case, A-labels, nothing that DNS couldn't hold.

A label in other letters is checked by its code points (RFC 5892, in short: letters, marks, digits,
normalised, lower case), not mapped: what would have to be changed to be a name is none. The standard
library's IDNA is that of 2003, which turns one name into another (``ß`` into ``ss``).
"""

from __future__ import annotations

import functools
import unicodedata
from typing import Final

from publicsuffixlist import PublicSuffixList

__all__ = ["a_label", "aligned", "below", "host", "organisation", "u_label"]

_LDH: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_ACE: Final = "xn--"
_JOINERS: Final = frozenset("\u00b7\u30fb")
"""Middle dots, which are punctuation and yet stand in names (RFC 5892, appendix A)."""


def a_label(domain: str) -> str | None:
    """A mail domain in its one spelling, or ``None``. It has a dot, and its last label isn't a number."""
    labels = domain.split(".")
    if len(domain) > 253 or len(labels) < 2:
        return None
    out = [_label(label) for label in labels]
    name = ".".join(label or "" for label in out)
    if not all(out) or len(name) > 253 or name.rpartition(".")[2].isdigit():
        return None
    return name


def u_label(domain: str) -> str:
    """The letters that an A-label stands for; only of a name that ``a_label`` gave."""
    return ".".join(
        label.removeprefix(_ACE).encode().decode("punycode") if label.startswith(_ACE) else label
        for label in domain.split(".")
    )


def _label(label: str) -> str | None:
    if not label.isascii():
        return _encoded(label.lower())
    lower = label.lower()
    if not 1 <= len(lower) <= 63 or not _LDH.issuperset(lower):
        return None
    if lower.startswith("-") or lower.endswith("-"):
        return None
    if lower[2:4] != "--":
        return lower
    if not lower.startswith(_ACE):
        return None
    try:
        letters = lower.removeprefix(_ACE).encode().decode("punycode")
    except UnicodeError:
        return None
    return lower if _encoded(letters) == lower else None


def _encoded(letters: str) -> str | None:
    if letters.isascii() or len(letters) > 63 or letters.startswith("-") or letters.endswith("-"):
        return None
    if letters != letters.lower() or letters != unicodedata.normalize("NFKC", letters):
        return None
    kinds = [unicodedata.category(char) for char in letters]
    if kinds[0].startswith("M") or letters[2:4] == "--":
        return None
    for char, kind in zip(letters, kinds, strict=True):
        fits = char in _LDH if char.isascii() else kind in _KINDS or char in _JOINERS
        if not fits:
            return None
    encoded = _ACE + letters.encode("punycode").decode()
    return encoded if len(encoded) <= 63 else None


_KINDS: Final = frozenset({"Ll", "Lo", "Lm", "Mn", "Mc", "Nd"})


# -- one owner ---------------------------------------------------------------------------------------
@functools.cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


def organisation(domain: str) -> str | None:
    """The domain that somebody registered: one label below a public suffix, private ones such as
    ``github.io`` among them. A last label that no list knows is a suffix by itself."""
    return _suffixes().privatesuffix(domain)


def aligned(one: str, other: str, *, relaxed: bool) -> bool:
    """Whether two names have one owner (RFC 7489 §3.1): the same, or also of one organisation."""
    if one == other:
        return True
    owner = organisation(one) if relaxed else None
    return owner is not None and owner == organisation(other)


# -- hosts as they are configured ----------------------------------------------------------------------
def host(name: str) -> str:
    return name.lower().removesuffix(".")


def below(name: str, wanted: str) -> bool:
    """Whether a host is the wanted one. With a dot in front it stands for all below it, for providers
    whose every machine has a name of its own."""
    wanted = host(wanted)
    if wanted.startswith("."):
        return len(wanted) > 1 and host(name).endswith(wanted)
    return bool(wanted) and host(name) == wanted
