"""The same words for readers of plain text. Every link's address stands beside its label."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable

from markdown_it.tree import SyntaxTreeNode

from channels.email.writing.looks.links import judge
from channels.email.writing.looks.markdown import box, target, words

WIDEST = 72
RULE = "-" * 40


def plain(root: SyntaxTreeNode) -> str:
    return "\n".join(_blocks(root.children)) + "\n"


# -- blocks ------------------------------------------------------------------------------------------
def _blocks(nodes: Iterable[SyntaxTreeNode], between: bool = True) -> list[str]:
    """Lines; there is an empty one between two blocks."""
    lines: list[str] = []
    for node in nodes:
        made = _block(node)
        if lines and made and between:
            lines.append("")
        lines += made
    return lines


def _block(node: SyntaxTreeNode) -> list[str]:
    match node.type:
        case "hr":
            return [RULE]
        case "fence" | "code_block":
            return [f"    {line}".rstrip() for line in node.content.removesuffix("\n").split("\n")]
        case "blockquote":
            return _quoted(_blocks(node.children))
        case "bullet_list" | "ordered_list":
            return _items(node)
        case "table":
            return _table(node)
        case _:
            return _inline(node).split("\n")


def _quoted(lines: Iterable[str]) -> list[str]:
    """Broken here, so that every line has its mark."""
    broken = (
        piece
        for line in lines
        for piece in textwrap.wrap(line, WIDEST - 2, break_long_words=False, break_on_hyphens=False)
        or [""]
    )
    return [f"> {piece}".rstrip() for piece in broken]


def _items(node: SyntaxTreeNode) -> list[str]:
    lines: list[str] = []
    first = int(node.attrs.get("start", 1))
    for number, item in enumerate(node.children, first):
        mark = f"{number}. " if node.type == "ordered_list" else "- "
        loose = any(child.type == "paragraph" and not child.hidden for child in item.children)
        begun, *rest = _blocks(item.children, between=loose) or [""]
        lines.append((mark + box(begun)).rstrip())
        lines += [(" " * len(mark) + line).rstrip() for line in rest]
    return lines


def _table(node: SyntaxTreeNode) -> list[str]:
    """In columns; where those are too wide, each row as a list of what it says."""
    rows = [
        [" ".join(_inline(cell).split()) for cell in row.children]
        for part in node.children
        for row in part.children
    ]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    if sum(widths) + 3 * len(widths) > WIDEST:
        return _listed(rows)
    drawn = [" | ".join(map(_padded, row, widths)).rstrip() for row in rows]
    return [drawn[0], "-+-".join("-" * wide for wide in widths), *drawn[1:]]


def _listed(rows: list[list[str]]) -> list[str]:
    head, *rest = rows
    lines: list[str] = []
    for row in rest or [[""] * len(head)]:
        lines += ["", *(f"{name}: {cell}".rstrip() for name, cell in zip(head, row, strict=True))]
    return lines[1:]


def _padded(text: str, wide: int) -> str:
    return text + " " * (wide - width(text))


def width(text: str) -> int:
    """Columns that a text takes where every letter is as wide as the next."""
    return sum(
        2 if unicodedata.east_asian_width(c) in {"W", "F"} else 1
        for c in text
        if not unicodedata.combining(c) and unicodedata.category(c) != "Cf"
    )


# -- runs --------------------------------------------------------------------------------------------
def _inline(node: SyntaxTreeNode) -> str:
    return "".join(map(_run, node.children))


def _run(node: SyntaxTreeNode) -> str:
    if node.type in {"link", "image"}:
        return _link(words(node).strip(), target(node))
    if node.type in {"text", "html_inline", "code_inline", "softbreak", "hardbreak"}:
        return words(node)
    return _inline(node)


def _link(label: str, href: str) -> str:
    """``label <address>`` (RFC 3986, appendix C)."""
    link = judge(label, href)
    if link is None:
        return f"{label} ({href})" if label and label != href else href
    return link.shown if label in {"", link.shown, href} else f"{label} <{link.shown}>"
