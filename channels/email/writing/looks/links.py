"""Whether a link may be one, and whether its label tells the truth about where it leads.

A label that reads like a host or an address is a promise. Where it isn't the link's own, the reader is shown
the real address beside it; where a browser shouldn't be sent, there is no link at all. When in doubt it
lies: the price of an honest label taken for a lie is a visible address.
"""

from __future__ import annotations

import string
import unicodedata

from channels.email.writing.addresses import is_host, problem
from gateway.engine.struct import struct

_SAFE = frozenset(string.ascii_letters + string.digits + "-._~:/?#[]@!$&'()*+,;=%")
"""What an address is made of (RFC 3986, section 2)."""
_DOTS = str.maketrans(dict.fromkeys("。．｡․·•∙‧・ꓸ", "."))


@struct(frozen=True, slots=True)
class Link:
    """``target`` is the address to follow, ``shown`` how it reads. ``honest``: its label may stand alone."""

    target: str
    shown: str
    honest: bool


def judge(label: str, href: str) -> Link | None:
    """``label`` as a reader sees it, ``href`` as a Markdown parser resolves it; ``None``: no link."""
    scheme, colon, rest = href.partition(":")
    if not colon or not _SAFE.issuperset(href):
        return None
    if scheme.lower() in {"http", "https"} and rest.startswith("//"):
        return _web(label, scheme.lower(), rest[2:])
    if scheme.lower() == "mailto":
        return _mail(label, rest.partition("?")[0])
    return None


def _web(label: str, scheme: str, rest: str) -> Link | None:
    end = min(at for mark in "/?#" if (at := f"{rest}{mark}".find(mark)) >= 0)
    authority, path = rest[:end], rest[end:]
    user, _, place = authority.rpartition("@")
    name = _host(place)
    if not name:
        return None
    address = (
        f"{scheme}://{place}{path}"  # a user's name before the host would only be there to deceive
    )
    said = _visible(label)
    honest = not user and (
        not _promises(said) or said == address.casefold() or _named(said) == name
    )
    return Link(address, address, honest)


def _mail(label: str, address: str) -> Link | None:
    """A letter to one address. What else such a link could fill in isn't the model's to say."""
    if problem(address):
        return None
    said = _visible(label)
    honest = not _promises(said) or said.removeprefix("mailto:") == address.casefold()
    return Link(f"mailto:{address}", address, honest)


def _host(place: str) -> str:
    """The host of an authority without its user, in one spelling; empty if it is none."""
    name, colon, port = place.rpartition(":")
    if colon and port.isdecimal() and len(port) <= 5:
        place = name
    name = place.rstrip(".").lower()
    return name.removeprefix("www.") if is_host(name) else ""


def _named(said: str) -> str:
    """The host that a label names, if that is all it does."""
    said = said.removeprefix("https://").removeprefix("http://")
    if any(c.isspace() or c in "@\\" for c in said):
        return ""
    return _host(said.partition("/")[0].partition("?")[0].partition("#")[0])


def _visible(label: str) -> str:
    """What a person sees of a label: nothing invisible, letters of one width and case."""
    told = unicodedata.normalize("NFKC", label).translate(_DOTS)
    return (
        "".join(c for c in told if unicodedata.category(c) not in {"Cf", "Cc"}).casefold().strip()
    )


def _promises(said: str) -> bool:
    """Whether words can be taken for a host or an address."""
    return (
        "//" in said
        or "@" in said
        or "www." in said
        or any(
            said[at] == "." and said[at - 1].isalnum() and said[at + 1].isalnum()
            for at in range(1, len(said) - 1)
        )
    )
