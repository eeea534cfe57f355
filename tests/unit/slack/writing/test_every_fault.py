"""Whatever goes wrong at whatever call, the thread ends as it would have without."""

from __future__ import annotations

from typing import get_args

import pytest

from tests.unit.slack.writing.fast import FastTime
from tests.unit.slack.writing.model import Slack, Trouble
from tests.unit.slack.writing.rig import Beat, End, Park, Use, say, told

TROUBLES: tuple[Trouble, ...] = get_args(Trouble)

STORIES: dict[str, list[Beat]] = {
    "short": [say("Order 1042 is sent!"), End()],
    "long": [
        say("Order 1042 left the house on Monday and will be with you on Friday.", every=0.9),
        End(),
    ],
    "tasks": [say("Let me look!"), Use("c1"), say("It is sent."), End()],
    "parked": [say("I'll ask."), Use("c1", 0.1), Park(), say("It is refunded."), End()],
    "silent": [Use("c1", 0.1), End()],
    "failed": [say("One moment."), End("failed")],
    "file": [
        say("Here you are."),
        Use("f1", 0.1, tool="attach_file", given={"name": "list.md", "text": "- one\n"}),
        End(),
    ],
}


async def run(story: str, trouble: dict[int, Trouble]) -> Slack:
    time = FastTime()
    slack = Slack(time, trouble)
    rig = await told(STORIES[story], slack, time)
    assert rig.letter is None
    return slack


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("story", STORIES)
async def test_one_fault_at_any_call(story: str, trouble: Trouble) -> None:
    wanted = await run(story, {})
    for number in range(1, len(wanted.calls) + 1):
        slack = await run(story, {number: trouble})
        assert words(slack) == words(wanted), (number, wanted.calls[number - 1][0])
        assert slack.status == "active"
        assert all(message.state != "in_progress" for message in slack.thread)


@pytest.mark.parametrize("story", ["long", "tasks"])
@pytest.mark.parametrize("first", TROUBLES)
@pytest.mark.parametrize("second", TROUBLES)
async def test_two_faults_in_a_row(story: str, first: Trouble, second: Trouble) -> None:
    wanted = await run(story, {})
    for number in range(1, len(wanted.calls) + 1):
        slack = await run(story, {number: first, number + 1: second})
        assert words(slack) == words(wanted), (number, wanted.calls[number - 1][0])


def words(slack: Slack) -> list[list[str]]:
    """What is read. A message that was posted instead of streamed may part its words otherwise."""
    return [[piece.strip() for piece in message] for message in slack.shown]
