"""Whether a link tells the truth about where it leads.

A label that reads like a host or an address is a promise. Where the link goes elsewhere, the person is
shown the real address beside the label; where it goes somewhere a browser shouldn't be sent, it is no
link at all. When in doubt it lies: the price of an honest link taken for a lie is a visible address.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Literal

from gateway.engine.struct import struct

ALLOWED = frozenset({"http", "https", "mailto"})
"""The schemes a link may have."""
SCHEMES = ALLOWED | {
    *("slack", "javascript", "vbscript", "data", "file", "blob", "ftp", "tel", "sms", "ws", "wss"),
    *("about", "intent", "view-source", "x-apple", "ms-word", "facetime", "callto", "skype", "cid"),
}
"""Schemes that some program follows. ``std`` of C++ and ``xs`` of XML are none."""

# Endings of file names that no registry sells as a domain: `report.pdf` promises no host.
FILE_ENDINGS = frozenset(
    {
        *("cfg", "conf", "css", "csv", "docx", "exe", "gif", "gz", "htm", "html", "ini", "jpeg"),
        *("jpg", "js", "json", "jsx", "log", "pdf", "png", "pptx", "sql", "svg", "tar", "toml"),
        *("ts", "tsx", "txt", "xls", "xlsx", "xml", "yaml", "yml"),
    }
)

_HTTP = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE | re.DOTALL)
_MAIL = re.compile(r"mailto:([^?]+)(?:\?.*)?", re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
_ADDRESS = re.compile(r"[^@\s,;<>]+@([\w.-]+)")
_UNCLEAN = re.compile(r"[\s\\\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
# What fails at the beginning of a word isn't tried again at each of its letters: a label may be a long one.
_SHOWN = re.compile(
    r"(?:(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*+:)?//(?P<authority>[^\s/?#]*)\S*"
    r"|(?:(?<![\w.+-])[\w.+-]++@)?(?<![\w-])(?P<name>[\w-]++(?:\.[\w-]++)++)"
    r"\.?(?::\d++(?![\w-]))?(?:[/?#]\S*)?"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*+(:?)")
_CLAIMED = re.compile(r"[\w.+-]++(@[\w.-]+\w)?+")
_FORMATTING = str.maketrans(dict.fromkeys("*~`\\", "") | dict.fromkeys("。．｡․", "."))
_PRINTED = {mark: f"%{ord(mark):02X}" for mark in '<>|`"()*[]{}'}
_PRINT = str.maketrans(_PRINTED)
_TARGET = str.maketrans({mark: _PRINTED[mark] for mark in '<>|"'})


@struct(frozen=True, slots=True)
class Judged:
    """``keep``: a link. ``show``: its label, and ``printed`` beside it. ``drop``: text, no link.
    ``target`` is the address with what could end a link in Slack's own syntax spelled in percent."""

    verdict: Literal["keep", "show", "drop"]
    target: str = ""
    printed: str = ""


_DROP = Judged("drop")


def judge(label: str, href: str) -> Judged:
    """``label`` as it is written, formatting included; ``href`` as a Markdown parser resolves it."""
    href = href.strip()
    if _UNCLEAN.search(href):
        return _DROP
    if web := _HTTP.fullmatch(href):
        return _judge_web(label, web)
    if mail := _MAIL.fullmatch(href):
        return _judge_mail(label, mail, href)
    return _DROP


def resolved(written: str) -> str:
    """A link's target as Markdown spells it, without its escapes and entities."""
    return html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", written))


def leads_somewhere(text: str) -> bool:
    """Whether something might take this for an address of its own, in a language that isn't prose."""
    text = text.lower()
    if "//" in text or "www." in text:
        return True
    words = _SCHEME.finditer(text) if ":" in text else ()
    return any(word[1] and word[0][:-1] in SCHEMES for word in words)


def _judge_web(label: str, web: re.Match[str]) -> Judged:
    scheme, authority, rest = web.groups()
    user, _, place = authority.rpartition("@")
    if (named := _HOST.fullmatch(place)) is None:
        return _DROP
    honest = not user and _shown_hosts(label) <= {normal_host(named[1])}
    address = f"{scheme}://{place}{rest}"
    return Judged("keep" if honest else "show", address.translate(_TARGET), _printed(address))


def _judge_mail(label: str, mail: re.Match[str], href: str) -> Judged:
    addresses = re.split(r"[,;]", mail[1])
    hosts = {normal_host(found[1]) for each in addresses if (found := _ADDRESS.fullmatch(each))}
    if not hosts:
        return _DROP
    words = _CLAIMED.finditer(_visible(label))
    claimed = {each[0].casefold() for each in words if each[1]}
    honest = _shown_hosts(label) <= hosts and claimed <= {each.casefold() for each in addresses}
    return Judged("keep" if honest else "show", href.translate(_TARGET), _printed(mail[1]))


def _printed(address: str) -> str:
    """An address to be read. Its ``&`` is never followed by what would make an entity of it."""
    return re.sub(r"&(?=#|\w+;|amp|lt|gt)", "%26", address.translate(_PRINT), flags=re.IGNORECASE)


def normal_host(host: str) -> str:
    """One spelling per host: case, width, a final dot, ``www.`` and punycode make no difference."""
    host = unicodedata.normalize("NFKC", host).casefold().strip(".").removeprefix("www.")
    return ".".join(_unpuny(part) for part in host.split("."))


def _unpuny(part: str) -> str:
    if not part.startswith("xn--"):
        return part
    try:
        return part[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return part


def _visible(label: str) -> str:
    """What a person sees of a label: no formatting, nothing invisible, one width."""
    seen = unicodedata.normalize("NFKC", html.unescape(label)).translate(_FORMATTING)
    return "".join(c for c in seen if unicodedata.category(c) not in {"Cf", "Cc"}).casefold()


def _shown_hosts(label: str) -> set[str]:
    """The hosts that a label promises."""
    found: set[str] = set()
    for match in _SHOWN.finditer(_visible(label)):
        if match["name"] is None:
            place = re.sub(r":\d*$", "", match["authority"].rpartition("@")[2])
            found |= {normal_host(place)} if place else set()
        elif _is_host(parts := [part.strip("_") for part in match["name"].split(".")]):
            found.add(normal_host(".".join(parts)))
    return found


def _is_host(parts: list[str]) -> bool:
    last = parts[-1]
    if len(parts) == 4 and all(part.isdecimal() for part in parts):
        return True
    return (last.isalpha() and len(last) > 1 and last not in FILE_ENDINGS) or last.startswith(
        "xn--"
    )
