"""One post is one turn, however often and in whatever order it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from channels.contract import Inbound, Verdict
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace
from gateway.intake.keys import KEPT
from tests.unit.intake.events import person, reply_to, said
from tests.unit.intake.world import Stage, World, stage, until

TURN = "talk:T1:C1:1.1"


def both() -> tuple[Inbound, Inbound]:
    """A mention as its two events tell it: other ids, and one knows the author's name."""
    one = said("hello", event="EvMention")
    two = said("hello", event="EvMessage", speaker=replace(person(), name=""))
    return one, two


@pytest.mark.parametrize("first", [0, 1])
async def test_two_events_of_one_post_are_one_turn_in_either_order(here: Stage, first: int) -> None:
    events = both()
    one, two = events[first], events[1 - first]
    assert (await here.receive(one)).word == "accepted"
    copy = await here.receive(two)
    assert (copy.word, copy.rule, copy.turn_id) == ("duplicate", "post-claimed", TURN)
    kept = await here.verdict(two.event_id)
    assert (kept.verdict, kept.turn_id) == ("duplicate", TURN), "it points at the turn"
    assert [turn for turn, _ in await here.turns()] == [TURN]
    assert await here.parts(TURN) == ["reply"]


async def test_told_at_once_they_are_one_turn(here: Stage) -> None:
    """vercel/chat PR#189."""
    for round_ in range(5):
        ts = f"1.{round_}"
        one, two = (replace(said(ts=ts), event_id=f"{name}{ts}") for name in ("A", "B"))
        two = replace(two, keys=(f"talk:event:B{ts}", *two.keys[1:]))
        one = replace(one, keys=(f"talk:event:A{ts}", *one.keys[1:]))
        told = await at_once(here, [one, two, one, two])
        assert sum(verdict.word == "accepted" for verdict in told) == 1
        assert len(await here.turns()) == round_ + 1


async def at_once(here: Stage, events: list[Inbound]) -> list[Verdict]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(here.receive(event)) for event in events]
    return [task.result() for task in tasks]


async def test_four_deliveries_of_one_event_are_one_turn(here: Stage) -> None:
    """vm0-ai/vm0#8773."""
    told = await at_once(here, [said()] * 4)
    assert sorted(verdict.word for verdict in told) == ["accepted", *["duplicate"] * 3]
    kept = await here.verdict("Ev1.1")
    assert (kept.verdict, kept.copies) == ("accepted", 4)
    assert [turn for turn, _ in await here.turns()] == [TURN]


async def test_a_copy_that_was_not_said_to_us_takes_nothing_from_the_one_that_was(
    here: Stage,
) -> None:
    bare = replace(both()[1], addressed="none")
    assert (await here.receive(bare)).word == "not_addressed"
    assert (await here.receive(both()[0])).word == "accepted"
    assert (await here.receive(bare)).word == "duplicate", "and is judged no second time"
    kept = await here.verdict(bare.event_id)
    assert (kept.verdict, kept.copies) == ("not_addressed", 2)


async def test_a_message_repeated_under_another_timestamp_is_known_by_its_authors_own_id(
    here: Stage,
) -> None:
    one, two = said(ts="1.1"), said(ts="1.2")
    one = replace(one, keys=(*one.keys, "talk:cmid:T1:abc"))
    two = replace(two, keys=(*two.keys, "talk:cmid:T1:abc"))
    await here.receive(one)
    assert (await here.receive(two)).word == "duplicate"
    assert [turn for turn, _ in await here.turns()] == [TURN]


async def test_a_replay_after_a_restart_and_after_days_is_a_copy(tmp_path: Path) -> None:
    """openclaw#83521, vercel/chat PR#667: keys outlive every retry."""
    url, world = f"sqlite:///{tmp_path / 'a.db'}", World()
    async with stage(url, world=world) as first:
        await first.receive(said())
    async with stage(url, world=world) as second:
        told = await second.receive(replace(both()[1], keys=said().keys[1:]))
        assert (told.word, told.turn_id) == ("duplicate", TURN)
        assert [turn for turn, _ in await second.turns()] == [TURN]
    assert Millis(7 * 86_400_000) <= KEPT


async def test_two_threads_that_are_new_at_once_keep_their_own_sessions(here: Stage) -> None:
    told = await at_once(here, [said(ts="1.1"), said(ts="2.2")])
    assert [verdict.word for verdict in told] == ["accepted", "accepted"]
    assert await here.turn("talk:T1:C1:2.2", "talk:T1:C1:2.2") is not None


async def test_five_messages_in_one_running_turn_are_all_answered(here: Stage) -> None:
    """openclaw#139847."""
    await here.receive(said("wait"))
    await until(lambda: asyncio.sleep(0, here.world.running.is_set()))
    for number in range(5):
        await here.receive(reply_to("1.1", f"number {number}", ts=f"2.{number}"))
    here.world.gate.set()
    for number in range(5):
        assert (await here.ended(f"talk:T1:C1:2.{number}")).state == "completed"


async def test_a_newer_message_cancels_what_runs_where_the_channel_says_so(here: Stage) -> None:
    """openclaw#50145, #48814."""
    await here.receive(said("wait"))
    await until(lambda: asyncio.sleep(0, here.world.running.is_set()))
    await here.receive(reply_to("1.1", "sorry, 1044", ts="2.1", replace="speaker"))
    here.world.gate.set()
    assert (await here.ended(TURN)).cancel == "replaced"
    assert (await here.ended("talk:T1:C1:2.1")).state == "completed"
