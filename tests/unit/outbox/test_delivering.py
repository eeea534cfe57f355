"""From a turn to what is shown: in order, whole, once, and nobody waits for anybody else."""

from __future__ import annotations

import asyncio
import logging

import pytest

from channels.contract import RetryLater, Undeliverable
from channels.protocol import QUEUED, REPLY
from gateway.engine.errors import LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ports import SessionStore
from gateway.outbox.reference import reference_of
from gateway.outbox.worker import Tempo
from tests.unit.outbox.kit import desk, opened, until, working
from tests.unit.outbox.platform import Platform


async def test_what_a_turn_said_is_shown_and_the_row_is_done(store: SessionStore) -> None:
    async with desk(store) as made:
        await made.start("hello", "t1")
        row = await made.until("t1", "done")
        assert made.platform.at("s1") == ["re: hello"]
        assert (row.shown, row.error, row.attempts) == (1, None, 0)
        assert row.seq == (await made.runtime.session("june", "s1").snapshot("t1")).last_seq
        assert made.channel.seen == [("deliver", row.id)]


async def test_what_goes_to_one_place_goes_in_order_and_one_at_a_time(store: SessionStore) -> None:
    under_way = 0

    async def one_at_a_time(when: str, _: str) -> None:
        nonlocal under_way
        under_way += {"before": 1, "after": -1}.get(when, 0)
        assert under_way <= 1
        await asyncio.sleep(0.01)

    async with desk(store, platform=Platform(fault=one_at_a_time), runs=True) as made:
        for n in range(6):
            await made.start(f"n{n}", f"t{n}", session=f"s{n}", place="C1")
        for n in range(6):
            await made.until(f"t{n}", "done")
        assert made.platform.at("C1") == [f"re: n{n}" for n in range(6)]


async def test_a_platform_that_hangs_holds_up_neither_turns_nor_other_places(
    store: SessionStore,
) -> None:
    hangs = asyncio.Event()

    async def fault(when: str, place: str) -> None:
        if when == "before" and place == "stuck":
            await hangs.wait()

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("one", "t1", session="stuck")
        await until(lambda: "stuck" in made.platform.calls)
        await made.start("two", "t2", session="stuck")
        for n in range(5):
            await made.start(f"n{n}", f"o{n}", session=f"free{n}")
            await made.until(f"o{n}", "done")
        assert (await made.runtime.session("june", "stuck").result("t2")).status == "completed"
        assert made.platform.at("stuck") == []
        hangs.set()
        await made.until("t2", "done")
        assert made.platform.at("stuck") == ["re: one", "re: two"]


async def test_more_rows_than_may_be_under_way_are_all_shown(memory: SessionStore) -> None:
    most = 0

    async def count(when: str, _: str) -> None:
        nonlocal most
        if when == "before":
            most = max(most, len(made.outbox._held))
            await asyncio.sleep(0.002)

    async with desk(
        memory, platform=Platform(fault=count), tempo=Tempo(batch=4, most=6), runs=True
    ) as made:
        for n in range(30):
            await made.start(f"n{n}", f"t{n}", session=f"s{n}", wake=False)
        for n in range(30):
            await made.until(f"t{n}", "done")
        assert 1 <= most <= 6
        assert len(made.platform.posts) == 30


async def test_what_changes_while_it_is_sent_is_looked_at_again(store: SessionStore) -> None:
    sending, go = asyncio.Event(), asyncio.Event()

    async def fault(when: str, _: str) -> None:
        if when == "after":
            sending.set()
            await go.wait()

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        await sending.wait()
        await made.mark("t1")
        go.set()
        await until(lambda: len(made.channel.seen) == 2)
        row = await made.until("t1", "done")
        assert (row.wanted, row.shown) == (2, 2)
        assert [way for way, _ in made.channel.seen] == ["deliver", "resume"]
        # Nothing had changed that shows: no second call.
        assert len(made.platform.calls) == 1


async def test_a_park_rests_and_an_answer_goes_on_where_it_stopped(store: SessionStore) -> None:
    async with desk(store) as made:
        await made.start("approve", "t1")
        row = await made.until("t1", "resting")
        assert made.platform.posts == []
        await made.mark("t1")  # somebody voted, say: it looks, and rests again
        await until(lambda: len(made.channel.seen) == 2)
        assert (await made.until("t1", "resting")).seq == row.seq
        session = made.runtime.session("june", "s1")
        pending = await session.pending()
        assert pending is not None
        await session.resume("t1", pending.id, True, by="cli:ada")
        await made.mark("t1")
        await made.until("t1", "done")
        assert made.platform.at("s1") == ["after that"]


