"""What every ``EventSink`` must do. A subclass makes the sink and inherits the tests.

Frames are compared whole: a sink that carries them through another process must bring back the
same event, not one that resembles it.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from gateway.engine.events import (
    ActionCompleted,
    ActionRequested,
    InputRequested,
    MessageCompleted,
    MessageDeltaEvent,
    ModelRetrying,
    TurnCompleted,
    TurnEvent,
    TurnQueued,
    TurnStarted,
)
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.messages import ToolCall
from gateway.engine.ports import SINK_SEAM_VERSION, EventSink, Subscription

REF = SessionRef("june", "slack:T1:C1:1700000000.000100")
QUIET = 0.05
"""How long a test waits before it believes that nothing comes."""
SOON = 5.0


def delta(number: int, turn_id: str = "t1") -> MessageDeltaEvent:
    return MessageDeltaEvent(
        turn_id=turn_id,
        session=REF.key,
        at=Millis(number),
        text=f"[{number}]",
        block=0,
        offset=number,
    )


def one_of_many_kinds(turn_id: str = "t1") -> list[TurnEvent]:
    """A turn's worth of frames: durable and live, plain and nested."""
    at, key = Millis(1_700_000_000_000), REF.key
    call = ToolCall(id="c1", name="refund", input={"order": "1042", "lines": [1, None, 2.5]})
    return [
        TurnQueued(turn_id=turn_id, session=key, at=at, position=2),
        TurnStarted(turn_id=turn_id, session=key, at=at, seq=1, trigger="inbound", by="slack:T1:U1"),
        ModelRetrying(turn_id=turn_id, session=key, at=at, attempt=1, delay=0.5, error="overload"),
        MessageDeltaEvent(turn_id=turn_id, session=key, at=at, text="é\n\u2028🙂", block=0, offset=0),
        MessageCompleted(turn_id=turn_id, session=key, at=at, seq=2, text="é\n\u2028🙂", message=1),
        ActionRequested(turn_id=turn_id, session=key, at=at, seq=3, call=call, message=1),
        ActionCompleted(
            turn_id=turn_id, session=key, at=at, seq=4, call_id="c1", name="refund",
            result="{}", error="QuotaError: none left", duration=Millis(12), message=2,
        ),
        InputRequested(
            turn_id=turn_id, session=key, at=at, seq=5, id="r1", name="approve", prompt="Refund?",
            schema={"type": "boolean"}, answerers={"policy": "refunds"}, digest="d" * 64,
            expires_at=Millis(1_700_000_900_000),
        ),
        TurnCompleted(turn_id=turn_id, session=key, at=at, seq=6, text="Done.", totals={"calls": 2}),
    ]  # fmt: skip


async def take(reader: Subscription, count: int) -> list[TurnEvent]:
    taken: list[TurnEvent] = []
    for _ in range(count):
        event = await reader.next(SOON)
        assert event is not None, f"only {len(taken)} of {count} frames came"
        taken.append(event)
    return taken


