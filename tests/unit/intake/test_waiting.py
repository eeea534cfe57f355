"""What can't be let in now is held and let in later; nothing is lost, and nothing is let in twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Binding, Receipt
from gateway.engine.limits import Limits
from gateway.engine.records import Held, PlaceBound
from gateway.intake import words
from gateway.intake.looks import GIVEN_UP, LOOKS, next_look, retry_at
from gateway.intake.stored import body_of
from tests.unit.intake.events import acted, edited, pressed, reply_to, said
from tests.unit.intake.world import Stage, World, stage, until

TURN = "talk:T1:C1:2.2"
ROOT = "talk:T1:C1:1.1"


async def test_a_message_to_a_host_that_is_full_is_let_in_when_there_is_room() -> None:
    limits = Limits(queue_per_session=1, running_turns=1)
    async with stage(limits=limits) as here:
        await here.receive(said("wait"))

        async def running() -> bool:
            return here.world.running.is_set()

        await until(running)
        assert (await here.receive(reply_to("1.1", ts="2.1"))).word == "accepted"
        told = await here.receive(reply_to("1.1", "and me", ts="2.2"))
        assert (told.word, told.rule, told.turn_id) == ("held", "host-busy", None)
        assert (await here.receive(reply_to("1.1", "and me", ts="2.2"))).word == "duplicate"
        assert await here.turn(TURN) is None
        here.work()
        await here.time.sleep(3)
        assert (await here.verdict("Ev2.2")).verdict == "held"
        here.world.gate.set()
        assert (await here.ended(TURN)).state == "completed"
        kept = await here.verdict("Ev2.2")
        assert (kept.verdict, kept.rule, kept.turn_id) == ("accepted", "thread", TURN)
        assert len(await here.turns()) == 3


async def held(here: Stage) -> None:
    """A message waits for a host that is full for longer than an edit waits for a message."""
    here.runtime.draining = True
    told = await here.receive(said("old"))
    assert (told.word, told.rule) == ("held", "host-busy")
    here.work()


async def past_all_looks(here: Stage, event: str) -> None:
    kept = (await here.verdict(event)).at + LOOKS[-1] * 1000

    async def past() -> bool:
        return here.time.now() > kept + 5000

    await until(past)


async def test_an_edit_of_what_is_held_waits_for_it() -> None:
    async with stage(speed=200.0) as here:
        await held(here)
        await here.receive(edited(said("old"), "new"))
        await past_all_looks(here, "EvEdit")
        assert (await here.verdict("EvEdit")).rule == "edit:kept"
        here.runtime.draining = False
        kept = await here.settled("EvEdit", "edit:replaced", "edit:changes-nothing")
        assert kept.verdict == "accepted"
        assert (await here.turns())[0][0] == ROOT


async def test_an_edit_of_what_is_held_is_what_is_answered() -> None:
    """What it changes runs by then."""
    async with stage(speed=200.0) as here:
        here.runtime.draining = True
        await here.receive(said("wait"))
        here.work()
        await here.receive(edited(said("wait"), "new"))
        await past_all_looks(here, "EvEdit")
        here.runtime.draining = False
        await here.settled("EvEdit", "edit:replaced")
        here.world.gate.set()
        assert (await here.ended(f"{ROOT}:e5.5")).state == "completed"
        assert (await here.ended(ROOT)).cancel == "replaced"


async def test_what_is_removed_while_it_is_held_is_never_let_in() -> None:
    async with stage(speed=200.0) as here:
        await held(here)
        await here.receive(acted("delete", "E1", post=ROOT))
        await here.settled("E1", "delete:no-turn")
        kept = await here.settled("Ev1.1", "removed-first")
        assert kept.verdict == "not_addressed"
        here.runtime.draining = False
        await here.receive(said("another", "1.2"))
        await here.ended("talk:T1:C1:1.2", "talk:T1:C1:1.2")
        assert [turn for turn, _ in await here.turns()] == ["talk:T1:C1:1.2"]


async def test_a_removal_that_overtakes_its_message_cancels_it() -> None:
    """Of both, one takes the post: a message that comes in first is found by its removal."""
    async with stage() as here:
        await here.receive(acted("delete", "E1", post=ROOT))
        here.work()
        await here.receive(said("wait"))
        kept = await here.settled("E1", "delete:cancelled")
        assert kept.turn_id == ROOT


async def test_of_two_tellings_that_are_held_one_is_let_in(here: Stage) -> None:
    here.runtime.draining = True
    for event in ("EvA", "EvB"):
        await here.receive(said(event=event))
    here.runtime.draining = False
    here.work()
    await here.ended(ROOT)
    rules = [(await here.settled(e, "mention", "post-claimed")).rule for e in ("EvA", "EvB")]
    assert sorted(rules) == ["mention", "post-claimed"]


async def test_a_host_that_stops_holds_what_comes_for_the_next_one(tmp_path: Path) -> None:
    url, world = f"sqlite:///{tmp_path / 'a.db'}", World()
    async with stage(url, world=world) as first:
        first.runtime.draining = True
        told = await first.receive(said())
        assert (told.word, told.rule) == ("held", "host-busy")
        assert await first.turns() == []
    async with stage(url, world=world) as second:
        kept = await second.settled("Ev1.1", "mention")
        assert (kept.verdict, kept.turn_id) == ("accepted", ROOT)
        assert (await second.ended(ROOT)).state == "completed"


async def test_a_sibling_let_in_meanwhile_makes_the_held_one_a_copy(here: Stage) -> None:
    here.runtime.draining = True
    await here.receive(said(event="EvA"))
    here.runtime.draining = False
    sibling = said(event="EvB")
    assert (await here.receive(sibling)).word == "accepted"
    kept = await here.settled("EvA", "post-claimed")
    assert (kept.verdict, kept.turn_id) == ("duplicate", ROOT)
    assert len(await here.turns()) == 1


async def test_a_reply_to_a_post_of_ours_that_is_not_in_the_books_waits_for_it(
    here: Stage,
) -> None:
    told = await here.receive(reply_to("1.1", root_is_ours=True))
    assert (told.word, told.rule) == ("held", "unknown-root")
    here.work()
    await here.time.sleep(3)
    assert (await here.verdict("Ev2.2")).verdict == "held"
    bind = PlaceBound(place=ROOT, agent="june", session="cron:digest:1", kind="root", at=Millis(1))
    await here.store.ledger.note([bind])

    async def joined() -> bool:
        return await here.turn(TURN, "cron:digest:1") is not None

    await until(joined)
    kept = await here.verdict("Ev2.2")
    assert (kept.verdict, kept.rule, kept.session) == ("accepted", "thread", "cron:digest:1")
    assert len(await here.turns()) == 1


async def test_a_root_that_stays_unknown_is_answered_after_a_minute_all_the_same(
    here: Stage,
) -> None:
    since = here.time.now()
    await here.receive(reply_to("1.1", root_is_ours=True))
    here.work()

    async def let_in() -> bool:
        return (await here.verdict("Ev2.2")).verdict == "accepted"

    await until(let_in)
    assert here.time.now() - since >= LOOKS[-1] * 1000
    kept = await here.verdict("Ev2.2")
    assert (kept.rule, kept.turn_id, kept.session) == ("unknown-root", TURN, ROOT)
    known = await here.store.ledger.known(Asked(source="talk", event_id="", places=(ROOT,)))
    assert [one.session for one in known.bindings] == [ROOT]


async def test_the_binding_that_a_receipt_brings_is_the_one_that_is_found(here: Stage) -> None:
    await here.receive(said(place=said().place))
    rows = await here.store.ledger.claim(
        "o", ["talk"], Millis(here.time.now() + 10**6), Millis(9000), 5
    )
    (row,) = rows
    posted = Binding(
        place="talk:T1:C1:3.3", agent="june", session=row.session, kind="post", at=row.at
    )
    await here.store.ledger.settle(
        Receipt(
            delivery=row.id,
            token=row.token,
            satisfied=row.wanted,
            state="done",
            seq=1,
            places=(posted,),
        )
    )
    told = await here.receive(reply_to("3.3", ts="4.4", root_is_ours=True))
    assert (told.word, told.rule) == ("accepted", "thread")
    assert await here.turn("talk:T1:C1:4.4", ROOT) is not None


async def test_a_store_that_is_away_is_no_verdict(here: Stage) -> None:
    """The platform is told nothing, so it sends again."""
    await here.store.close()
    try:
        for parsed in (said(), acted("stop"), pressed("req_1"), edited(said(), "x")):
            with pytest.raises(StoreUnavailableError):
                await here.receive(parsed)
    finally:
        await here.store.open()
    assert (await here.receive(said())).word == "accepted"


async def test_an_event_of_a_channel_that_does_not_run_here_is_left_for_one_where_it_does(
    here: Stage,
) -> None:
    held = Held(source="mail", event_id="M1", kind="message", body=body_of(said()), at=Millis(1))
    await here.store.ledger.note([held])
    await here.receive(acted("home", "E1"))
    await here.settled("E1", "home:done")
    later = Millis(here.time.now() + 61_000)
    (row,) = await here.store.ledger.take_inbox("other", later, Millis(1000), 10)
    assert (row.source, row.body) == ("mail", held.body)


async def test_what_failed_for_a_day_is_given_up_and_its_author_told(here: Stage) -> None:
    here.world.talk.broken = RuntimeError("the channel is broken")
    old = Millis(here.time.now() - GIVEN_UP)
    home = acted("home", "E1")
    body = body_of(home)
    await here.receive(home)
    await here.store.ledger.note(
        [Held(source="talk", event_id="E2", kind="control", body=body, at=old)]
    )

    async def told() -> bool:
        return bool(here.world.talk.said)

    here.work()
    await until(told)
    assert here.world.talk.said == [("U1", words.BROKEN)]
    kept = await here.verdict("E1")
    assert (kept.verdict, kept.rule) == ("unsupported", "gave-up")


def test_looks_are_told_by_the_events_age() -> None:
    since = Millis(1000)
    assert [next_look(since, Millis(since + ms)) for ms in (0, 2000, 14_999, 60_000)] == [
        Millis(3000),
        Millis(6000),
        Millis(16_000),
        None,
    ]


def test_tries_get_rarer_and_never_stop() -> None:
    waits = [retry_at(attempts, Millis(0)) // 1000 for attempts in (0, 1, 2, 3, 7, 500)]
    assert waits == [1, 1, 2, 4, 60, 60]
