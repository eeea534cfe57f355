"""What a platform makes impossible, with the fact. Such a cell must fail, and for that very reason: once it
holds, the suite is red until the gap is taken off the list."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.conformance.channels.driver import NotThere
from tests.conformance.channels.rule import Rule

DRIVERS = ("slack-http", "slack-socket", "email", "api")


@dataclass(frozen=True, slots=True)
class Gap:
    """``rule`` is a test, ``TestClass.test_name``; with ``[parameter]`` where only that one is meant."""

    rule: str
    driver: str
    fact: str


def _gaps(driver: str, fact: str, *rules: str) -> tuple[Gap, ...]:
    return tuple(Gap(rule, driver, fact) for rule in rules)


GAPS: tuple[Gap, ...] = (
    *_gaps(
        "api",
        "What a program sent can't be changed afterwards: it cancels the turn and starts another.",
        "TestEdits.test_edited_before_its_answer_is_finished",
        "TestEdits.test_deleted_before_its_answer_is_finished",
        "TestEdits.test_later_edits_change_nothing_and_the_verdict_says_so",
        "TestVerdicts.test_clicks_edits_commands_and_echoes",
    ),
    *_gaps(
        "api",
        "A program knows which turns are its own: `?replace=1` ends all of the session's, and"
        " `/cancel` a single one.",
        "TestReplaceOwn.test_an_answer_to_them_is_superseded",
        "TestReplaceOwn.test_an_answer_to_another_person_is_finished",
    ),
    *_gaps(
        "api",
        "A message behind a request is refused with 409 `session_suspended`, and the program, which still"
        " has it, decides what to do.",
        "TestBehindARequest.test_it_waits_says_for_whom_and_is_answered_after",
    ),
    *_gaps(
        "api",
        "The response is the verdict, and the caller has it: none is stored beside the turn.",
        "TestVerdicts.test_an_accepted_message",
        "TestVerdicts.test_its_own_echo",
    ),
    *_gaps(
        "api",
        "Everything that a program sends is meant for the agent.",
        "TestVerdicts.test_what_people_say_to_each_other",
    ),
    *_gaps(
        "api",
        "Every caller is a program, and its token is all that is known of it.",
        "TestBots.test_an_unlisted_one_gets_no_answer",
        "TestBots.test_two_that_talk_to_each_other_come_to_an_end",
    ),
    *_gaps(
        "api",
        "There is one way to start over, `POST …/reset`, and no menu to choose it from.",
        "TestReset.test_nothing_of_before_is_recalled[shortcut]",
    ),
    *_gaps(
        "email",
        "A mail that was sent can neither be changed nor taken back.",
        "TestEdits.test_edited_before_its_answer_is_finished",
        "TestEdits.test_deleted_before_its_answer_is_finished",
        "TestEdits.test_later_edits_change_nothing_and_the_verdict_says_so",
        "TestVerdicts.test_clicks_edits_commands_and_echoes",
    ),
    *_gaps(
        "email",
        "A mail program has nothing to stop an answer with, and shows none before it is whole.",
        "TestStop.test_what_was_shown_stays_and_says_stopped",
    ),
    *_gaps(
        "email",
        "Each mail is owed its answer, and a letter shows nothing of what it could take the place of: a newer"
        " mail is answered after the older one.",
        "TestReplaceOwn.test_an_answer_to_them_is_superseded",
        "TestReplaceThread.test_any_answer_is_superseded",
    ),
    *_gaps(
        "email",
        "A mail program has no commands and no menus of ours: who writes a new mail begins a new conversation.",
        "TestReset.test_nothing_of_before_is_recalled",
    ),
    *_gaps(
        "email",
        "What people write to each other lies in their mailboxes and doesn't come to the inbox.",
        "TestVerdicts.test_what_people_say_to_each_other",
    ),
    *_gaps(
        "email",
        "Mail that says it is a machine's must not be answered (RFC 3834), so no bot is talked to.",
        "TestBots.test_two_that_talk_to_each_other_come_to_an_end",
    ),
)


def expect(request: pytest.FixtureRequest, driver: str) -> type[Rule]:
    """The rule that is tested. Where a gap is known, it has to be there."""
    rule: object = request.cls
    assert isinstance(rule, type)
    assert issubclass(rule, Rule)
    name = f"{rule.__name__}.{request.node.name}"
    gap = next((gap for gap in GAPS if gap.driver == driver and gap.rule in _names(name)), None)
    if gap is not None:
        request.node.add_marker(pytest.mark.xfail(raises=NotThere, reason=gap.fact, strict=True))
    return rule


def _names(name: str) -> set[str]:
    return {name, name.partition("[")[0]}