async def test_a_turn_that_fails_or_is_stopped_isnt_silent(memory: SessionStore) -> None:
    async with desk(memory) as made:
        await made.start("silent", "t1", session="s1")
        await made.start("hold x", "t2", session="s2")
        await made.until("t1", "done")
        (told,) = made.platform.at("s1")
        assert told.endswith(reference_of("t1"))
        assert "model" not in told
        await until(lambda: "x" in made.gates.begun)
        await made.runtime.session("june", "s2").cancel("t2")
        made.gates.gate("x").set()
        await made.until("t2", "done")
        assert made.platform.at("s2") == ["Stopped."]


# -- who waits behind a park ---------------------------------------------------------------------------
async def test_who_waits_behind_a_park_doesnt_hold_the_place_against_it(
    store: SessionStore,
) -> None:
    async with desk(store) as made:
        await made.start("approve x", "t1")
        await made.until("t1", "resting")
        await made.start("more", "t2")
        await until(lambda: bool(made.outbox._behind))
        assert (await made.until("t2", "resting")).error is None
        session = made.runtime.session("june", "s1")
        pending = await session.pending()
        assert pending is not None
        await session.resume("t1", pending.id, True, by="cli:ada")
        await made.mark("t1")  # in earnest, the answer's own write does that
        await made.until("t1", "sending")
        made.gates.gate("x").set()
        await made.until("t2", "done")
        shown = made.platform.at("s1")
        assert shown.index("after that") < shown.index("re: more")
        assert not made.outbox._behind


async def test_who_wrote_before_the_park_is_told_who_is_waited_for(store: SessionStore) -> None:
    async with desk(store) as made:
        await made.start("approve x", "t1")
        await made.until("t1", "resting")
        await made.start("more", "t2")
        await made.until("t2", "resting")
        parts = [row.part for row in await made.ledger.deliveries(turn_id="t2")]
        assert sorted(parts) == [QUEUED, REPLY]


async def test_who_waits_behind_a_park_doesnt_hold_the_place_against_its_card(
    store: SessionStore,
) -> None:
    """Who wrote before it parked has the older view: a card behind that would never be decided on."""
    async with desk(store) as made:
        await made.start("approve x", "t1")
        row = await made.until("t1", "resting")
        await made.start("more", "t2")
        await made.until("t2", "resting")
        await made.ledger.note([opened(row.turn, "card:r1", row.lane, made.hand.now())])
        made.outbox.wake()
        card = (await made.row("t1", "card:r1")).id
        await until(lambda: ("deliver", card) in made.channel.seen)


async def test_who_waited_behind_a_park_is_shown_as_soon_as_that_was_told(
    memory: SessionStore,
) -> None:
    """It was put off for a minute by then."""
    async with desk(memory) as made:
        await made.start("approve x", "t1")
        await made.until("t1", "resting")
        await made.start("more", "t2")
        await made.time.sleep(70)
        session = made.runtime.session("june", "s1")
        pending = await session.pending()
        assert pending is not None
        await session.resume("t1", pending.id, True, by="cli:ada")
        await made.mark("t1")
        made.gates.gate("x").set()
        first = await made.until("t1", "done")
        assert first.seq > 0
        began = made.time.monotonic()
        await made.until("t2", "done")
        assert made.time.monotonic() - began < 10


# -- what can't be delivered ---------------------------------------------------------------------------
async def test_a_channel_that_asks_for_time_gets_it(store: SessionStore) -> None:
    refusals, an_hour = 2, 3_600_000

    async def fault(when: str, _: str) -> None:
        nonlocal refusals
        if when == "meant" and refusals:
            refusals -= 1
            raise RetryLater(Millis(made.hand.now() + an_hour), "too many requests")

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        for left in (1, 0):
            await until(lambda: refusals == left)  # noqa: B023 - looked at within this round
            row = await made.until("t1", "due", error="later: too many requests (since ")
            assert an_hour * 0.9 < row.next_try - made.hand.now() <= an_hour
            made.hand.pass_hours(1)
        await made.until("t1", "done")
        assert made.platform.at("s1") == ["re: hello"]
        assert [way for way, _ in made.channel.seen] == ["deliver"] * 3


