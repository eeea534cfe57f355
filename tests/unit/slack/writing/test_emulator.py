"""The writer against the emulator over HTTP: what the model of Slack leaves out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress

import pytest
from typing_extensions import override

from channels.slack.api import SlackWeb
from channels.slack.calls import Outcome
from channels.slack.emulator.faults import CALL_FAULTS
from channels.slack.parsing import keys
from gateway.engine.kinds import JsonObject, Millis
from gateway.testing.slack import Fault, Playground, Shown, playground
from tests.unit.slack.tokens import OneToken
from tests.unit.slack.writing.fast import FastTime
from tests.unit.slack.writing.rig import Beat, End, Park, Rig, Turn, Use, say

A_MOMENT = 0.02
"""Seconds of this machine after which time moves on although a call is under way."""

STORY: list[Beat] = [
    say("Let me look into that for you!", every=0.5),
    Use("c1", 2.0),
    say("Order 1042 left the house on Monday and will be with you on Friday.", every=0.9),
    End(),
]


class CallTime(FastTime):
    """Nobody but a call needs a moment of this machine, however busy that is; what the emulator waits for
    comes all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.idle = asyncio.Event()

    @override
    async def advance(self, seconds: float) -> None:
        if self.calls:
            self.idle.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(A_MOMENT):
                    await self.idle.wait()
        await super().advance(seconds)


class Calling(SlackWeb):
    """Says when a call is under way."""

    def __init__(self, token: str, url: str, time: CallTime) -> None:
        super().__init__(OneToken(token), url, waits=time)
        self._time = time

    @override
    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
        with self._under_way():
            return await super().call(installation, method, args)

    @override
    async def upload(self, url: str, body: bytes) -> Outcome:
        with self._under_way():
            return await super().upload(url, body)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        self._time.calls += 1
        try:
            yield
        finally:
            self._time.calls -= 1
            self._time.idle.set()


class Behind:
    """An emulator's clock that is late by so many seconds."""

    def __init__(self, time: CallTime, seconds: float) -> None:
        self._time = time
        self._late = round(seconds * 1000)
        self.monotonic, self.sleep, self.call_at = time.monotonic, time.sleep, time.call_at

    def now(self) -> Millis:
        return Millis(self._time.now() - self._late)


@asynccontextmanager
async def acme(late: float = 0.0) -> AsyncIterator[tuple[Playground, SlackWeb, CallTime]]:
    time = CallTime()
    async with playground(Behind(time, late)) as ground, time.running():
        api = Calling(ground.june.token, ground.slack.api_url, time)
        await api.open()
        try:
            yield ground, api, time
        finally:
            await api.close()


async def told(
    beats: Sequence[Beat],
    ground: Playground,
    api: SlackWeb,
    time: CallTime,
    *,
    left: bool = False,
) -> tuple[Rig, list[Shown]]:
    asked = await ground.ada.say(ground.support, "where is order 1042?")
    if left:
        ground.slack.world.channels[ground.support.id].members.remove(ground.ada.id)
    target = keys.target(
        installation=ground.acme.id,
        team=ground.acme.id,
        channel=ground.support.id,
        thread=asked.ts,
        recipient=(ground.ada.id, ground.acme.id),
        title="where is order 1042?",
    )
    rig = Rig(Turn(beats, time, time.clock), api, time, time.clock, target=target)
    await rig.deliver()
    return rig, ground.slack.thread(ground.support, asked.ts)[1:]


def read(shown: Sequence[Shown]) -> list[list[str]]:
    return [
        [str(block.get("text", block.get("title"))).strip() for block in message.blocks]
        for message in shown
    ]


async def test_a_reply_with_a_task() -> None:
    async with acme() as (ground, api, time):
        _, shown = await told(STORY, ground, api, time)
        assert read(shown) == [
            [
                "Let me look into that for you!",
                "Find order",
                "Order 1042 left the house on Monday and will be with you on Friday.",
            ]
        ]
        assert [task.status for task in shown[0].tasks] == ["complete"]
        journal = ground.slack.journal
        assert journal.calls[0].method == "agents.sessions.setStatus"
        assert not journal.overlaps
        assert not journal.limited
        assert all(call.ok for call in journal.calls)
        (session,) = ground.slack.world.sessions.values()
        assert (session.title, session.initiator) == ("where is order 1042?", ground.ada.id)
        assert session.status == "active"


