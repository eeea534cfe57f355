"""Slack's own markup, for the ``text`` beside blocks: what notifications, search and old clients show.

Format ("Formatting message text" in Slack's docs): ``*bold* _italic_ ~strike~ `code` <url|label>``;
``&``, ``<`` and ``>`` are spelled as entities. It is built from the parsed text, and every run of text
is escaped, code too: nothing but the links made here can be a token. It is sent with ``parse: none`` and
without ``link_names``, and as a text object with ``verbatim``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from markdown_it.tree import SyntaxTreeNode

from channels.slack.words import links
from channels.slack.words.guardstate import JOINER, straighten
from channels.slack.words.markdown import plain, task_mark, tree
from channels.slack.words.richtext import RULE, drawn
from gateway.engine.kinds import JsonObject

MOST_TEXT = 3_900
"""``chat.update`` refuses more than 4,000 characters of ``text``."""

_MARKS = {"strong": "*", "em": "_", "s": "~"}
# A mark that stands where one may open would format words that the text doesn't format.
_OPENING = re.compile(r"(?<![^\s(\[{'\"*_~`-])(?=[*_~`])")
_MADE = re.compile(r"[*_~]*(?:`[^`]*`|[\w&<>\"'(#])", re.UNICODE)


def escaped(text: str) -> str:
    """A run of text that is nothing but text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def literal(text: str) -> str:
    """A run of text that isn't formatted either."""
    return _OPENING.sub(JOINER, escaped(text))


def verbatim(text: str) -> JsonObject:
    """A text object of what is markup already."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def fallback(text: str, limit: int = MOST_TEXT) -> str:
    """A model's words in at most ``limit`` characters, cut at the end where they are longer."""
    made = markup(text)
    if len(made) <= limit:
        return made
    room = limit - 2
    while len(made := markup(text[:room])) > limit - 2:
        room = room * 3 // 4  # entities are longer than what they spell
    return f"{made} …"


def markup(text: str) -> str:
    straight = straighten(text)[0]
    root = tree(straight)
    if root is None:
        return literal(straight)
    return "\n".join(_blocks(root.children)).strip("\n")


# -- blocks ------------------------------------------------------------------------------------------
def _blocks(nodes: Iterable[SyntaxTreeNode]) -> list[str]:
    """Lines; paragraphs have a blank one between them."""
    lines: list[str] = []
    for node in nodes:
        made = _block(node)
        if lines and made and node.type not in {"bullet_list", "ordered_list"}:
            lines.append("")
        lines.extend(made)
    return lines


def _block(node: SyntaxTreeNode) -> list[str]:
    match node.type:
        case "heading":
            words = literal(plain(node))
            return [f"*{words}*" if words.strip() and "*" not in words else words]
        case "hr":
            return [RULE]
        case "fence" | "code_block":
            return _code(node.content)
        case "table":
            return _code(drawn(node))
        case "blockquote":
            return [f"> {line}" for line in _blocks(node.children)]
        case "bullet_list" | "ordered_list":
            return _items(node)
        case _:
            return _inline(node).split("\n")


def _code(content: str) -> list[str]:
    """Three ticks inside would end it."""
    inside = escaped(content.removesuffix("\n")).replace("```", f"``{JOINER}`")
    return ["```", *inside.split("\n"), "```"]


def _items(node: SyntaxTreeNode) -> list[str]:
    lines: list[str] = []
    number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else 0
    for position, item in enumerate(node.children):
        mark = f"{number + position}. " if node.type == "ordered_list" else "• "
        inside = _blocks(item.children) or [""]
        box, inside[0] = task_mark(inside[0])
        lines.append(mark + box + inside[0])
        lines.extend(f"    {line}" if line else "" for line in inside[1:])
    return lines


# -- runs --------------------------------------------------------------------------------------------
def _inline(node: SyntaxTreeNode) -> str:
    made = ""
    for child in node.children:
        made += _run(child, made[-1:])
    return made


def _run(node: SyntaxTreeNode, before: str) -> str:
    match node.type:
        case "text" | "html_inline":
            return literal(node.content)
        case "softbreak" | "hardbreak":
            return "\n"
        case "code_inline":
            inside = escaped(node.content)
            return inside if "`" in inside else f"`{inside}`"
        case "link":
            return _link(plain(node), str(node.attrs.get("href", "")), node.markup)
        case "image":
            target = str(node.attrs.get("src", ""))
            return _link(plain(node) or target, target)
        case "strong" | "em" | "s":
            return _emphasised(node, _MARKS[node.type], before)
        case _:
            return _inline(node)


def _emphasised(node: SyntaxTreeNode, mark: str, before: str) -> str:
    """Formatted where Slack would read it so: at the edges of words, in one line."""
    inside = _inline(node)
    if mark in inside or "\n" in inside or before.isalnum() or not _MADE.match(inside):
        return inside
    following = node.next_sibling
    after = following.content[:1] if following is not None and following.type == "text" else ""
    return inside if after.isalnum() else mark + inside + mark


def _link(label: str, href: str, markup: str = "") -> str:
    judged = links.judge(label, href)
    words = literal(" ".join(label.split()))
    if judged.verdict == "keep":
        target = escaped(judged.target)
        return f"<{target}|{words.replace('|', '¦')}>" if words and label != href else f"<{target}>"
    if judged.verdict == "show":
        return f"{words} (<{escaped(judged.target)}>)"
    return f"{words} ({literal(href)})" if href and markup != "autolink" else words
