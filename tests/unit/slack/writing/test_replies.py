"""Replies as a thread shows them, on a model of Slack and virtual time."""

from __future__ import annotations

from typing import cast

import pytest

from gateway.engine.kinds import JsonObject
from tests.unit.slack.writing.fast import FastTime
from tests.unit.slack.writing.model import Slack
from tests.unit.slack.writing.rig import Beat, End, Park, Retried, Use, say, told


@pytest.fixture
def time() -> FastTime:
    return FastTime()


@pytest.fixture
def slack(time: FastTime) -> Slack:
    return Slack(time)


async def test_a_reply_is_streamed_into_one_message(slack: Slack, time: FastTime) -> None:
    rig = await told([say("Order 1042 is on its way to you!"), End()], slack, time)
    assert slack.shown == [["Order 1042 is on its way to you!"]]
    assert slack.calls[0] == (
        "agents.sessions.setStatus",
        {
            "channel_id": "C1",
            "thread_ts": "1700000000.000100",
            "status": "processing",
            "initiator_user_id": "U1",
        },
    )
    assert slack.count("chat.startStream", "chat.stopStream") == 2
    assert slack.status == "active"
    row = await rig.row()
    assert (row.state, row.seq, row.shown) == ("done", 0, row.wanted)
    assert row.ref == f"slack:T1:C1:{slack.thread[0].ts}"


async def test_words_and_tasks_stand_in_the_order_they_happened(
    slack: Slack, time: FastTime
) -> None:
    beats: list[Beat] = [
        say("Let me look!"),
        Use("c1"),
        Use("c2", error="boom"),
        say("It is sent."),
        End(),
    ]
    await told(beats, slack, time)
    assert slack.shown == [
        ["Let me look!", "[complete] Find order", "[error] Find order", "It is sent."]
    ]


async def test_a_turn_that_is_over_by_now_is_posted(slack: Slack, time: FastTime) -> None:
    beats: list[Beat] = [
        say("Let me look!", every=0),
        Use("c1", 0),
        say("It is sent.", every=0),
        End(),
    ]
    await told(beats, slack, time)
    assert slack.shown == [["Let me look!", "[complete] Find order", "It is sent."]]


async def test_words_taken_back_before_they_were_contradicted_stay(
    slack: Slack, time: FastTime
) -> None:
    beats: list[Beat] = [Retried("Order 1042 is "), say("Order 1042 is sent."), End()]
    await told(beats, slack, time)
    assert slack.shown == [["Order 1042 is sent."]]
    assert slack.count("chat.update") == 0


async def test_other_words_the_second_time_are_written_over_the_first(
    slack: Slack, time: FastTime
) -> None:
    beats: list[Beat] = [Retried("Order 1042 is lost, I am "), say("It was sent on Monday."), End()]
    await told(beats, slack, time)
    assert slack.shown == [["It was sent on Monday."]]
    assert slack.count("chat.update") == 1


@pytest.mark.parametrize(
    ("end", "line"),
    [
        (End("failed"), "Sorry, I couldn't finish this."),
        (End("timed_out"), "Sorry, I couldn't finish this."),
        (End("cancelled"), "Stopped."),
        (End("cancelled", "reset"), "Conversation reset."),
        (End("completed"), "I have nothing to add."),
    ],
)
async def test_no_turn_ends_in_silence(slack: Slack, time: FastTime, end: End, line: str) -> None:
    await told([end], slack, time)
    ((shown,),) = slack.shown
    assert shown.startswith(line)
    assert slack.status == "active"


async def test_a_replaced_turn_that_showed_nothing_says_nothing(
    slack: Slack, time: FastTime
) -> None:
    rig = await told([Use("c1", 0), End("cancelled", "replaced")], slack, time)
    assert slack.shown == []
    assert slack.status == "active"
    assert (await rig.row()).state == "done"


async def test_what_was_shown_of_a_stopped_turn_stays(slack: Slack, time: FastTime) -> None:
    await told([End("cancelled", "replaced", amid="Order 1042 is on its ")], slack, time)
    assert slack.shown == [["Order 1042 is on its \n\n(superseded by a newer message)"]]


CODE = """Try this:

```py
def found(order):
    if order:
        return 1    # yes
    return   0\x20
    # it isn't
```

| id   | it  |
| ---  | --- |
| 7    | ok  |

-  one
  - two

First \x20
second, and that is all."""


@pytest.mark.parametrize("size", [1, 3, 9, 12])
@pytest.mark.parametrize("every", [0.15, 1.3])
async def test_no_blank_stands_where_two_pieces_meet(
    slack: Slack, time: FastTime, size: int, every: float
) -> None:
    """Slack may drop it there, and a program's indentation with it. Nor is anything put there, which would be
    copied with the program."""
    await told([say(CODE, every=every, size=size), End()], slack, time)
    assert slack.said == CODE
    pieces = [
        str(chunk["text"])
        for method, args in slack.calls
        if method in {"chat.appendStream", "chat.stopStream"}
        for chunk in cast("list[JsonObject]", args.get("chunks") or [])
    ]
    assert len(pieces) >= 2
    assert [piece for piece in pieces if piece[0].isspace() or not piece[0].isprintable()] == []


async def test_words_of_a_failed_step_are_taken_back(slack: Slack, time: FastTime) -> None:
    await told([say("One moment."), End("failed", amid="Order 1042 is on its ")], slack, time)
    ((shown,),) = slack.shown
    assert shown.startswith("One moment.\n\nSorry")


async def test_a_parked_turn_rests_and_goes_on_below_its_card(slack: Slack, time: FastTime) -> None:
    beats: list[Beat] = [say("I'll ask."), Use("c1", 0.1), Park(), say("It is refunded."), End()]
    rig = await told(beats, slack, time)
    first, second = slack.shown
    assert first == ["I'll ask.", "[complete] Find order"]
    assert second == ["It is refunded."]
    assert slack.status == "active"
    statuses = [str(args["session_status"]) for m, args in slack.calls if m == "chat.stopStream"]
    assert statuses == ["suspended", "active"]
    row = await rig.row()
    assert row.state == "done"
