"""Where a link leads, told beside its label; loudly where the label promises another place."""

from __future__ import annotations

import unicodedata
from typing import Final

from channels.email.mime import clean

_LONG: Final = 400
_WEB: Final = ("http://", "https://")
# Endings of file names that no registry sells as a domain: `report.pdf` promises no host.
_FILES: Final = frozenset(
    {
        *("css", "csv", "doc", "docx", "exe", "gif", "gz", "htm", "html", "ics", "jpeg", "jpg"),
        *("js", "json", "log", "odt", "pdf", "png", "ppt", "pptx", "svg", "tar", "txt", "xls"),
        *("xlsx", "xml", "zip"),
    }
)
_AROUND: Final = "()[]{}<>,;:!?\"'.|“”„‘’«»…"


def beside(label: str, href: str) -> str:
    """What follows a label, from its space on; empty where the label says it all."""
    target = clean.line(href).replace(" ", "%20")
    scheme = target.partition(":")[0].casefold()
    label = label.strip()
    if scheme in {"mailto", "tel"}:
        address = target.partition(":")[2].partition("?")[0]
        promised = "@" in label and _same(label) != _same(address)
        if not address or _same(label) == _same(address):
            return ""
        return f" (writes to {address[:_LONG]})" if promised else f" ({address[:_LONG]})"
    if not target.casefold().startswith(_WEB):
        return ""
    shown = target if len(target) <= _LONG else f"{target[:_LONG]}…"
    host = _host(target)
    others = [each for each in _promised(label) if each != host]
    if others:
        return f" (leads elsewhere, to {host or 'an unreadable address'}: {shown})"
    return "" if _same(label) == _same(target) else f" ({shown})"


def _same(address: str) -> str:
    address = address.casefold().strip()
    for start in _WEB:
        address = address.removeprefix(start)
    return address.removeprefix("www.").rstrip("/")


def _host(address: str) -> str:
    """As a browser takes it: a backslash is a slash, and what stands before an ``@`` is no host."""
    place = address.replace("\\", "/").partition("://")[2].partition("/")[0]
    place = place.partition("?")[0].partition("#")[0].rpartition("@")[2]
    return _normal(place.partition(":")[0])


def _normal(host: str) -> str:
    host = unicodedata.normalize("NFKC", host[:255]).casefold().strip(".").removeprefix("www.")
    parts = [_unpuny(part) for part in host.split(".")]
    return ".".join(parts)


def _unpuny(part: str) -> str:
    if not part.startswith("xn--"):
        return part
    try:
        return part[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return part


def _promised(label: str) -> list[str]:
    """Hosts that the label reads like."""
    found: list[str] = []
    for each in label[:2_000].split():
        word = unicodedata.normalize("NFKC", each[:300]).strip(_AROUND).casefold()
        if "://" in word:
            found.append(_host(word))
            continue
        host = word.partition("/")[0].rpartition("@")[2].partition(":")[0]
        parts = host.split(".")
        last = parts[-1]
        named = len(last) > 1 and last.isalpha() and last not in _FILES
        if len(parts) > 1 and all(parts) and (named or last.startswith("xn--")):
            found.append(_normal(host))
    return found
