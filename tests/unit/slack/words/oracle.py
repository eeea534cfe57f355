"""What Slack might make of a text, read with the worst intentions: every place that some reading of it
takes for a token, entities and backslashes resolved or not, directions left out or not, in code too."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import cast

from gateway.engine.kinds import Json

MENTION = re.compile(r"<[@#!]")
LABELLED = re.compile(r"<(?:https?|mailto|slack|javascript|data|file|tel):[^<>\n]*\|[^<>\n]*>")
DIRECTIONS = re.compile("[\u202a-\u202e\u2066-\u2069]")
MENTIONING = {"user", "usergroup", "broadcast", "channel", "team", "date"}


def readings(text: str) -> set[str]:
    found: set[str] = set()
    pending = [text]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += [html.unescape(one), one.replace("\\", ""), DIRECTIONS.sub("", one)]
    return found


def live(text: str) -> list[str]:
    """Token openings that survive."""
    return [match[0] for one in readings(text) for match in MENTION.finditer(one)]


def labelled(text: str) -> list[str]:
    """Slack's own links with a label, as they stand: Slack doesn't read entities twice."""
    return LABELLED.findall(text)


def unbalanced(text: str) -> bool:
    """Whether a paragraph leaves a direction open, or closes one that it never opened."""
    for line in re.split("[\n\r\x1c-\x1e\x85\u2029]", text):
        depth = 0
        for letter in line:
            depth += (letter in "\u2066\u2067\u2068") - (letter == "\u2069")
            if depth < 0:
                return True
        if depth:
            return True
    return False


def elements(value: Json) -> Iterator[dict[str, Json]]:
    """Every object inside blocks."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from elements(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from elements(inner)


def mentioning(blocks: object) -> list[Json]:
    """Elements that would tell somebody."""
    return [e["type"] for e in elements(cast("Json", blocks)) if e.get("type") in MENTIONING]
