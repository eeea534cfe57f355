"""Markdown as it is read here, and as it is handed to Slack.

Slack reads Markdown in a ``markdown`` block and in the chunks of a stream ("Markdown block" and
"chat.appendStream" in its docs): CommonMark with tables, strikethrough and task lists. What is sent
there is the model's own text behind the guard, which keeps more of it than any conversion. Where Slack
can't take Markdown the text is parsed here and built anew (``richtext``, ``mrkdwn``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

MOST_MARKDOWN = 12_000
"""Characters of all ``markdown`` blocks of one message together, and of one chunk."""
DEEPEST = 60
"""Lists and quotes inside each other. A parser drops what is deeper, so such a text stays as it is."""

MOST_MARKS = 2_000
"""Of emphasis, links and code in one text: the parser takes quadratic time over some of them."""

_TASK = re.compile(r"\[([ xX])\][ \t\n]+")


def tree(text: str) -> SyntaxTreeNode | None:
    """The parsed text; ``None`` if it is nested deeper than anybody reads, or so full of marks that reading
    it would hold everybody up."""
    if sum(map(text.count, "*_[!~`")) > MOST_MARKS:
        return None
    tokens = _reader().parse(text)
    if any(one.level >= DEEPEST for token in tokens for one in (token, *(token.children or ()))):
        return None
    return SyntaxTreeNode(tokens)


def outline(text: str) -> Sequence[Token]:
    """The blocks of a text without what stands in them."""
    return _outliner().parse(text)


def task_mark(text: str) -> tuple[str, str]:
    """The box that a list item begins with, drawn, and the rest."""
    if (found := _TASK.match(text)) is None:
        return "", text
    return ("☐ " if found[1] == " " else "☑ "), text[found.end() :]


def plain(node: SyntaxTreeNode) -> str:
    """The words of a run of text without their formatting."""
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    if node.type in {"text", "code_inline", "html_inline"}:
        return node.content
    return "".join(plain(child) for child in node.children)


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    options = {"html": False, "maxNesting": DEEPEST + 1}
    reader = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    return reader.disable("reference")  # the guard breaks definitions, so they are words here too


@lru_cache(maxsize=1)
def _outliner() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 200}).enable("table")
    reader.disable("reference")
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader
