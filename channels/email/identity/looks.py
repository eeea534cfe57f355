"""Names that are made to be taken for another: look-alike domains, and display names that are addresses."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from typing import Final

from channels.email.identity.domains import u_label

__all__ = ["claims", "double", "mixed"]

_PAIRS: Final = (
    "аa вb еe кk мm нh оo рp сc тt уy хx ѕs іi јj ԁd ԛq ԝw һh ӏl ҽe "  # Cyrillic
    "αa εe ηn ιi κk νv οo ρp τt υu χx ωw ϲc "  # Greek
    "հh ոn սu օo զq "  # Armenian
    "ɡg ıi 0o 1l"
)
"""Letters that are drawn like Latin ones, by Unicode's list of confusables (UTS #39), the common ones."""
_TWINS: Final = {ord(pair[0]): pair[1] for pair in _PAIRS.split()}
_ATS: Final = frozenset("@\uff20\ufe6b")


def double(domain: str, known: Collection[str]) -> str | None:
    """The domain of ours that this one is drawn like without being it."""
    drawn = _drawn(domain)
    return next((name for name in sorted(known) if name != domain and _drawn(name) == drawn), None)


def mixed(domain: str) -> bool:
    """Whether a label mixes Latin letters with those that are drawn like them (UTS #39 §5.1)."""
    for label in u_label(domain).split("."):
        scripts = {_script(char) for char in label if char.isalpha()}
        if len(scripts & _ALIKE) > 1:
            return True
    return False


_ALIKE: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"})


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _drawn(domain: str) -> str:
    letters = unicodedata.normalize("NFKD", u_label(domain))
    bare = "".join(char for char in letters if not unicodedata.combining(char))
    return bare.translate(_TWINS).replace("rn", "m").replace("vv", "w").replace("i", "l")


def claims(display: str, address: str) -> bool:
    """Whether a display name shows an address that isn't the mail's own."""
    plain = unicodedata.normalize("NFKC", display)
    if _ATS.isdisjoint(display) and "@" not in plain:
        return False
    return plain.strip(" '\"<>").lower() != address
