"""Markdown rebuilt as rich text, for when Slack refuses Markdown.

Format ("Rich text block" in Slack's docs, and ``slack_sdk/models/blocks/block_elements.py``): a
``rich_text`` block holds sections, lists (flat, with ``indent`` and ``offset``), quotes and preformatted
text; their elements are ``text``, ``link``, ``emoji`` and mentions. A ``text`` element is never parsed,
so no mention can come out of here: none of the elements that mention is ever built.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import cast

from markdown_it.tree import SyntaxTreeNode

from channels.slack.words import links
from channels.slack.words.guardstate import straighten
from channels.slack.words.markdown import plain, task_mark, tree
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

MOST_INDENT = 8
RULE = "———"

_EMOJI = re.compile(r"(?<![\w:]):([a-z][a-z0-9_+'-]*|\+1|-1|100):(?![\w:])")
_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}

Styles = frozenset[str]
PLAIN: Styles = frozenset()


def blocks(text: str) -> list[JsonObject]:
    """The text as one ``rich_text`` block; none if there is nothing to show."""
    straight = straighten(text)[0]
    root = tree(straight)
    if root is None:
        return [preformatted_block(straight)]
    page = _Page()
    page.all(root.children)
    elements = page.finished()
    return [{"type": "rich_text", "elements": elements}] if elements else []


def preformatted_block(text: str) -> JsonObject:
    """Any text, character for character."""
    return {"type": "rich_text", "elements": [_preformatted(text)]}


def plain_block(text: str) -> JsonObject:
    """Words of our own, or quoted words that must stay words."""
    section = _holder("rich_text_section", [_text(text, PLAIN)])
    return {"type": "rich_text", "elements": [section]}


# -- elements ----------------------------------------------------------------------------------------
def _text(text: str, styles: Styles) -> JsonObject:
    return _styled({"type": "text", "text": text}, styles)


def _styled(element: JsonObject, styles: Styles) -> JsonObject:
    if styles:
        element["style"] = dict.fromkeys(sorted(styles), True)
    return element


def _holder(kind: str, elements: Sequence[JsonObject]) -> JsonObject:
    return {"type": kind, "elements": cast("list[Json]", list(elements) or [_text(" ", PLAIN)])}


def _preformatted(text: str) -> JsonObject:
    return _holder("rich_text_preformatted", [_text(text.removesuffix("\n") or " ", PLAIN)])


def _words(text: str, styles: Styles) -> Iterable[JsonObject]:
    """Text with its emoji, which only elements of their own can show."""
    at = 0
    for found in _EMOJI.finditer(text):
        if found.start() > at:
            yield _text(text[at : found.start()], styles)
        yield _styled({"type": "emoji", "name": found[1]}, styles)
        at = found.end()
    if at < len(text):
        yield _text(text[at:], styles)


def inline(node: SyntaxTreeNode, styles: Styles = PLAIN) -> list[JsonObject]:
    """What stands in a paragraph, a heading or a cell."""
    return _merged(_inline(node, styles))


def _inline(node: SyntaxTreeNode, styles: Styles) -> Iterable[JsonObject]:
    match node.type:
        case "text" | "html_inline":
            yield from _words(node.content, styles)
        case "softbreak" | "hardbreak":
            yield _text("\n", styles)
        case "code_inline":
            yield _text(node.content, styles | {"code"})
        case "link":
            yield from _link(node, plain(node), str(node.attrs.get("href", "")), styles)
        case "image":
            target = str(node.attrs.get("src", ""))
            yield from _link(node, plain(node) or target, target, styles)
        case _:
            style = _STYLES.get(node.type)
            inner = styles | {style} if style else styles
            for child in node.children:
                yield from _inline(child, inner)


def _link(node: SyntaxTreeNode, label: str, href: str, styles: Styles) -> Iterable[JsonObject]:
    judged = links.judge(label, href)
    if judged.verdict == "keep":
        link: JsonObject = {"type": "link", "url": judged.target}
        if label and label != href:
            link["text"] = label
        yield _styled(link, styles | _shared(node))
        return
    for child in node.children:
        yield from _inline(child, styles)
    if judged.verdict == "show":
        yield _text(" (", styles)
        yield _styled({"type": "link", "url": judged.target}, styles)
        yield _text(")", styles)
    elif href and node.markup != "autolink":
        yield _text(f" ({href})", styles)


def _shared(node: SyntaxTreeNode) -> Styles:
    """Styles that all of a link's label has."""
    children = [child for child in node.children if child.type != "text" or child.content]
    if len(children) != 1:
        return PLAIN
    child = children[0]
    if child.type == "code_inline":
        return frozenset({"code"})
    style = _STYLES.get(child.type)
    return frozenset({style}) | _shared(child) if style else PLAIN


def _merged(elements: Iterable[JsonObject]) -> list[JsonObject]:
    """Neighbours of one style as one element; empty ones gone."""
    out: list[JsonObject] = []
    for element in elements:
        if element["type"] != "text":
            out.append(element)
        elif element["text"]:
            before = out[-1] if out else None
            if before and before["type"] == "text" and before.get("style") == element.get("style"):
                out[-1] = {**before, "text": f"{before['text']}{element['text']}"}
            else:
                out.append(element)
    return out


# -- blocks ------------------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class _List:
    """Where an item stands: in what kind of list, how deep, under which number."""

    ordered: bool
    indent: int
    number: int
    first: bool