async def test_a_session_begins_without_a_name_where_whoever_asked_has_left() -> None:
    async with acme() as (ground, api, time):
        _, shown = await told([say("It is sent."), End()], ground, api, time, left=True)
        assert read(shown) == [["It is sent."]]
        named, plain = ground.slack.journal.of("agents.sessions.setStatus")[:2]
        assert (named.error, plain.ok) == ("user_not_in_channel", True)
        (session,) = ground.slack.world.sessions.values()
        assert (session.status, session.title) == ("active", "")


async def test_a_parked_turn_is_suspended_until_somebody_decides() -> None:
    async with acme() as (ground, api, time):
        beats: list[Beat] = [say("I'll ask."), Park(), say("It is refunded."), End()]
        _, shown = await told(beats, ground, api, time)
        assert read(shown) == [["I'll ask."], ["It is refunded."]]
        told_of = [
            call.arguments.get("session_status") or call.arguments.get("status")
            for call in ground.slack.journal.of("agents.sessions.setStatus", "chat.stopStream")
        ]
        assert told_of[0] == "processing"
        assert "suspended" in told_of
        assert told_of[-1] == "active"


async def test_a_file_of_the_answer_lies_in_the_thread() -> None:
    async with acme() as (ground, api, time):
        given: JsonObject = {"name": "list.md", "text": "- one\n"}
        beats: list[Beat] = [say("Here."), Use("f1", 0.1, tool="attach_file", given=given), End()]
        await told(beats, ground, api, time)
        # One that took too long to upload lies about, and nobody is shown it.
        (file,) = [one for one in ground.slack.world.files.values() if one.shares]
        assert (file.name, file.body, file.ready) == ("list.md", b"- one\n", True)
        assert list(file.shares) == [ground.support.id]


async def test_a_stream_is_turned_over_before_it_dies() -> None:
    async with acme() as (ground, api, time):
        text = " ".join(f"Line {n} of what takes long to say." for n in range(60))
        _, shown = await told([say(text, every=10.0, size=40), End()], ground, api, time)
        assert "".join(" ".join(m.text for m in shown).split()) == "".join(text.split())
        assert len(shown) >= 2
        assert not any(message.broken for message in shown)


@pytest.mark.parametrize("late", [290.0, -290.0])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.startStream"])
async def test_a_lost_answer_is_found_by_a_host_whose_clock_is_off(
    late: float, method: str
) -> None:
    """By as much as a request's signature may be old or early."""
    async with acme(late) as (ground, api, time):
        ground.slack.faults.add(Fault("drop_after", method))
        every = 0.0 if method == "chat.postMessage" else 0.5
        if not every:
            ground.slack.faults.add(Fault("not_ok", "chat.startStream", error="unknown_method"))
        _, shown = await told([say("It is sent, they say.", every=every), End()], ground, api, time)
        assert read(shown) == [["It is sent, they say."]]


FAULTS = sorted(CALL_FAULTS - {"user_stops"})
METHODS = [
    "agents.sessions.setStatus",
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", FAULTS)
async def test_a_fault_leaves_no_trace(kind: str, method: str) -> None:
    async with acme() as (ground, api, time):
        fault = ground.slack.faults.add(Fault(kind, method, seconds=2.0))  # type: ignore[arg-type]
        _, shown = await told(STORY, ground, api, time)
        assert fault.struck == 1
        assert read(shown) == [
            [
                "Let me look into that for you!",
                "Find order",
                "Order 1042 left the house on Monday and will be with you on Friday.",
            ]
        ]
        assert not any(message.broken or message.streaming == "in_progress" for message in shown)
        assert not ground.slack.pinged
