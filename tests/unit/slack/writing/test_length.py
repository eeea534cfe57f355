"""Answers that are longer than a message, or than a stream lives."""

from __future__ import annotations

from itertools import pairwise

import pytest
from typing_extensions import override

from channels.slack.words.split import units
from gateway.engine.kinds import Millis
from tests.unit.slack.writing.fast import FastTime
from tests.unit.slack.writing.model import Slack
from tests.unit.slack.writing.rig import Beat, End, Park, Use, say, told

PARAGRAPH = "The order left the house and is on its way to whoever ordered it. " * 6 + "\n\n"


def paragraphs(characters: int) -> str:
    text = "".join(f"Order {n}: {PARAGRAPH}" for n in range(characters // len(PARAGRAPH) + 1))
    return text[:characters].rstrip() + "."


@pytest.fixture
def time() -> FastTime:
    return FastTime()


@pytest.fixture
def slack(time: FastTime) -> Slack:
    return Slack(time)


def squeezed(text: str) -> str:
    return "".join(text.split())


async def test_a_turn_of_twenty_minutes_goes_on_in_new_messages(
    slack: Slack, time: FastTime
) -> None:
    text = paragraphs(18_000)
    await told([say(text, every=1.0, size=15), End()], slack, time, step=2.0)
    assert squeezed(slack.said) == squeezed(text)
    assert len(slack.thread) >= 5
    assert slack.count("chat.update", "chat.postMessage") == 0
    stops = [args["session_status"] for m, args in slack.calls if m == "chat.stopStream"]
    assert stops == ["processing"] * (len(stops) - 1) + ["active"]
    ends = [message.text.rstrip()[-1] for message in slack.thread]
    assert ends == ["."] * len(ends), "each message ends where a block does"


async def test_a_tool_of_twenty_minutes_leaves_no_broken_stream(
    slack: Slack, time: FastTime
) -> None:
    beats: list[Beat] = [say("Let me look."), Use("c1", 1200.0), say("It is sent."), End()]
    await told(beats, slack, time, step=2.0)
    assert slack.shown == [["Let me look.", "[complete] Find order"], ["It is sent."]]
    assert all(message.state == "completed" for message in slack.thread)


class SetBack(FastTime):
    """Somebody sets the clock back by an hour, while an answer is being written."""

    @override
    def now(self) -> Millis:
        return Millis(super().now() - (3_600_000 if self.monotonic() > 30.0 else 0))


async def test_a_clock_that_is_set_back_holds_up_nothing() -> None:
    time = SetBack()
    slack = Slack(time)
    text = paragraphs(6_000)
    await told([say(text, every=1.0, size=15), End()], slack, time, step=2.0)
    assert squeezed(slack.said) == squeezed(text)
    assert slack.count("chat.appendStream") > 100
    assert slack.count("chat.update", "chat.postMessage") == 0, "no stream lived too long"


async def test_appends_keep_their_distance(slack: Slack, time: FastTime) -> None:
    stamps: list[float] = []
    call = slack.call

    async def timed(*given: object) -> object:
        if given[1] in {"chat.startStream", "chat.appendStream"}:
            stamps.append(time.monotonic())
        return await call(*given)  # type: ignore[arg-type]

    slack.call = timed  # type: ignore[method-assign,assignment]
    await told([say(paragraphs(3_000), every=0.1, size=30), End()], slack, time)
    assert len(stamps) > 5
    assert all(after - before >= 0.99 for before, after in pairwise(stamps))


@pytest.mark.parametrize("every", [0.0, 0.05])
@pytest.mark.parametrize("characters", [3_001, 12_001, 13_300, 41_000, 45_000])
async def test_any_length_comes_whole_and_in_order(
    slack: Slack, time: FastTime, characters: int, every: float
) -> None:
    text = paragraphs(characters)
    await told([say(text, every=every, size=120), End()], slack, time)
    assert squeezed(slack.said) == squeezed(text)
    assert all(units(message.text) <= 12_000 for message in slack.thread)


@pytest.mark.parametrize("every", [0.0, 0.05])
async def test_fences_and_tables_are_whole_in_every_message(
    slack: Slack, time: FastTime, every: float
) -> None:
    code = "\n".join(f"value_{n} = {n} * 2" for n in range(1_000))
    rows = "\n".join(f"| {n} | sent |" for n in range(1_200))
    text = f"See:\n\n```py\n{code}\n```\n\nAnd:\n\n| order | state |\n| --- | --- |\n{rows}\n"
    await told([say(text, every=every, size=300), End()], slack, time)
    assert len(slack.thread) > 3
    for message in slack.thread:
        assert message.text.count("```") % 2 == 0
        if "| sent |" in message.text:
            assert "| order | state |" in message.text
    lines = [line for message in slack.thread for line in message.text.splitlines()]
    assert [line for line in lines if line.startswith("value_")] == code.splitlines()
    assert [line for line in lines if line.endswith("| sent |")] == rows.splitlines()


async def test_a_very_long_answer_is_a_file(slack: Slack, time: FastTime) -> None:
    text = paragraphs(130_000)
    await told([say(text, every=0.0, size=5_000), End()], slack, time)
    first, file = slack.shown
    assert text.startswith(first[0].removesuffix(IN_FILE).rstrip())
    assert first[0].endswith(IN_FILE)
    assert file == ["file answer.md", text]


async def test_what_was_streamed_of_a_very_long_answer_stays(slack: Slack, time: FastTime) -> None:
    text = paragraphs(130_000)
    await told([say(text, every=0.5, size=400), End()], slack, time)
    *parts, file = slack.shown
    assert parts.pop() == [IN_FILE]
    assert len(parts) == 8
    assert squeezed(text).startswith(squeezed("".join(part[0] for part in parts)))
    assert file == ["file answer.md", text]


async def test_what_comes_behind_a_very_long_answer_is_in_a_file_too(
    slack: Slack, time: FastTime
) -> None:
    text, more = paragraphs(130_000), "And it was paid back."
    beats: list[Beat] = [say(text, every=0.0, size=5_000), Park(), say(more), End()]
    await told(beats, slack, time)
    assert slack.shown[-1] == ["file answer.md", f"{text}\n\n{more}"]


IN_FILE = "_This is too long for a thread: the whole answer is in the file._"