class _Page:
    """The elements of a ``rich_text`` block, as they come."""

    def __init__(self) -> None:
        self.elements: list[JsonObject] = []

    def finished(self) -> list[Json]:
        return cast("list[Json]", self.elements)

    def all(self, nodes: Iterable[SyntaxTreeNode]) -> None:
        for node in nodes:
            self.one(node)

    def one(self, node: SyntaxTreeNode) -> None:
        match node.type:
            case "heading":
                self._section(inline(node, frozenset({"bold"})))
            case "hr":
                self._section([_text(RULE, PLAIN)])
            case "fence" | "code_block":
                self.elements.append(_preformatted(node.content))
            case "bullet_list" | "ordered_list":
                self._list(node, 0)
            case "blockquote":
                lines = _merged(_quoted(node.children))
                self.elements.append(_holder("rich_text_quote", lines))
            case "table":
                self.elements.append(_preformatted(drawn(node)))
            case _:
                self._section(inline(node))

    def _section(self, elements: list[JsonObject]) -> None:
        """A paragraph; two in a row have a blank line between them."""
        if not elements:
            return
        before = self.elements[-1] if self.elements else None
        if before is not None and before["type"] == "rich_text_section":
            said = cast("list[JsonObject]", before["elements"])
            before["elements"] = cast("list[Json]", _merged([*said, _text("\n", PLAIN)]))
        self.elements.append(_holder("rich_text_section", elements))

    def _list(self, node: SyntaxTreeNode, indent: int) -> None:
        ordered = node.type == "ordered_list"
        first = int(node.attrs.get("start", 1)) if ordered else 1
        for position, item in enumerate(node.children):
            self._item(item, _List(ordered, indent, first + position, not position))

    def _item(self, item: SyntaxTreeNode, place: _List) -> None:
        said: list[JsonObject] = []
        spoken = False
        for child in item.children:
            if child.type in {"paragraph", "heading"}:
                said.extend([_text("\n", PLAIN)] if said else [])
                said.extend(inline(child))
                continue
            self._say(said, place, spoken)
            said, spoken = [], True
            if child.type in {"bullet_list", "ordered_list"}:
                self._list(child, place.indent + 1)
            else:
                self.one(child)
        if said or not spoken:
            self._say(said, place, spoken)

    def _say(self, said: list[JsonObject], place: _List, spoken: bool) -> None:
        """An item's words: the item itself, or what follows something else in it."""
        if spoken:
            self._section(_merged(said))
            return
        item = _holder("rich_text_section", _task(_merged(said)))
        style, indent = ("ordered" if place.ordered else "bullet"), min(place.indent, MOST_INDENT)
        before = self.elements[-1] if self.elements else None
        if (
            not place.first
            and before is not None
            and before["type"] == "rich_text_list"
            and (before["style"], before["indent"]) == (style, indent)
        ):
            cast("list[Json]", before["elements"]).append(item)
            return
        made: JsonObject = {"type": "rich_text_list", "style": style, "indent": indent}
        if place.ordered and place.number > 1:
            made["offset"] = place.number - 1
        self.elements.append({**made, "elements": [item]})


def _task(said: list[JsonObject]) -> list[JsonObject]:
    if not said or said[0]["type"] != "text":
        return said
    box, rest = task_mark(str(said[0]["text"]))
    return [{**said[0], "text": box + rest}, *said[1:]] if box else said


def _quoted(nodes: Iterable[SyntaxTreeNode], before: str = "") -> Iterable[JsonObject]:
    """The lines of a quote, which can hold text only: lists and quotes in it are drawn."""
    for position, node in enumerate(nodes):
        if position:
            yield _text("\n", PLAIN)
        if node.type == "blockquote":
            yield _text(before + "> ", PLAIN)
            yield from _quoted(node.children, before + "> ")
        elif node.type in {"bullet_list", "ordered_list"}:
            yield from _quoted_list(node, before)
        elif node.type in {"fence", "code_block"}:
            yield _text(node.content.removesuffix("\n"), frozenset({"code"}))
        elif node.type == "table":
            yield _text(drawn(node), frozenset({"code"}))
        elif node.type == "hr":
            yield _text(RULE, PLAIN)
        else:
            yield from inline(node)


def _quoted_list(node: SyntaxTreeNode, before: str) -> Iterable[JsonObject]:
    number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    for position, item in enumerate(node.children):
        mark = f"{number + position}. " if node.type == "ordered_list" else "• "
        yield _text(("\n" if position else "") + before + mark, PLAIN)
        yield from _quoted(item.children, before + "  ")


# -- tables ------------------------------------------------------------------------------------------
def drawn(table: SyntaxTreeNode) -> str:
    """A table in columns of equal width, to be shown as preformatted text."""
    rows = [
        [" ".join(plain(cell).split()) for cell in row.children]
        for part in table.children
        for row in part.children
    ]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = [
        " │ ".join(
            cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True)
        )
        for row in rows
    ]
    lines.insert(1, "─┼─".join("─" * wide for wide in widths))
    return "\n".join(line.rstrip() for line in lines)


def width(text: str) -> int:
    """Columns that a text takes where every letter is as wide as the next."""
    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) == "Cf" else _columns(c)
        for c in text
    )


def _columns(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in {"W", "F"} else 1
