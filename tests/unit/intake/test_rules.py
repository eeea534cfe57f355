"""What decides is said in words: each rule that a verdict can carry has its sentence."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import channels.slack
import gateway.intake
from gateway.intake.rules import MEANING, meaning

PLACES = {"ignored": 2, "told": 1, "settle": 3, "_ended": 4}
"""Which argument of these calls is the rule."""
FILES = [
    *Path(gateway.intake.__file__).parent.rglob("*.py"),
    *(Path(channels.slack.__file__).parent / "parsing").glob("*.py"),
    Path(channels.slack.__file__).parent / "parse.py",
]


def rules(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        place = PLACES.get(name)
        given = node.args[place : place + 1] if place is not None else []
        if name == "Judgement":
            given = [word.value for word in node.keywords if word.arg == "rule"]
        for value in given:
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.name))
def test_every_rule_has_its_sentence(file: Path) -> None:
    assert set(rules(file)) <= set(MEANING)


def test_the_rules_are_found_at_all() -> None:
    found = {rule for file in FILES for rule in rules(file)}
    assert {"decided", "forged-answer", "not-listed", "stop:stopped", "host-busy"} <= found


def test_what_is_kept_is_said_to_be_kept_and_what_is_unknown_is_shown_as_it_is() -> None:
    assert meaning("stop:kept") == meaning("answer:kept") == "it is kept, and acted on next"
    assert meaning("list-id") == "list-id"
