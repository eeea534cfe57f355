"""The operator's options: read as meant, refused with the exact fix where they can't be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from channels.slack.policy import follow, may_talk, replaces, rules
from gateway.engine.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "one", "other"),
    [
        ("thread", "thread", "thread"),
        ("mention", "mention", "mention"),
        ({"C1": "mention"}, "mention", "thread"),
        ({"C1": "thread", "*": "mention"}, "thread", "mention"),
        ({}, "thread", "thread"),
    ],
)
def test_each_channel_has_its_rule(given: Any, one: str, other: str) -> None:
    found = rules(follow=given)
    assert (follow(found, "C1"), follow(found, "C2")) == (one, other)


def test_outsiders_talk_where_it_was_opened_only() -> None:
    found = rules(external=["C7"])
    assert may_talk(found, "C7")
    assert not may_talk(found, "C1")
    assert not may_talk(rules(), "C7")


def test_a_thread_is_a_session() -> None:
    assert replaces(rules(replace_in_flight="thread")) is True
    assert replaces(rules(replace_in_flight="speaker")) == "speaker"
    assert replaces(rules()) is False


@pytest.mark.parametrize(
    "options",
    [
        {"follow": "always"},
        {"follow": {"C1": "always"}},
        {"follow": {"#support": "thread"}},
        {"follow": {"support": "thread"}},
        {"replace_in_flight": True},
        {"replace_in_flight": "session"},
        {"bots": "B1"},
        {"bots": ["deployer"]},
        {"bots": [7]},
        {"bots": [""]},
        {"external": "C1"},
        {"external": ["#partners"]},
        {"external": ["C1\n"]},
        {"external": ["*"]},
    ],
)
def test_what_cant_be_meant_is_refused_with_the_fix(options: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigError) as refusal:
        rules(**options)
    assert next(iter(options)) in str(refusal.value)
    assert refusal.value.fix


def test_the_options_are_kept_as_they_were() -> None:
    given = {"C1": "mention"}
    found = rules(follow=given)  # type: ignore[arg-type]
    given["C1"] = "thread"
    assert follow(found, "C1") == "mention"
