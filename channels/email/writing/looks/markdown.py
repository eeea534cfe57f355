"""Markdown as it is read here: CommonMark with tables and strikethrough, and no HTML."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.tree import SyntaxTreeNode

from channels.email.writing.clean import block

DEEPEST = 60
"""Lists, quotes and emphasis inside each other. A parser drops what is deeper, or a reader of its tree gives
up, so such a text stays as it is."""
MOST_MARKS, MOST_OPEN = 1_000, 30
"""In one paragraph, marks of emphasis of one kind, and brackets open at once: a parser compares each with
those before it."""
MOST_TEXT = 200_000
"""Characters of a text that is read as Markdown at all."""


def tree(text: str) -> SyntaxTreeNode | None:
    """The parsed text; ``None`` if it is longer, nested deeper, or marked up more densely than
    anybody reads."""
    if len(text) > MOST_TEXT:
        return None
    env: dict[str, object] = {}
    tokens = _reader().parse(block(text), env)
    inside = (child for token in tokens for child in token.children or ())
    if _CROWDED in env or any(token.level >= DEEPEST for token in chain(tokens, inside)):
        return None
    return SyntaxTreeNode(tokens)


def words(node: SyntaxTreeNode) -> str:
    """A run of text without its formatting. An entity may spell what was cleaned away before."""
    if node.type in {"softbreak", "hardbreak"}:
        return "\n"
    if node.type in {"text", "code_inline", "html_inline"}:
        return block(node.content)
    return "".join(words(child) for child in node.children)


def target(node: SyntaxTreeNode) -> str:
    """Where a link leads. A picture is a link too: none is loaded from elsewhere."""
    return str(node.attrs.get("src" if node.type == "image" else "href", ""))


def box(text: str) -> str:
    """A task's text with its box drawn."""
    for mark, drawn in (("[ ] ", "☐ "), ("[x] ", "☑ "), ("[X] ", "☑ ")):
        if text.startswith(mark):
            return drawn + text[len(mark) :]
    return text


_CROWDED = "crowded"


def _look(state: StateCore) -> None:
    """Between blocks and what stands in them: nothing is parsed further if that would take long."""
    runs = (token.content for token in state.tokens if token.type == "inline")
    if any(_crowded(run) for run in runs):
        state.env[_CROWDED] = True
        state.tokens = []


def _crowded(run: str) -> bool:
    if any(run.count(mark) > MOST_MARKS for mark in "*_~"):
        return True
    depth = 0
    for letter in run:
        if letter == "[":
            depth += 1
            if depth > MOST_OPEN:
                return True
        elif letter == "]" and depth:
            depth -= 1
    return False


@lru_cache(maxsize=1)
def _reader() -> MarkdownIt:
    options = {"html": False, "maxNesting": DEEPEST + 1}
    reader = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    reader.core.ruler.before("inline", "look", _look)
    return reader