async def test_a_dead_letter_says_why_and_comes_back_when_asked(store: SessionStore) -> None:
    gone = True

    async def fault(when: str, _: str) -> None:
        if gone and when == "before":
            raise Undeliverable("is_archived", "the channel is archived", "installation:T1")

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        row = await made.until("t1", "dead")
        assert row.error == "is_archived: the channel is archived"
        assert row.revive_on == "installation:T1"
        await made.mark("t1")
        assert (await made.row("t1")).state == "dead"
        gone = False
        assert await made.ledger.retry(revive_on="installation:T1", now=made.hand.now()) == 1
        made.outbox.wake()
        await made.until("t1", "done")
        assert made.platform.at("s1") == ["re: hello"]


async def test_what_brings_a_letter_back_while_it_is_put_down_isnt_missed(
    memory: SessionStore,
) -> None:
    gone = True

    async def fault(when: str, _: str) -> None:
        nonlocal gone
        if gone and when == "before":
            gone = False
            await made.mark("t1")
            raise Undeliverable("taken_over", "a colleague speaks", "talk")

    async with desk(memory, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        await made.until("t1", "done")
        assert made.platform.at("s1") == ["re: hello"]


@pytest.mark.parametrize(
    ("error", "named"), [(ValueError, "ValueError"), (SystemExit, "ExitRaised")]
)
async def test_a_channels_own_fault_is_logged_by_its_class_and_tried_again(
    memory: SessionStore,
    caplog: pytest.LogCaptureFixture,
    error: type[BaseException],
    named: str,
) -> None:
    faults = 1

    async def fault(when: str, _: str) -> None:
        nonlocal faults
        if when == "before" and faults:
            faults -= 1
            raise error("the secret plan is re: hello")

    async with desk(memory, platform=Platform(fault=fault)) as made:
        with caplog.at_level(logging.WARNING):
            await made.start("hello", "t1")
            await made.until("t1", "due", error=f"failed: {named}")
            await made.until("t1", "done")
        assert f"channel fake failed to deliver: {named}" in caplog.text
        assert "secret" not in caplog.text
        assert made.platform.at("s1") == ["re: hello"]


async def test_a_channel_that_says_nothing_about_it_is_asked_again(
    memory: SessionStore, caplog: pytest.LogCaptureFixture
) -> None:
    async with desk(memory, runs=False) as made:
        show, forgets = made.channel._show, 1

        async def forgetful(*given: object) -> None:
            nonlocal forgets
            if forgets:
                forgets -= 1
                return
            await show(*given)  # type: ignore[arg-type]

        made.channel._show = forgetful  # type: ignore[assignment, method-assign]
        async with working(made.outbox):
            await made.start("hello", "t1")
            row = await made.until("t1", "due", error="unsettled: ")
            assert row.attempts == 1
            await made.until("t1", "done")
        assert "channel fake left a delivery unsettled" in caplog.text


async def test_an_agent_that_is_gone_makes_a_dead_letter(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("hello", "t1")
        await made.runtime.session("june", "s1").result("t1")
        made.runtime.agents = {}
        async with working(made.outbox):
            row = await made.until("t1", "dead")
        assert row.error == "no_agent: there is no agent 'june' here any more"


async def test_only_who_holds_a_row_has_its_journal(memory: SessionStore) -> None:
    async with desk(memory) as made:
        await made.start("hello", "t1")
        row = await made.until("t1", "done")
        with pytest.raises(LeaseLostError):
            made.outbox.journal(row)


async def test_rows_of_channels_that_arent_here_are_left_alone(memory: SessionStore) -> None:
    async with desk(memory, sources=("other",)) as made:
        await made.start("hello", "t1")
        await asyncio.sleep(0.2)
        assert (await made.row("t1")).state == "due"
        assert made.channel.seen == []


# -- what it costs -------------------------------------------------------------------------------------
async def test_nothing_to_deliver_costs_one_small_query_a_second(
    memory: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("claim", "next_due", "renew", "forget", "deliveries", "known"):
        real = getattr(memory.ledger, name)

        def counted(
            *args: object, _real: object = real, _name: str = name, **more: object
        ) -> object:
            asked.append(_name)
            return _real(*args, **more)  # type: ignore[operator]

        monkeypatch.setattr(memory.ledger, name, counted)
    async with desk(memory) as made:
        began = made.time.monotonic()
        await made.time.sleep(25)
        seconds = made.time.monotonic() - began
    assert 10 <= len(asked) <= seconds + 2
    assert asked.count("claim") <= seconds / 10 + 2
    assert set(asked) == {"claim", "next_due"}
