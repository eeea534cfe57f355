"""Tools of channels that can send a file along: their turns get them, and no others."""

from __future__ import annotations

from gateway.engine.tool import tool

LONGEST_NAME = 100


@tool(effect="read")
def attach_file(name: str, text: str) -> str:
    """Attach a text file to your answer: a table, a list, a log, whatever is too long to read in a
    message. It is sent when your answer is. `name` ends as its kind does, like `orders.csv`."""
    # Nothing is done here: the call itself, once it is committed, is what the writer uploads.
    # What can't be seen may turn a name around, so that it seems to end as another kind does.
    odd = not name.isprintable() or any(mark in name for mark in "/\\")
    if odd or not name.strip() or len(name) > LONGEST_NAME:
        raise ValueError(
            f"a file's name is one line of 1 to {LONGEST_NAME} visible characters without slashes"
        )
    if not text.strip():
        raise ValueError("the file would be empty; give its text, or don't attach it")
    return f"{name} is attached and goes out with your answer"
