"""The line of somebody who waits behind another's decision."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from typing_extensions import override

from channels.protocol import Card
from channels.slack.settings import read_options
from gateway.engine.kinds import Millis
from tests.unit.slack.writing.fast import FastTime
from tests.unit.slack.writing.model import Slack, Trouble
from tests.unit.slack.writing.rig import End, Rig, Turn, say

OPTIONS = read_options(policy_words={"refunds": "@support-leads"})


def card(**changes: Any) -> Card:
    fields: dict[str, Any] = {
        "request": "r0",
        "turn_id": "t0",
        "name": "refund",
        "tool": "refund",
        "prompt": "Refund <!here> 1042?",
        "arguments": {},
        "schema": {"type": "boolean"},
        "answerers": {"policy": "refunds"},
        "digest": "d",
        "quorum": 1,
        "votes": (),
        "created_at": Millis(0),
        "expires_at": None,
        "outcome": None,
        "decided": None,
        "call": "waits",
    }
    return Card(**{**fields, **changes})


class Queued(Turn):
    """Waits for ten seconds before it begins."""

    @override
    async def run(self) -> None:
        if not self.log:
            self.behind = card()
            await self._time.sleep(10.0)
            self.behind = None
        await super().run()


async def shown_after(seconds: float, trouble: dict[int, Trouble]) -> tuple[Slack, list[Any]]:
    time = FastTime()
    slack = Slack(time, trouble)
    turn = Queued([say("Done."), End()], time, time.clock)
    rig = Rig(turn, slack, time, time.clock, options=OPTIONS, part="note:queued")
    seen: list[Any] = []
    async with time.running(), asyncio.TaskGroup() as tasks:

        async def look() -> None:
            await time.sleep(seconds)
            seen.extend(slack.shown)

        tasks.create_task(look())
        row = await rig.deliver()
        assert row.state == "done"
    return slack, seen


async def test_it_is_there_while_it_is_true() -> None:
    slack, seen = await shown_after(8.0, {})
    ((words,),) = seen
    assert "@support-leads" in words
    assert "<!here>" in words, "in a block that nobody reads tokens in"
    assert "<!here>" not in str(slack.calls[0][1]["text"])
    assert slack.shown == []
    assert slack.status == "active"


@pytest.mark.parametrize("trouble", ["lost", "unsent", "limited", "killed before", "killed after"])
@pytest.mark.parametrize("call", [1, 2])
async def test_it_goes_whatever_went_wrong(trouble: Trouble, call: int) -> None:
    slack, _ = await shown_after(8.0, {call: trouble})
    assert slack.shown == []
    assert slack.count("chat.postMessage") <= 2


async def test_nothing_is_said_where_nobody_waits() -> None:
    time = FastTime()
    slack = Slack(time)
    turn = Turn([say("Done."), End()], time, time.clock)
    rig = Rig(turn, slack, time, time.clock, part="note:queued")
    async with time.running():
        await rig.deliver()
    assert slack.calls == []


async def test_it_takes_nobodys_place_while_it_stands() -> None:
    """A decision may take days, and an outbox carries so many at once."""
    time = FastTime()
    slack = Slack(time)
    turn = Queued([say("Done."), End()], time, time.clock)
    rig = Rig(turn, slack, time, time.clock, part="note:queued")
    states: list[str] = []
    async with time.running(), asyncio.TaskGroup() as tasks:

        async def look() -> None:
            await time.sleep(8.0)
            states.append((await rig.row()).state)

        tasks.create_task(look())
        await rig.deliver()
    assert states == ["resting"]
