"""HTML as a row of tags and texts, in time that grows with its length and nothing else.

No parser that builds a tree does that: Lexbor 2 (selectolax 1.0) took 0.05 s for 4,000 open ``div`` and
four times that for each doubling, and the same for a tag's attributes. What a person reads needs no tree.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final, Literal

from channels.email.mime.limits import TAGS, OverLimitError
from gateway.engine.struct import struct

# Every repetition is possessive (``*+``): it gives nothing back, so a match takes one pass.
_ATTRIBUTE: Final = (
    r"[\s/]*+(=?[^\s/>=]++)\s*+(?:=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+)|(?=>)))?+"
)
_ATTRIBUTES: Final = re.compile(_ATTRIBUTE)
_GROUPLESS: Final = re.sub(r"\((?!\?)", "(?:", _ATTRIBUTE)
_TAG: Final = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:{_GROUPLESS})*+)[\s/=]*+>")
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}
_NO_CHARACTER: Final = re.compile(r"&#[xX]?[0-9a-fA-F]{8,}+;?")
_LONG_NAME: Final = 40


@struct(frozen=True, slots=True)
class Token:
    """``text``: the text itself, a style sheet, or a tag's attributes as they are written."""

    kind: Literal["text", "start", "end", "style"]
    name: str
    text: str


def tokens(source: str) -> Iterator[Token]:
    """What can't be a tag is text; nothing is lost but comments, scripts and the like."""
    if source.count("<") > TAGS:
        raise OverLimitError(f"more than {TAGS} HTML tags")
    at = 0
    while (begin := source.find("<", at)) >= 0:
        tag = _TAG.match(source, begin)
        end = tag.end() if tag else _after_comment(source, begin)
        if end == begin:  # a bare sign, or one that no other ends
            if source.find(">", begin) < 0:
                break
            end = begin + 1
            yield Token("text", "", source[at:end])
        elif begin > at:
            yield Token("text", "", source[at:begin])
        at = end
        if tag is None:
            continue
        name = tag[2].lower()[:_LONG_NAME]
        if name in _RAW and not tag[1]:
            if name == "style":
                yield Token("style", name, source[end : _raw_end(source, name, end)])
            at = _raw_end(source, name, end)
        else:
            yield Token("end" if tag[1] else "start", name, tag[3])
    if at < len(source):
        yield Token("text", "", source[at:])


def _raw_end(source: str, name: str, at: int) -> int:
    """Where the closing tag of a script or the like begins."""
    closing = _RAW[name].search(source, at)
    return closing.start() if closing else len(source)


def _after_comment(source: str, at: int) -> int:
    """Where a comment that begins here is over; ``at`` itself if none does."""
    if source.startswith("<!--", at):
        end = source.find("-->", at + 2)
        return end + 3 if end >= 0 else len(source)
    if source[at + 1 : at + 2] in {"!", "?"} or (
        source.startswith("</", at) and not source[at + 2 : at + 3].isspace()
    ):
        end = source.find(">", at)
        return end + 1 if end >= 0 else len(source)
    return at


def attributes(written: str) -> dict[str, str]:
    """The first of each name counts."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTES.finditer(written):
        given = match[2] or match[3] or match[4] or ""
        found.setdefault(match[1].lower()[:_LONG_NAME], given)
    return found


def unescaped(text: str) -> str:
    """Entities read. A number that names no character does so at any length."""
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text)) if "&" in text else text
