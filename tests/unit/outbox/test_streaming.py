"""What a renderer is given: events without a gap, and the turn as it stands."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest
from typing_extensions import override

from channels.protocol import Card
from gateway.engine.agent import AgentDef
from gateway.engine.errors import NotFoundError
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ledger import Delivery
from gateway.engine.model import ModelReply
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.runtime import Runtime
from gateway.engine.struct import replace
from gateway.models.scripted import ScriptedModel
from gateway.outbox.reference import reference_of
from gateway.outbox.stream import turn_stream
from gateway.outbox.view import turn_view
from gateway.sinks.local import LocalSink, LocalSubscription
from tests.unit.outbox.kit import ADA, Desk, desk, opened
from tests.unit.outbox.platform import SOURCE


class Counting(LocalSink):
    """Cuts a reader soon, and counts how often one comes."""

    visits = 0

    @override
    def subscribe(
        self, ref: SessionRef, turn_id: str
    ) -> AbstractAsyncContextManager[LocalSubscription]:
        self.visits += 1
        return super().subscribe(ref, turn_id)


async def test_a_reader_that_was_cut_goes_on_without_a_gap(memory: SessionStore) -> None:
    """It stops reading at the first words, while the turn tells all the others."""

    def reply(_: object) -> ModelReply:
        return ModelReply.say(" ".join(f"word{n}" for n in range(200)))

    sink = Counting(frames=8)
    agent = AgentDef(name="june", model=ScriptedModel(reply, chunks=100, latency=0.3))
    async with Runtime({"june": agent}, memory, sink) as runtime:
        row = opened(0, "reply", "C1", Millis(1))
        session = runtime.session("june", "s1")
        await session.start(TurnInput(message="hi", turn_id="t1", source=SOURCE, companions=(row,)))
        (delivery,) = await memory.ledger.deliveries(turn_id="t1")
        seen: list[TurnEvent] = []
        async for event in turn_stream(runtime, delivery):
            seen.append(event)
            if event.type == "message.delta":
                await session.result("t1")
        assert sink.visits == 2
        seqs = [event.seq for event in seen if event.seq is not None]
        assert seqs == list(range(1, len(seqs) + 1))
        assert seen[-1].type == "turn.completed"


async def read(made: Desk, delivery: Delivery) -> list[str]:
    async with asyncio.timeout(5):
        return [event.type async for event in turn_stream(made.runtime, delivery)]


async def test_it_ends_where_the_turn_rests(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("approve", "t1")
        row = await made.row("t1")
        kinds = await read(made, row)
        assert kinds[-1] == "input.requested"
        parked = replace(row, seq=len([kind for kind in kinds if "." in kind]))
        session = made.runtime.session("june", "s1")
        seen = (await session.snapshot("t1")).last_seq
        assert await read(made, replace(parked, seq=seen)) == []
        pending = await session.pending()
        assert pending is not None
        await session.resume("t1", pending.id, True, by="cli:ada")
        rest = await read(made, replace(row, seq=seen))
        assert (rest[0], rest[-1]) == ("input.answered", "turn.completed")
        # Replayed from the start, the request that was answered is passed by.
        whole = await read(made, row)
        assert whole[-1] == "turn.completed"
        last = (await session.snapshot("t1")).last_seq
        assert await read(made, replace(row, seq=last)) == []


async def test_a_turn_that_isnt_here_is_said(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("hello", "t1")
        row = await made.row("t1")
        for wrong in (replace(row, turn_id="t9"), replace(row, agent="nobody")):
            with pytest.raises(NotFoundError):
                await read(made, wrong)


# -- the turn as it stands -----------------------------------------------------------------------------
async def view(made: Desk, turn_id: str, card: Card | None = None) -> tuple[object, ...]:
    asked: list[str] = []

    async def read_card(request: str) -> Card | None:
        asked.append(request)
        return card

    found = await turn_view(made.runtime, await made.row(turn_id), read_card)
    assert found.reference == reference_of(turn_id)
    assert (found.speaker, found.event) == (ADA, {"n": 1})
    return found.state, found.cancelled, asked


async def test_a_view_says_who_waits_for_what(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("approve", "t1")
        session = made.runtime.session("june", "s1")
        await session.result("t1")
        await made.start("more", "t2")
        pending = await session.pending()
        assert pending is not None
        assert await view(made, "t1") == ("suspended", None, [])
        assert await view(made, "t2") == ("queued", None, [pending.id])
        await session.cancel("t2")
        assert await view(made, "t2") == ("cancelled", "requested", [])
        await session.reset()
        assert await view(made, "t1") == ("cancelled", "reset", [])


async def test_a_view_of_a_turn_that_is_about_to_be_stopped(memory: SessionStore) -> None:
    async with desk(memory, runs=False) as made:
        await made.start("hold x", "t1")
        async with asyncio.timeout(5):
            while "x" not in made.gates.begun:
                await asyncio.sleep(0.01)
        await made.runtime.session("june", "s1").cancel("t1")
        assert (await view(made, "t1"))[:2] == ("running", "requested")