class SinkSuite:
    """``bound`` is how many frames a reader may fall behind."""

    bound: int = 256

    @pytest.fixture
    def sink(self) -> EventSink:
        raise NotImplementedError("a subclass makes the sink")

    async def test_speaks_this_seam(self, sink: EventSink) -> None:
        assert sink.seam_version == SINK_SEAM_VERSION

    async def test_frames_arrive_whole_and_in_order(self, sink: EventSink) -> None:
        events = one_of_many_kinds()
        async with sink.subscribe(REF, "t1") as reader:
            await sink.publish(REF, events[:3])
            await sink.publish(REF, events[3:])
            assert await take(reader, len(events)) == events
            assert await reader.next(QUIET) is None
            assert not reader.lagged

    async def test_a_reader_that_waits_is_woken(self, sink: EventSink) -> None:
        async with sink.subscribe(REF, "t1") as reader, asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(reader.next(SOON))
            await asyncio.sleep(QUIET)
            assert not waiting.done()
            await sink.publish(REF, [delta(1)])
            assert await waiting == delta(1)

    async def test_silence_ends_the_wait_but_not_the_subscription(self, sink: EventSink) -> None:
        async with sink.subscribe(REF, "t1") as reader:
            assert await reader.next(QUIET) is None
            assert not reader.lagged
            await sink.publish(REF, [delta(1)])
            assert await reader.next(SOON) == delta(1)

    async def test_a_cancelled_wait_loses_nothing(self, sink: EventSink) -> None:
        async with sink.subscribe(REF, "t1") as reader, asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(reader.next(SOON))
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            waiting = tasks.create_task(reader.next(SOON))
            await asyncio.sleep(0)
            await sink.publish(REF, [delta(1), delta(2)])
            waiting.cancel()  # the frame may be on its way to the reader already
            await asyncio.wait([waiting])
            rest = [delta(1), delta(2)] if waiting.cancelled() else [delta(2)]
            assert await take(reader, len(rest)) == rest

    async def test_only_the_turn_that_was_asked_for(self, sink: EventSink) -> None:
        other = SessionRef("june", "another")
        twin = SessionRef("july", REF.key)
        async with sink.subscribe(REF, "t1") as reader:
            await sink.publish(other, [delta(1)])
            await sink.publish(twin, [delta(2)])
            await sink.publish(REF, [delta(3, "t2"), delta(4)])
            assert await reader.next(SOON) == delta(4)
            assert await reader.next(QUIET) is None

    async def test_a_reader_sees_what_happens_after_it_came(self, sink: EventSink) -> None:
        await sink.publish(REF, [delta(1)])
        async with sink.subscribe(REF, "t1") as reader:
            await sink.publish(REF, [delta(2)])
            assert await reader.next(SOON) == delta(2)
            assert await reader.next(QUIET) is None

    async def test_readers_do_not_share_frames(self, sink: EventSink) -> None:
        async with sink.subscribe(REF, "t1") as one, sink.subscribe(REF, "t1") as two:
            await sink.publish(REF, [delta(1), delta(2)])
            assert await take(one, 2) == await take(two, 2) == [delta(1), delta(2)]

    async def test_a_reader_that_does_not_read_is_cut(self, sink: EventSink) -> None:
        async with sink.subscribe(REF, "t1") as slow, sink.subscribe(REF, "t1") as quick:
            for number in range(self.bound * 2):
                async with asyncio.timeout(SOON):
                    await sink.publish(REF, [delta(number)])
                assert await quick.next(SOON) == delta(number)
            while await slow.next(QUIET) is not None:
                pass
            assert slow.lagged, "a reader this far behind must be told"
            assert not quick.lagged, "and its neighbour must not notice"
            await sink.publish(REF, [delta(-1)])
            assert await slow.next(QUIET) is None, "once cut, it stays cut: no gap is papered over"
            assert await quick.next(SOON) == delta(-1)

    async def test_a_full_queue_is_not_yet_a_lag(self, sink: EventSink) -> None:
        async with sink.subscribe(REF, "t1") as reader:
            events = [delta(number) for number in range(self.bound)]
            await sink.publish(REF, events)
            assert await take(reader, self.bound) == events
            assert not reader.lagged

    async def test_watched_while_somebody_reads(self, sink: EventSink) -> None:
        assert not sink.watched(REF)
        async with AsyncExitStack() as readers:
            for turn_id in ("t1", "t2", "t1"):
                await readers.enter_async_context(sink.subscribe(REF, turn_id))
                assert sink.watched(REF)
            assert not sink.watched(SessionRef("june", "another"))
        assert not sink.watched(REF)

    async def test_readers_that_come_and_go_leave_nothing(self, sink: EventSink) -> None:
        async def visit(number: int) -> None:
            async with sink.subscribe(REF, "t1") as reader:
                await sink.publish(REF, [delta(number)])
                assert await reader.next(SOON) == delta(number)
                raise ConnectionResetError

        for number in range(200):
            with pytest.raises(ConnectionResetError):
                await visit(number)
        assert not sink.watched(REF)

    async def test_nobody_listens(self, sink: EventSink) -> None:
        await sink.publish(REF, one_of_many_kinds())
        await sink.publish(REF, [])
