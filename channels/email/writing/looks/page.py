"""The HTML of a mail: every tag is ours, every word is escaped, nothing is loaded.

Styles stand on the elements, because mail programs drop style sheets. No colour is set but for half-clear
grey, so that the page reads in the light and in the dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from markdown_it.tree import SyntaxTreeNode

from channels.email.writing.looks.links import judge
from channels.email.writing.looks.markdown import box, target, words

LINE = "rgba(128,128,128,.45)"
SHADE = "rgba(128,128,128,.13)"
OPEN = (
    '<!doctype html>\n<html><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width">'
    '<meta name="color-scheme" content="light dark"></head>\n<body style="margin:0">'
    '<div style="max-width:44em;font-family:-apple-system,Segoe UI,Helvetica,Arial,sans-serif;'
    'font-size:15px;line-height:1.5;overflow-wrap:anywhere">\n'
)
CLOSE = "</div></body></html>\n"

_GAP = "margin:0 0 12px"
_MONO = "font-family:ui-monospace,Consolas,Menlo,monospace;font-size:13px"
_CELL = f"border:1px solid {LINE};padding:4px 8px;vertical-align:top"
_CODE = f"{_MONO};background:{SHADE};padding:1px 3px;border-radius:3px"
_PRE = f"{_GAP};{_MONO};background:{SHADE};padding:8px 10px;border-radius:4px;white-space:pre-wrap"
_QUOTE = f"{_GAP};padding-left:12px;border-left:3px solid {LINE}"
_SIZES = {"h1": 20, "h2": 18, "h3": 16}
_STYLES = {"strong": "strong", "em": "em", "s": "s"}


def page(root: SyntaxTreeNode) -> str:
    return OPEN + _blocks(root.children) + CLOSE


def preformatted(text: str) -> str:
    """Any text, character for character."""
    return OPEN + _pre(text) + CLOSE


def note(text: str) -> str:
    """A line of our own, for what the reader needs least."""
    return f'<p style="margin:0 0 12px;font-size:12px;opacity:.65">{escape(text)}</p>\n'


# -- blocks ------------------------------------------------------------------------------------------
def _blocks(nodes: Iterable[SyntaxTreeNode]) -> str:
    return "".join(map(_block, nodes))


def _block(node: SyntaxTreeNode) -> str:
    match node.type:
        case "heading":
            size = _SIZES.get(node.tag, 15)
            return f'<p style="{_GAP};font-size:{size}px;font-weight:600">{_inline(node)}</p>\n'
        case "hr":
            return f'<hr style="{_GAP};border:0;border-top:1px solid {LINE}">\n'
        case "fence" | "code_block":
            return _pre(node.content.removesuffix("\n"))
        case "blockquote":
            return f'<blockquote style="{_QUOTE}">\n{_blocks(node.children)}</blockquote>\n'
        case "bullet_list" | "ordered_list":
            return _list(node)
        case "table":
            return _table(node)
        case _:
            return f'<p style="{_GAP}">{_inline(node)}</p>\n'


def _pre(text: str) -> str:
    return f'<pre style="{_PRE}">{escape(text)}</pre>\n'


def _list(node: SyntaxTreeNode) -> str:
    tag = "ol" if node.type == "ordered_list" else "ul"
    start = f' start="{int(node.attrs.get("start", 1))}"' if tag == "ol" else ""
    items = "".join(f"<li>{_item(item)}</li>\n" for item in node.children)
    return f'<{tag}{start} style="{_GAP};padding-left:24px">\n{items}</{tag}>\n'


def _item(item: SyntaxTreeNode) -> str:
    """A paragraph that begins an item stands on the item's own line."""
    if not item.children or item.children[0].type != "paragraph":
        return _blocks(item.children)
    first, *rest = item.children
    return box(_inline(first)) + ("\n" + _blocks(rest) if rest else "")


def _table(node: SyntaxTreeNode) -> str:
    rows = "".join(_row(row) for part in node.children for row in part.children)
    return f'<table style="{_GAP};border-collapse:collapse">\n{rows}</table>\n'


def _row(row: SyntaxTreeNode) -> str:
    return f"<tr>{''.join(map(_cell, row.children))}</tr>\n"


def _cell(cell: SyntaxTreeNode) -> str:
    sides = (side for side in ("left", "right", "center") if side in str(cell.attrs.get("style")))
    style = f"{_CELL};text-align:{next(sides, 'left')}"
    return f'<{cell.tag} style="{style}">{_inline(cell)}</{cell.tag}>'


# -- runs --------------------------------------------------------------------------------------------
def _inline(node: SyntaxTreeNode) -> str:
    return "".join(map(_run, node.children))


def _run(node: SyntaxTreeNode) -> str:
    match node.type:
        case "softbreak" | "hardbreak":
            return "<br>\n"
        case "code_inline":
            return f'<code style="{_CODE}">{escape(words(node))}</code>'
        case "link" | "image":
            return _link(node)
        case "strong" | "em" | "s":
            return f"<{_STYLES[node.type]}>{_inline(node)}</{_STYLES[node.type]}>"
        case "text" | "html_inline":
            return escape(words(node))
        case _:
            return _inline(node)


def _link(node: SyntaxTreeNode) -> str:
    """Only the words of a label: a link inside it would be another's. Where they lie, the address beside
    them is the link, and they are words."""
    label, href = words(node).strip(), target(node)
    link = judge(label, href)
    if link is None:
        return escape(f"{label} ({href})" if label and label != href else href)
    honest = link.honest and label
    anchor = f'<a href="{escape(link.target)}">{escape(label if honest else link.shown)}</a>'
    return anchor if honest or not label else f"{escape(label)} ({anchor})"
