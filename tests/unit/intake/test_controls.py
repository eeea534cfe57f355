"""Stop, start over, edits and removals: what they end, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from channels.contract import Control
from gateway.engine.struct import replace
from gateway.intake import words
from tests.unit.intake.events import STRANGER, acted, edited, person, reply_to, said
from tests.unit.intake.world import Stage, Standing, until

TURN = "talk:T1:C1:1.1"


async def working_on(here: Stage, what: str = "wait", **changes: Any) -> None:
    """The first message's turn runs, and waits for the test."""
    await here.receive(said(what, **changes))

    async def running() -> bool:
        return here.world.running.is_set()

    await until(running)


async def let_go(here: Stage, turn_id: str = TURN) -> None:
    """Once the turn is to end, the call under way does."""

    async def asked() -> bool:
        turn = await here.turn(turn_id)
        return turn is not None and turn.cancel is not None

    await until(asked)
    here.world.gate.set()


# -- stop ------------------------------------------------------------------------------------------------
async def test_stop_cancels_what_runs_and_leaves_what_waits(here: Stage) -> None:
    await working_on(here)
    await here.receive(reply_to("1.1", "next", ts="2.1"))
    await here.receive(acted("stop", "E1"))
    kept = await here.settled("E1", "stop:stopped")
    assert (kept.verdict, kept.turn_id) == ("accepted", TURN)
    here.world.gate.set()
    assert (await here.ended(TURN)).cancel == "requested"
    assert (await here.ended("talk:T1:C1:2.1")).state == "completed"


async def test_stop_knows_the_turn_by_its_stream(here: Stage) -> None:
    """The stream says which turn was meant, though another one runs by now."""
    await here.receive(said("hello"))
    await here.ended(TURN)
    await here.show("reply", "talk:T1:C1:8.8")
    await here.receive(reply_to("1.1", "wait", ts="2.1"))

    async def running() -> bool:
        return here.world.running.is_set()

    await until(running)
    late = acted("stop", "E1", reply={"user": "U1", "streams": ["8.8"]})
    await here.receive(late)
    assert (await here.settled("E1", "stop:nothing-runs")).verdict == "accepted"
    await here.show("reply", "talk:T1:C1:8.9")
    await here.receive(acted("stop", "E2", reply={"user": "U1", "streams": ["8.9"]}))
    assert (await here.settled("E2", "stop:stopped")).turn_id == "talk:T1:C1:2.1"


async def test_a_stop_that_comes_late_stops_nothing_newer(here: Stage) -> None:
    await here.receive(said("hello"))
    await here.receive(acted("stop", "E1"))
    await here.ended(TURN)
    await here.time.sleep(1)
    await here.receive(reply_to("1.1", "newer", ts="2.1"))
    await here.settled("E1", "stop:nothing-runs")
    assert (await here.ended("talk:T1:C1:2.1")).state == "completed"


@pytest.mark.parametrize(
    ("standing", "rule", "told"),
    [
        ("member", "stop:stopped", None),
        ("outsider", "stop:not-yours", words.NOT_YOURS_TO_STOP),
        ("nobody", "stop:not-yours", words.NOT_YOURS_TO_STOP),
        ("away", "unchecked", words.UNSURE),
    ],
)
async def test_any_member_may_stop_and_nobody_else(
    here: Stage, standing: Standing, rule: str, told: str | None
) -> None:
    """What the event says of them is worth nothing: guests come as members."""
    await working_on(here)
    other = person("talk:T1:OTHER", "provider")
    here.world.talk.known[other.id] = standing
    await here.receive(acted("stop", "E1", by=other))
    kept = await here.settled("E1", rule)
    assert kept.said == told
    turn = await here.turn(TURN)
    assert turn is not None
    assert (turn.cancel is not None) is (standing == "member")


async def test_who_asked_may_stop_whoever_they_are(here: Stage) -> None:
    outsider = person(STRANGER, "sender")
    await working_on(here, speaker=outsider, author="external")
    await here.receive(acted("stop", "E1", by=outsider))
    await here.settled("E1", "stop:stopped")
    assert here.world.talk.asked == [], "their own turn needs no look-up"


@pytest.mark.parametrize("wrote", ["talk:T9:STRANGER", "talk:E9:STRANGER"])
async def test_who_asked_may_stop_where_the_event_does_not_say_where_they_are_from(
    here: Stage, wrote: str
) -> None:
    nameless, settled = "talk:unknown:STRANGER", "talk:E9:STRANGER"
    here.world.talk.names |= {nameless: settled, STRANGER: settled}
    here.world.talk.known |= {nameless: "outsider", settled: "outsider"}
    await working_on(here, speaker=person(wrote, "sender"), author="external")
    await here.receive(acted("stop", "E1", by=person(nameless, "none")))
    await here.settled("E1", "stop:stopped")


