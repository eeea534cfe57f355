"""The code blocks of a document, for tests that run what the docs tell readers to run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_RUN = "<!-- not run -->"
_BLOCK = re.compile(
    r"^(?P<mark>[^\n]*)\n```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    language: str
    code: str


def blocks(document: str, language: str | None = None) -> list[Block]:
    """Those that are meant to be run; one with ``<!-- not run -->`` on the line above it isn't."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        Block(found["language"], found["code"])
        for found in _BLOCK.finditer(text)
        if found["mark"] != NOT_RUN and language in {None, found["language"]}
    ]
