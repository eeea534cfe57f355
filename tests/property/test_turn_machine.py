"""Whatever is asked of a session in whatever order, crashes, freezes and thefts in between: it stands
where a plain list of turns says that it stands."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from gateway.engine.errors import (
    SessionSuspendedError,
    StaleAnswerError,
    StoreUnavailableError,
    TurnIdConflict,
)
from gateway.engine.kinds import Millis, SessionRef, TurnRow
from gateway.engine.limits import Clock, Limits
from gateway.engine.messages import Message
from gateway.engine.outcomes import TurnInput
from gateway.engine.records import NEW_TURN, DeliveryOpened, TurnRecord
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.sinks.local import LocalSink
from gateway.stores.sqlite import SqliteStore
from gateway.testing.crash import Crash
from tests.conformance.engine.ways.attentive import Attentive
from tests.property.plain import ENDED, Plain, Turn, june
from tests.support.engines import Link

T = TypeVar("T")
REF = SessionRef("june", "s")
PATIENCE = 20.0


def shown(turn: Turn) -> TurnInput:
    """A turn that is told somewhere."""
    reply = DeliveryOpened(
        turn=NEW_TURN, part="reply", source="slack", target={}, lane=turn.id, at=Millis(0)
    )
    return TurnInput(message=turn.text, turn_id=turn.id, deliver=True, companions=(reply,))


class TurnMachine(RuleBasedStateMachine):
    """Two engines share one database. Each rule does something, then waits until all is quiet."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="june-machine-")
        self.path = Path(self.folder.name) / "june.db"
        self.loop = asyncio.new_event_loop()
        self.plain = Plain()
        self.number = 0
        self.passed = 0.0
        self.links: list[Link] = []
        self.engines: list[Runtime] = []
        self.followed: set[TurnRow] = set()
        self.silent: list[str] = []
        self.do(self._start())

    @override
    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.do(self._stop())
            self.loop.close()
            self.folder.cleanup()

    # -- the world ---------------------------------------------------------------------------------
    def do(self, work: Awaitable[T]) -> T:
        async def within() -> T:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self.loop.run_until_complete(within())

    @property
    def session(self) -> Session:
        return self.engines[0].session("june", "s")

    async def _start(self) -> None:
        self.store = SqliteStore(self.path)
        await self.store.open()
        clock = Clock(
            now=lambda: Millis(1_800_000_000_000 + int(self.passed * 1000)),
            monotonic=lambda: 1000.0 + self.passed,
        )
        self.links = [Link(Attentive(self.store, self.followed, self.silent)) for _ in range(2)]
        self.engines = []
        for link in self.links:
            runtime = Runtime(
                {"june": june()}, link, LocalSink(), clock=clock, limits=Limits(max_attempts=1000)
            )
            runtime.poll = 0.02
            self.engines.append(runtime)
            await runtime.start()

    async def _stop(self) -> None:
        for engine, link in zip(self.engines, self.links, strict=True):
            link.thaw()
            engine.draining = True
            engine.stopping.set()
            await engine.deciding.close(patience=5)
            await engine.tasks.close(patience=5)
            for actor in engine.actors():
                actor.let_go()
        await self.store.close()

    async def _reborn(self) -> None:
        """Both processes die where they stand, and are started again."""
        for link in self.links:
            link.dead = True
        await self._stop()
        await self._start()

    async def _surviving(self, ask: Callable[[], Awaitable[T]]) -> T | None:
        """Do it, through the death of the process if need be: whoever asked asks again."""
        for _ in range(3):
            try:
                return await ask()
            except (Crash, StoreUnavailableError):
                await self._reborn()
        raise AssertionError("died three times")

    async def _quiet(self) -> None:
        """Until nothing moves any more, a death on the way included."""
        while True:
            if any(link.dead for link in self.links):
                await self._reborn()
            if await self._rests():
                return
            self.passed += 0.3
            await asyncio.sleep(0.003)

    async def _rests(self) -> bool:
        busy = any(a.driver or a.attempt for engine in self.engines for a in engine.actors())
        if busy:
            return False
        row = await self.store.session(REF)
        if row is None:
            return True
        if row.reset_at is not None:
            return False
        states = [found.turn.state for found in await self.store.list_turns(ref=REF, limit=1000)]
        return "suspended" in states or not {"queued", "running"} & set(states)

    def settle(self) -> None:
        self.plain.go()
        self.do(self._quiet())

    # -- rules -------------------------------------------------------------------------------------
    def _new(self, kind: str) -> Turn:
        self.number += 1
        name = f"t{self.number}"
        return Turn(name, f"{kind} {name}", self.plain.generation)

    @rule(kind=st.sampled_from(["say", "work", "ask"]), queue=st.booleans())
    def start(self, kind: str, queue: bool) -> None:
        turn = self._new(kind)
        given = shown(turn)
        when: Literal["queue", "raise"] = "queue" if queue else "raise"
        if self.plain.parked and not queue:
            with pytest.raises(SessionSuspendedError):
                self.do(self._surviving(lambda: self.session.start(given, when_suspended=when)))
        else:
            self.do(self._surviving(lambda: self.session.start(given, when_suspended=when)))
            self.plain.turns.append(turn)
        self.settle()

    @precondition(lambda self: self.plain.turns)
    @rule(data=st.data(), same=st.booleans())
    def start_again(self, data: st.DataObject, same: bool) -> None:
        turn = data.draw(st.sampled_from(self.plain.turns))
        given = shown(turn if same else replace(turn, text="other"))
        if same:
            started = self.do(self._surviving(lambda: self.session.start(given)))
            assert started is not None
            assert not started.created
        else:
            with pytest.raises(TurnIdConflict):
                self.do(self._surviving(lambda: self.session.start(given)))
        self.settle()

    @rule(kind=st.sampled_from(["say", "ask"]))
    def replace(self, kind: str) -> None:
        turn = self._new(kind)
        given = shown(turn)
        self.do(
            self._surviving(lambda: self.session.start(given, replace=True, when_suspended="queue"))
        )
        for other in self.plain.open:
            if other.state != "suspended":
                other.state = "cancelled"
        self.plain.turns.append(turn)
        self.settle()

    @precondition(lambda self: self.plain.turns)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.plain.turns))
        self.do(self._surviving(lambda: self.session.cancel(turn.id)))
        if turn.state not in ENDED:
            turn.state = "cancelled"
        self.settle()

    @precondition(lambda self: self.plain.parked)
    @rule(value=st.booleans(), twice=st.booleans())
    def resume(self, value: bool, twice: bool) -> None:
        turn = self.plain.parked
        assert turn is not None

        async def answer() -> None:
            pending = await self.session.pending()
            if pending is not None and pending.turn_id == turn.id:
                await self.session.resume(turn.id, pending.id, value)
                if twice:
                    with pytest.raises(StaleAnswerError):
                        await self.session.resume(turn.id, pending.id, not value)

        self.do(self._surviving(answer))
        turn.state = "completed"
        self.settle()

    @rule()
    def reset(self) -> None:
        before = self.plain.generation

        async def ask() -> None:
            row = await self.store.session(REF)
            if row is not None and (row.generation > before or row.reset_at is not None):
                return  # it was committed before the process died
            await self.session.reset()

        self.do(self._surviving(ask))
        for turn in self.plain.open:
            turn.state = "cancelled"
        self.plain.generation += 1
        self.settle()

    @rule(points=st.integers(0, 25), engine=st.integers(0, 1))
    def crash_later(self, points: int, engine: int) -> None:
        """The next writes of this engine, from whatever rule, run into its death."""
        self.links[engine].crash_in(points)

    @rule()
    def crash_now(self) -> None:
        self.do(self._reborn())
        self.settle()

    @precondition(lambda self: not self.plain.parked)
    @rule(kind=st.sampled_from(["work", "ask"]))
    def steal(self, kind: str) -> None:
        """The engine that runs a turn freezes, the other takes the turn from it, the first thaws."""
        turn = self._new(kind)
        given = shown(turn)

        async def theft() -> None:
            await self.session.start(given, when_suspended="queue")
            await self._stolen(turn)

        self.links[0].freeze()
        self.do(self._surviving(theft))
        for link in self.links:
            link.thaw()
        self.plain.turns.append(turn)
        self.settle()

    async def _stolen(self, turn: Turn) -> None:
        while not self.links[0].frozen.is_set():
            if any(link.dead for link in self.links):
                raise Crash("while it froze")
            found = await self.store.turn(REF, turn.id)
            assert found is not None
            if found.state not in {"queued", "running"}:
                return  # the other engine was quicker
            self.passed += 0.3
            await asyncio.sleep(0.003)
        before = await self.store.session(REF)
        await asyncio.to_thread(self._forget, self.engines[0].owner)
        for _ in range(200):
            now = await self.store.session(REF)
            assert before is not None
            assert now is not None
            if now.epoch > before.epoch:
                break
            self.passed += 0.3
            await asyncio.sleep(0.003)
        self.links[0].thaw()  # while the thief is at work

    def _forget(self, owner: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("DELETE FROM gw_hosts WHERE id = ?", (owner,))

    # -- what always holds -------------------------------------------------------------------------
    @invariant()
    def it_stands_where_the_plain_model_says(self) -> None:
        if hasattr(self, "loop"):
            self.do(self._compare())

    async def _compare(self) -> None:
        rows = []
        for turn in self.plain.turns:
            found = await self.store.turn(REF, turn.id)
            assert found is not None, f"{turn.id} is lost"
            assert found.state == turn.state, (turn, found)
            await self._check_events(found)
            await self._check_told(turn)
            rows.append(found)
        assert [row.number for row in rows] == sorted(row.number for row in rows)
        live = self.engines[0].session("june", "s")
        for generation in range(self.plain.generation + 1):
            if await self.store.session(REF) is not None:
                _check_pairs(await live.transcript(generation=generation), parked=self.plain.parked)
        notes = await asyncio.to_thread(self._notes)
        wrote = {t.id for t in self.plain.turns if t.kind != "say" and t.state == "completed"}
        assert sorted(notes) == sorted(set(notes)), "a sync tool wrote twice"
        assert wrote <= set(notes)

    async def _check_events(self, turn: TurnRecord) -> None:
        rows = await self.store.events(REF, turn.row)
        assert [row.event.seq for row in rows] == list(range(1, len(rows) + 1))
        kinds = [row.event.type for row in rows]
        ends = [kind for kind in kinds if kind in {f"turn.{state}" for state in ENDED}]
        assert ends == ([f"turn.{turn.state}"] if turn.state in ENDED else [])

    async def _check_told(self, turn: Turn) -> None:
        """Whoever watches was told once of each: a request, its answer, the call's end, the turn's."""
        (reply,) = await self.store.ledger.deliveries(turn_id=turn.id)
        assert not self.silent
        match turn.state:
            case "completed":
                assert reply.wanted == (5 if turn.kind == "ask" else 2)
            case "cancelled":
                assert 2 <= reply.wanted <= 5
            case _:
                assert reply.wanted == (2 if turn.state == "suspended" else 1)

    def _notes(self) -> list[str]:
        with closing(sqlite3.connect(self.path)) as connection:
            try:
                return [str(row[0]) for row in connection.execute("select turn from notes")]
            except sqlite3.OperationalError:
                return []  # no tool has run yet


def _check_pairs(messages: list[Message] | object, *, parked: Turn | None) -> None:
    """Each call has its result, right after the reply that asked; a parked turn still owes its own."""
    assert isinstance(messages, list | tuple)
    owed: list[tuple[str, str]] = []
    for message in messages:
        assert isinstance(message, Message)
        for result in message.results:
            assert owed.pop(0)[1] == result.call_id
        if message.role != "tool":
            assert not owed
        owed.extend((message.turn_id, each.id) for each in message.calls)
    assert {turn_id for turn_id, _ in owed} <= ({parked.id} if parked else set())


class LongTurnMachine(TurnMachine):
    pass


TurnMachine.TestCase.settings = settings(
    settings.get_profile("seeded"), max_examples=12, stateful_step_count=12
)
LongTurnMachine.TestCase.settings = settings(
    settings.get_profile("chaos"), max_examples=300, stateful_step_count=30
)

TestTurns = pytest.mark.timeout(120)(TurnMachine.TestCase)
TestTurnsForLong = pytest.mark.slow(pytest.mark.timeout(900)(LongTurnMachine.TestCase))