async def test_a_member_may_stop_where_the_event_does_not_say_where_they_are_from(
    here: Stage,
) -> None:
    nameless = person("talk:unknown:U2", "none")
    here.world.talk.names[nameless.id] = "talk:T1:U2"
    await working_on(here)
    await here.receive(acted("stop", "E1", by=nameless))
    await here.settled("E1", "stop:stopped")


async def test_stop_in_a_quiet_place_stops_nothing(here: Stage) -> None:
    await here.receive(acted("stop", "E1"))
    assert (await here.settled("E1", "stop:nothing-runs")).said is None


# -- reset -----------------------------------------------------------------------------------------------
async def test_a_reset_ends_what_is_open_and_says_so(here: Stage) -> None:
    await here.receive(said("refund 1042"))
    request = await here.parked()
    await here.receive(acted("reset", "E1"))
    kept = await here.settled("E1", "reset:done")
    assert (kept.verdict, kept.said) == ("accepted", words.RESET)
    assert here.world.talk.said == [("U1", words.RESET)]
    found = await here.store.find_request(request)
    assert found is not None
    assert found.request.outcome == "cancelled"
    session = await here.store.session(here.runtime.session("june", TURN).ref)
    assert session is not None
    assert session.generation == 1


async def test_a_reset_is_for_the_conversation_it_was_asked_in(here: Stage) -> None:
    """Two people ask at once, or one event is acted on twice: one generation ends."""
    await here.receive(said("hello"))
    await here.ended(TURN)
    for event in ("E1", "E2"):
        await here.receive(acted("reset", event))
    for event in ("E1", "E2"):
        await here.settled(event, "reset:done")
    session = await here.store.session(here.runtime.session("june", TURN).ref)
    assert session is not None
    assert session.generation == 1
    await here.receive(reply_to("1.1", "anew", ts="2.1"))
    assert (await here.ended("talk:T1:C1:2.1")).generation == 1


async def test_a_reset_waits_for_what_runs(here: Stage) -> None:
    await working_on(here)
    await here.receive(acted("reset", "E1"))
    here.work()
    await here.time.sleep(120)  # longer than one try may take
    here.world.gate.set()
    assert (await here.ended(TURN)).cancel == "reset"
    await here.settled("E1", "reset:done")
    session = await here.store.session(here.runtime.session("june", TURN).ref)
    assert session is not None
    assert session.generation == 1


async def test_where_there_is_nothing_to_start_over_that_is_said(here: Stage) -> None:
    await here.receive(acted("reset", "E1"))
    assert (await here.settled("E1", "reset:nothing")).said == words.NOTHING_TO_RESET


@pytest.mark.parametrize(
    ("standing", "rule", "told"),
    [
        ("outsider", "reset:not-yours", words.NOT_YOURS_TO_RESET),
        ("nobody", "reset:not-yours", words.NOT_YOURS_TO_RESET),
        ("away", "unchecked", words.UNSURE),
    ],
)
async def test_nobody_but_members_starts_anything_over(
    here: Stage, standing: Standing, rule: str, told: str
) -> None:
    """Not even of a conversation of their own, which others read, too."""
    await here.receive(said("hello"))
    here.world.talk.known[person().id] = standing
    await here.receive(acted("reset", "E1"))
    kept = await here.settled("E1", rule)
    assert (kept.verdict, kept.said) == ("policy", told)
    session = await here.store.session(here.runtime.session("june", TURN).ref)
    assert session is not None
    assert session.generation == 0


# -- edits -------------------------------------------------------------------------------------------------
async def test_an_edit_of_what_is_unfinished_takes_its_place(here: Stage) -> None:
    await working_on(here)
    await here.receive(edited(said("wait"), "hello again"))
    here.work()
    await let_go(here)
    assert (await here.ended(f"{TURN}:e5.5")).state == "completed"
    assert (await here.ended(TURN)).cancel == "replaced"
    kept = await here.verdict("EvEdit")
    assert (kept.verdict, kept.rule, kept.turn_id) == (
        "accepted",
        "edit:replaced",
        f"{TURN}:e5.5",
    )
    assert await here.parts(f"{TURN}:e5.5") == ["reply"]


async def test_an_edit_of_what_waits_for_a_person_takes_its_place_without_a_note(
    here: Stage,
) -> None:
    await here.receive(said("refund 1042"))
    request = await here.parked()
    await here.receive(edited(said("refund 1042"), "hello"))
    here.work()
    assert (await here.ended(f"{TURN}:e5.5")).state == "completed"
    assert await here.parts(f"{TURN}:e5.5") == ["reply"]
    found = await here.store.find_request(request)
    assert found is not None
    assert found.request.outcome == "cancelled"


