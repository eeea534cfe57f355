"""Cut at every delta, with a model that answers differently the second time: one whole answer."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.engine.events import MessageCompleted
from tests.unit.slack.writing.fast import FastTime
from tests.unit.slack.writing.model import Slack, Trouble
from tests.unit.slack.writing.rig import Beat, End, Retried, Rig, Turn, Use, say

WORDS = st.text(alphabet="ab .!<@[]()`*\n-é😀", min_size=1, max_size=90)
TROUBLE: st.SearchStrategy[Trouble] = st.sampled_from(
    ["lost", "unsent", "limited", "killed before", "killed after"]
)


@st.composite
def beats(draw: st.DrawFn) -> list[Beat]:
    made: list[Beat] = []
    for number in range(draw(st.integers(1, 4))):
        match draw(st.sampled_from(["say", "say", "tool", "retried"])):
            case "say":
                texts = draw(st.lists(WORDS, min_size=1, max_size=3))
                size, every = draw(st.integers(1, 40)), draw(st.sampled_from([0.0, 0.1, 0.7, 4.0]))
                made.append(say(*texts, every=every, size=size))
            case "tool":
                error = draw(st.sampled_from([None, "boom"]))
                made.append(Use(f"c{number}", draw(st.sampled_from([0.0, 1.5, 12.0])), error))
            case _:
                made.append(Retried(draw(WORDS)))
    return [*made, End(draw(st.sampled_from(["completed", "failed"])))]


def told(story: list[Beat], trouble: dict[int, Trouble]) -> tuple[Slack, Rig]:
    async def run() -> tuple[Slack, Rig]:
        time = FastTime()
        slack = Slack(time, trouble)
        rig = Rig(Turn(story, time, time.clock), slack, time, time.clock)
        async with time.running():
            await rig.deliver()
        return slack, rig

    return asyncio.run(run())


@settings(max_examples=150, deadline=None)
@given(beats(), st.dictionaries(st.integers(1, 14), TROUBLE, max_size=4))
def test_a_thread_ends_as_if_nothing_had_happened(
    story: list[Beat], trouble: dict[int, Trouble]
) -> None:
    slack, rig = told(story, trouble)
    committed = [event for event in rig.turn.log if isinstance(event, MessageCompleted)]
    wanted, _ = told([*(say(event.text, every=0.0) for event in committed), story[-1]], {})
    assert _letters(slack) == _letters(wanted)
    assert slack.status == "active"
    assert all(message.state in {"", "completed"} for message in slack.thread)
    assert [len(message.tasks) for message in slack.thread][1:] == [0] * (len(slack.thread) - 1)


def test_a_status_whose_answer_was_lost_is_taken_back() -> None:
    slack, _ = told([Retried("a"), End("completed")], {1: "lost", 2: "lost"})
    assert slack.status == "active"


def _letters(slack: Slack) -> str:
    """What is said, without the blank that a task in between makes another one."""
    return "".join(slack.said.split())
