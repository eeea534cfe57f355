"""Following a turn: whatever becomes of a reader, the union of what its visits saw is the log."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from gateway.engine.events import MessageDeltaEvent
from gateway.engine.kinds import Millis
from tests.support.http import Client, Frame
from tests.unit.host.world import running, until

S1 = "/agents/june/sessions/s1"
EVENTS = f"{S1}/turns/t1/events"
JSON = {"Accept": "application/json"}


async def start(client: Client, message: str) -> None:
    answer = await client.post(f"{S1}/turn?detach=1", {"message": message, "turn_id": "t1"})
    assert answer.status == 202


async def finished(client: Client, message: str) -> list[int]:
    """A turn that ended; the seqs of its log."""
    await start(client, message)
    async with client.stream("GET", EVENTS) as stream:
        return [frame.id for frame in await stream.rest() if frame.id is not None]


async def visit(client: Client, after: int | None, most: int) -> list[Frame]:
    """Read up to ``most`` durable events, then drop the connection without a word."""
    seen: list[Frame] = []
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    async with client.stream("GET", EVENTS, headers=headers) as stream:
        async for frame in stream.frames():
            if frame.id is not None:
                seen.append(frame)
            if len(seen) >= most:
                stream.response.close()
                break
    return seen


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_reader_killed_at_every_cursor_misses_nothing(store: str, tmp_path: Path) -> None:
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/june.db"
    async with running(url) as gateway:
        seqs = await finished(gateway.client, "call vanished")
        assert seqs == list(range(1, len(seqs) + 1))
        log = (await gateway.client.get(EVENTS, JSON)).rows("events")
        for cut in range(1, len(seqs)):
            first = await visit(gateway.client, None, cut)
            rest = await visit(gateway.client, first[-1].id, len(seqs))
            assert [frame.data for frame in (*first, *rest)] == log
        ended = await gateway.client.get(EVENTS, {"Last-Event-ID": str(seqs[-1])})
        assert (ended.status, ended.raw) == (204, b"")


async def test_a_reader_killed_at_every_cursor_of_a_turn_that_runs() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        await start(gateway.client, "call wait")
        await gateway.world.running.wait()
        so_far = (await gateway.client.get(EVENTS, JSON)).rows("events")
        first = [await visit(gateway.client, None, cut) for cut in range(1, len(so_far) + 1)]
        rest = [tasks.create_task(visit(gateway.client, seen[-1].id, 99)) for seen in first]
        await asyncio.sleep(0.05)
        gateway.world.gate.set()
        whole = [[*seen, *await task] for seen, task in zip(first, rest, strict=True)]
        log = (await gateway.client.get(EVENTS, JSON)).rows("events")
        assert log[-1]["type"] == "turn.completed"
        assert len(whole) >= 3
        for frames in whole:
            assert [frame.data for frame in frames] == log


async def test_the_header_goes_before_the_query_of_the_first_visit() -> None:
    async with running() as gateway:
        await finished(gateway.client, "hi")
        async with gateway.client.stream(
            "GET", f"{EVENTS}?after=0", headers={"Last-Event-ID": "3"}
        ) as stream:
            assert [frame.id for frame in await stream.rest()] == [4]


async def test_a_stream_stays_open_over_a_park() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        body = {"message": "call gift 1", "session": "s1", "turn_id": "t1"}
        parked = await gateway.client.post("/message", body)
        reading = tasks.create_task(visit(gateway.client, None, 99))
        await asyncio.sleep(0.05)
        assert not reading.done()
        request = parked.json["request"]
        assert isinstance(request, dict)
        await gateway.client.post(f"/approvals/{request['id']}", {"value": True})
        kinds = [frame.event for frame in await reading]
        assert kinds.index("input.requested") < kinds.index("input.answered")
        assert kinds[-1] == "turn.completed"


async def test_headers_and_heartbeats() -> None:
    async with running(heartbeat=0.05) as gateway:
        await start(gateway.client, "call wait")
        async with gateway.client.stream("GET", EVENTS) as stream, asyncio.TaskGroup() as tasks:
            headers = stream.response.headers
            assert headers["Cache-Control"] == "no-store"
            assert headers["X-Accel-Buffering"] == "no"
            assert "Content-Encoding" not in headers
            assert "Content-Length" not in headers
            reading = tasks.create_task(stream.rest())
            await asyncio.sleep(0.2)
            gateway.world.gate.set()
            await reading
            assert stream.comments[0] == "open"
            assert stream.comments.count("alive") >= 2


async def test_two_readers_see_the_same_and_one_driver_runs() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        await start(gateway.client, "call wait")
        both = [tasks.create_task(visit(gateway.client, None, 99)) for _ in range(2)]
        await gateway.world.running.wait()
        gateway.world.gate.set()
        one, two = [await task for task in both]
        assert one == two
        turns = (await gateway.client.get("/turns")).rows("turns")
        assert [turn["attempts"] for turn in turns] == [1]


async def test_readers_that_come_and_go_leave_nothing() -> None:
    async with running(heartbeat=0.02) as gateway:
        await start(gateway.client, "call wait")
        await gateway.world.running.wait()
        for _ in range(60):
            await visit(gateway.client, None, 1)
        ref = gateway.api.runtime.session("june", "s1").ref
        await until(lambda: not gateway.api.runtime.sink.watched(ref))
        await until(lambda: gateway.api.metrics.readers == 0)
        assert not gateway.api.streams


async def test_a_turn_is_read_under_its_own_session_only() -> None:
    async with running() as gateway:
        await finished(gateway.client, "hi")
        for path in (
            "/agents/june/sessions/s2/turns/t1",
            "/agents/june/sessions/s2/turns/t1/events",
        ):
            assert (await gateway.client.get(path)).status == 404


async def test_a_reader_that_does_not_read_is_cut_and_comes_back() -> None:
    """It holds its connection open and reads nothing, while megabytes are said."""
    async with running(stall=0.3) as gateway:
        host, _, port = gateway.client.url.removeprefix("http://").partition(":")
        await start(gateway.client, "call wait")
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(slow, (host, int(port)))
            await loop.sock_sendall(slow, f"GET {EVENTS} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            await until(lambda: gateway.api.metrics.readers == 1)
            for _ in range(200):
                await gateway.api.runtime.sink.publish(
                    gateway.api.runtime.session("june", "s1").ref, [big_delta()]
                )
                await asyncio.sleep(0)
            await until(lambda: gateway.api.metrics.readers == 0)
            assert gateway.api.metrics.readers_cut >= 1
        finally:
            slow.close()
        gateway.world.gate.set()
        frames = await visit(gateway.client, 1, 99)
        assert frames[-1].event == "turn.completed"


def big_delta() -> MessageDeltaEvent:
    text = "x" * 100_000
    return MessageDeltaEvent(turn_id="t1", session="s1", at=Millis(0), text=text, block=0, offset=0)


async def test_streams_are_told_and_end_when_the_host_stops() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        await start(gateway.client, "call wait")
        await gateway.world.running.wait()
        async with gateway.client.stream("GET", EVENTS) as stream:
            reading = tasks.create_task(stream.rest())
            await asyncio.sleep(0.05)
            gateway.api.drain()
            await asyncio.sleep(0.05)
            assert not reading.done(), "what still finishes is still told"
            gateway.api.end_streams()
            frames = await reading
            assert [frame.event for frame in frames][-2:] == ["action.requested", "usage"]
            assert any("stopping" in comment for comment in stream.comments)