async def test_a_later_edit_changes_nothing_and_the_verdict_says_so(here: Stage) -> None:
    await here.receive(said("hello"))
    await here.ended(TURN)
    told = await here.receive(edited(said("hello"), "good evening"))
    assert (told.word, told.rule) == ("accepted", "edit:kept")
    await here.settled("EvEdit", "edit:changes-nothing")
    assert [turn for turn, _ in await here.turns()] == [TURN]


async def test_of_many_edits_the_newest_is_answered(here: Stage) -> None:
    await working_on(here)
    first = said("wait")
    for at, event in (("5.7", "C"), ("5.5", "A"), ("5.6", "B")):
        await here.receive(edited(first, f"version {at}", at, event))
    here.work()
    for event in ("A", "B", "C"):
        await here.settled(event, "edit:replaced", "edit:superseded")
    await let_go(here)
    assert (await here.ended(f"{TURN}:e5.7")).state == "completed"
    assert (await here.ended(TURN)).cancel == "replaced"
    states = dict(await here.turns())
    assert [turn for turn, state in states.items() if state == "completed"] == [f"{TURN}:e5.7"]
    assert set(states.values()) <= {"completed", "cancelled"}


async def test_an_edit_that_overtakes_its_message_waits_for_it(here: Stage) -> None:
    await here.receive(edited(said("wait"), "hello"))
    here.work()
    await here.time.sleep(1)
    assert (await here.verdict("EvEdit")).rule == "edit:kept"
    await working_on(here)
    await let_go(here)
    assert (await here.ended(f"{TURN}:e5.5")).state == "completed"
    assert (await here.verdict("EvEdit")).turn_id == f"{TURN}:e5.5"


async def test_an_edit_of_what_never_was_a_turn_is_forgotten(here: Stage) -> None:
    await here.receive(edited(said("old"), "new"))
    kept = await here.settled("EvEdit", "edit:no-turn")
    assert kept.verdict == "not_addressed"
    assert await here.turns() == []


async def test_an_edit_acted_on_twice_is_one_turn(here: Stage) -> None:
    await working_on(here)
    change = edited(said("wait"), "hello")
    await here.receive(change)
    assert (await here.receive(change)).word == "duplicate"
    again = replace(change, event_id="EvEdit2", keys=("talk:event:EvEdit2", change.keys[1]))
    assert (await here.receive(again)).rule == "key-claimed"
    await here.settled("EvEdit", "edit:replaced")
    assert len(await here.turns()) == 2


# -- removals ------------------------------------------------------------------------------------------------
def removed(event: str = "E1", post: str = TURN) -> Control:
    return acted("delete", event, post=post)


async def test_a_removal_cancels_what_is_unfinished(here: Stage) -> None:
    await working_on(here)
    here.work()
    await here.receive(edited(said("wait"), "wait"))
    await here.settled("EvEdit", "edit:replaced")
    await here.receive(removed())
    assert (await here.settled("E1", "delete:cancelled")).verdict == "accepted"
    here.world.gate.set()
    assert (await here.ended(TURN)).cancel is not None
    assert (await here.ended(f"{TURN}:e5.5")).state == "cancelled"


@pytest.mark.parametrize("first", ["edit", "removal"])
async def test_what_is_edited_and_removed_at_once_is_answered_in_no_version(
    here: Stage, first: str
) -> None:
    await working_on(here)
    told = [edited(said("wait"), "hello"), removed()]
    for one in told if first == "edit" else reversed(told):
        await here.receive(one)
    here.work()
    await here.settled("E1", "delete:cancelled")
    await here.settled("EvEdit", "edit:replaced", "removed-first")

    async def all_are_to_end() -> bool:
        turns = [await here.turn(turn_id) for turn_id, _ in await here.turns()]
        return all(turn and (turn.cancel or turn.ended_at) for turn in turns)

    await until(all_are_to_end)
    here.world.gate.set()
    for turn, _ in await here.turns():
        assert (await here.ended(turn)).state == "cancelled"


async def test_a_removal_afterwards_changes_nothing(here: Stage) -> None:
    await here.receive(said("hello"))
    await here.ended(TURN)
    await here.receive(removed())
    assert (await here.settled("E1", "delete:changes-nothing")).turn_id == TURN
    await here.receive(removed("E2", "talk:T1:C1:4.4"))
    assert (await here.settled("E2", "delete:no-turn")).verdict == "not_addressed"
