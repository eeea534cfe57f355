"""The outbox is told to look after what may have made something due, and after nothing else."""

from __future__ import annotations

from gateway.engine import events as ev
from gateway.engine.kinds import Millis, SessionRef
from gateway.host.channels.waking import WakingSink
from gateway.sinks.local import LocalSink

REF = SessionRef("june", "s1")


async def test_it_is_told_behind_the_readers_and_not_of_every_word() -> None:
    sink, told = WakingSink(LocalSink()), list[bool]()
    queued = ev.TurnQueued(turn_id="t", session="s1", at=Millis(1), position=0)
    delta = ev.MessageDeltaEvent(
        turn_id="t", session="s1", at=Millis(2), text="a", block=0, offset=0
    )
    done = ev.MessageCompleted(turn_id="t", session="s1", at=Millis(3), seq=1, text="a", message=1)
    async with sink.subscribe(REF, "t") as reader:
        await sink.publish(REF, [queued])
        assert await reader.next(0) == queued, "without anybody to wake it passes everything on"
        sink.wake = lambda: told.append(sink.watched(REF))
        await sink.publish(REF, [delta])
        assert told == []
        await sink.publish(REF, [delta, done])
        assert told == [True]
        assert [await reader.next(0) for _ in range(3)] == [delta, delta, done]
    await sink.publish(REF, [queued])
    assert told == [True, False]
