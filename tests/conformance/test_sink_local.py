"""The in-process sink passes the suite, and costs next to nothing while nobody listens."""

from __future__ import annotations

import asyncio
import time

import pytest
from typing_extensions import override

from gateway.engine.kinds import SessionRef
from gateway.engine.ports import EventSink
from gateway.sinks.local import LocalSink
from tests.conformance.sink_suite import QUIET, REF, SOON, SinkSuite, delta


class TestLocalSink(SinkSuite):
    @pytest.fixture
    @override
    def sink(self) -> EventSink:
        return LocalSink()

    async def test_publishing_to_nobody_is_cheap(self) -> None:
        """The bound is generous for a busy machine; by itself it takes well under 1 µs."""
        sink = LocalSink()
        frame = [delta(1)]
        best = float("inf")
        async with sink.subscribe(SessionRef("june", "another"), "t9"):
            for _ in range(5):
                begin = time.perf_counter()
                for _ in range(1000):
                    await sink.publish(REF, frame)
                best = min(best, (time.perf_counter() - begin) / 1000)
        assert best < 5e-6

    async def test_a_subscription_has_one_reader_at_a_time(self) -> None:
        async with LocalSink().subscribe(REF, "t1") as reader, asyncio.TaskGroup() as tasks:
            first = tasks.create_task(reader.next(SOON))
            await asyncio.sleep(0)
            with pytest.raises(RuntimeError, match="one task at a time"):
                await reader.next(SOON)
            first.cancel()

    async def test_a_subscription_ends_with_its_block(self) -> None:
        sink = LocalSink()
        async with sink.subscribe(REF, "t1") as reader:
            await sink.publish(REF, [delta(1)])
        assert await reader.next(SOON) is None
        assert not reader.lagged

    async def test_a_cut_reader_frees_its_frames_at_once(self) -> None:
        sink = LocalSink(frames=2)
        async with sink.subscribe(REF, "t1") as reader:
            await sink.publish(REF, [delta(1), delta(2), delta(3)])
            assert reader.lagged
            assert await reader.next(QUIET) is None

    def test_the_bound_must_make_sense(self) -> None:
        with pytest.raises(ValueError, match="at least 1 frame"):
            LocalSink(frames=0)
