"""What a reader of a mail is shown: a model's Markdown as text and as HTML.

The words are anybody's. They can't show one host and lead to another, turn letters around, load a picture
or run anything: no tag is theirs, a link goes to the web or to an address and nowhere else, and its address
is shown wherever its label could be taken for another. Pure, like all that decides what people see.
"""

from __future__ import annotations

from channels.email.writing.clean import block
from channels.email.writing.looks import page
from channels.email.writing.looks.markdown import tree
from channels.email.writing.looks.plain import plain

__all__ = ["EMPTY", "MARKER", "bodies", "marked"]

MARKER = "— reply above this line —"
"""Stands above all that we say: what was written above it in an answer is new."""
EMPTY = "…"
"""Shown where there is nothing to show."""


def bodies(markdown: str) -> tuple[str, str]:
    """The text and the HTML, without the marker. The text's lines are as long as they are: the letter
    breaks them softly."""
    told = block(markdown).strip("\n")
    if not told.strip():
        told = EMPTY
    root = tree(told)
    if root is None or not (text := plain(root)).strip():
        return f"{told}\n", page.preformatted(told)
    return text, page.page(root)


def marked(text: str, html: str) -> tuple[str, str]:
    """The bodies with the marker above them."""
    return f"{MARKER}\n\n{text}", html.replace(page.OPEN, page.OPEN + page.note(MARKER), 1)
