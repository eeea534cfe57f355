"""A send whose outcome isn't known: looked up before anything is sent again, and given up in the end."""

from __future__ import annotations

import asyncio

import pytest

from channels.contract import SETTLING, RetryLater
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Delivery, Part, PartKind
from gateway.engine.ports import SessionStore
from tests.unit.outbox.kit import Desk, desk, until, working
from tests.unit.outbox.platform import SOURCE, Lost, Platform, Post


async def test_an_answer_that_was_lost_doesnt_post_twice(store: SessionStore) -> None:
    faults = 1

    async def fault(when: str, _: str) -> None:
        nonlocal faults
        if when == "after" and faults:
            faults -= 1
            raise Lost

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        row = await made.until("t1", "done")
        assert made.platform.at("s1") == ["re: hello"]
        assert [way for way, _ in made.channel.seen] == ["deliver", "reconcile", "deliver"]
        (part,) = row.parts
        assert (part.state, part.ref, part.acked) == ("open", "m1", len("re: hello"))


async def test_what_never_arrived_is_sent_again(store: SessionStore) -> None:
    faults = 1

    async def fault(when: str, _: str) -> None:
        nonlocal faults
        if when == "before" and faults:
            faults -= 1
            raise Lost

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        # What is slow on its way could still arrive: it is waited for first.
        waits = await made.until("t1", "due", error="unknown: it isn't there, and may still appear")
        assert waits.next_try == waits.parts[0].opened_at + SETTLING
        row = await made.until("t1", "done")
        assert row.parts[1].opened_at >= waits.next_try
        assert made.platform.at("s1") == ["re: hello"]
        assert [part.state for part in row.parts] == ["gone", "open"]


async def test_what_nobody_can_tell_is_never_sent_again(store: SessionStore) -> None:
    async def fault(when: str, _: str) -> None:
        if when == "after":
            raise Lost

    async with desk(store, platform=Platform(fault=fault)) as made:
        made.channel.blind = True
        await made.start("hello", "t1")
        await made.until("t1", "due", error="unknown: history can't be read (since ")
        looks = len(made.channel.seen)
        await until(lambda: len(made.channel.seen) > looks + 1)
        made.hand.pass_hours(23)
        made.outbox.wake()
        looks = len(made.channel.seen)
        await until(lambda: len(made.channel.seen) > looks + 1)
        assert (await made.row("t1")).state != "dead"
        made.hand.pass_hours(1.1)
        made.outbox.wake()
        row = await made.until("t1", "dead")
        assert row.error == "cant_tell: history can't be read, for a whole day"
        assert len(made.platform.posts) == len(made.platform.calls) == 1
        # Somebody looked for themselves, and asks for another try: it goes on where it was.
        made.channel.blind, made.platform.fault = False, None
        assert await made.ledger.retry(id=row.id, now=made.hand.now()) == 1
        made.outbox.wake()
        await made.until("t1", "done")
        assert len(made.platform.posts) == 1


async def test_the_same_trouble_for_a_day_is_given_up(store: SessionStore) -> None:
    async def fault(when: str, _: str) -> None:
        if when == "meant":
            raise RetryLater(Millis(made.hand.now() + 300), "too many requests")

    async with desk(store, platform=Platform(fault=fault)) as made:
        await made.start("hello", "t1")
        first = await made.until("t1", "due", error="later: too many requests (since ")
        made.hand.pass_hours(12)
        made.outbox.wake()
        looks = len(made.channel.seen)
        await until(lambda: len(made.channel.seen) > looks + 1)
        assert (await made.until("t1", "due", "sending")).error == first.error
        made.hand.pass_hours(12.1)
        made.outbox.wake()
        row = await made.until("t1", "dead")
        assert row.error == "gave_up: too many requests, for a whole day"


# -- what a process that was killed left behind --------------------------------------------------------
async def cut_off(made: Desk, kind: PartKind) -> Delivery:
    """A row whose sender died between the post and its journal."""
    await made.start("hello", "t1", wake=False)
    await made.runtime.session("june", "s1").result("t1")
    (row,) = await made.ledger.claim("host-dead", (SOURCE,), made.hand.now(), Millis(0), 5)
    part = Part(
        delivery=row.id,
        n=1,
        kind=kind,
        state="opening",
        nonce="n1",
        opened_at=made.hand.now(),
        start=99,
        end=9,
        hash="h",
        extra="re: hello",
    )
    # Its lease is over, but nobody took the row yet: the last write still goes through.
    await made.ledger.journal(row.token, [part])
    made.platform.posts.append(Post("m1", "s1", "re: hello", "n1"))
    return row  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("kind", "state", "acked"), [("stream", "broken", 0), ("post", "open", 9), ("card", "open", 9)]
)
async def test_what_is_found_after_a_kill_is_taken_up(
    memory: SessionStore, kind: PartKind, state: str, acked: int
) -> None:
    async with desk(memory, runs=False) as made:
        row = await cut_off(made, kind)
        async with working(made.outbox):
            done = await made.until("t1", "done")
        assert made.channel.seen == [("reconcile", row.id), ("deliver", row.id)]
        assert made.channel.found == [(True, [(kind, state, "m1")])]
        assert (done.parts[0].acked, done.parts[0].hash) == (acked, "h")


async def test_a_process_that_starts_finds_the_rows_of_one_that_was_killed(
    store: SessionStore,
) -> None:
    async with desk(store, runs=False) as made:
        await cut_off(made, "post")
        async with working(made.outbox), asyncio.timeout(5):
            await made.until("t1", "done")
        assert made.platform.at("s1") == ["re: hello"]
