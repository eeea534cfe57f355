"""An agent directory, run in this process for one test: ask it, answer it, kill it, let days pass.

Everything but the model is real: tools, services, the store, its channels' deliveries, its schedules. A
test is plain code without ``async``; between two of its lines nothing moves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from gateway.approvals.authorise import decide_as
from gateway.config import Settings
from gateway.engine.decisions.keys import new_turn_id
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Json, JsonObject, Millis, Speaker
from gateway.engine.loop.recovery import sweep
from gateway.engine.outcomes import PendingInput, TurnInput, TurnSnapshot
from gateway.engine.ports import SessionStore
from gateway.engine.session import Session
from gateway.engine.struct import replace
from gateway.host.compose import Host, open_host
from gateway.models.scripted import ScriptedModel
from gateway.schedules.book import Book
from gateway.testing.crash import Crash, CrashingStore, kill
from gateway.testing.scripted import Line, script
from gateway.testing.time import FakeClock

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds a test waits for a turn to rest."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a turn. ``output`` is ``None`` as long as there is none."""

    name: str
    input: JsonObject
    output: Json = None
    failed: bool = False


class Turn:
    """One turn. Whatever is asked of it waits until it rests: it ended, or waits for a person."""

    def __init__(self, agent: AgentUnderTest, session: str, turn_id: str) -> None:
        self._agent = agent
        self.session = session
        self.id = turn_id

    def _look(self) -> TurnSnapshot:
        return self._agent.run(self._agent.at_rest(self))

    @property
    def status(self) -> str:
        """``completed``, ``suspended``, ``failed``, ``cancelled`` or ``timed_out``."""
        return self._look().state

    @property
    def text(self) -> str:
        return self._look().text

    @property
    def error(self) -> JsonObject | None:
        return self._look().error

    @property
    def parked(self) -> bool:
        return self.status == "suspended"

    @property
    def request(self) -> PendingInput | None:
        """What it waits for: prompt, tool, arguments, who may answer."""
        return self._look().request

    @property
    def prompt(self) -> str:
        """What a person is asked; empty if it waits for nobody."""
        asked = self.request
        return "" if asked is None else asked.prompt

    @property
    def calls(self) -> list[Call]:
        """The tool calls, in the order in which the model made them."""
        self._look()
        return self._agent.run(self._agent.calls_of(self))

    def answer(self, value: Json, *, by: str | None = None, reason: str | None = None) -> Turn:
        """Answer what it waits for, as ``by`` (an identity such as ``slack:T1:U1``), and wait.

        Raises ``ResumeAuthorizationError`` if that person may not, ``InvalidInputError`` for a value
        that the request doesn't take.
        """
        asked = self.request
        if asked is None:
            raise AssertionError(f"the turn waits for nobody: it is {self.status}")
        self._agent.run(self._agent.answered(self, asked, value, by=by, reason=reason))
        return self

    def approve(self, *, by: str | None = None, reason: str | None = None) -> Turn:
        return self.answer(True, by=by, reason=reason)

    def deny(self, *, by: str | None = None, reason: str | None = None) -> Turn:
        return self.answer(False, by=by, reason=reason)

    def cancel(self) -> Turn:
        self._agent.run(self._agent.conversation(self.session).cancel(self.id))
        return self


class AgentUnderTest:
    """The fixture ``agent``. ``env`` is all that the agent's services and channels are told."""

    def __init__(
        self,
        directory: Path,
        home: Path,
        *,
        loop: asyncio.Runner,
        clock: FakeClock,
        env: Mapping[str, str],
        database: str,
    ) -> None:
        own = {
            "GATEWAY_AGENT": str(directory),
            "GATEWAY_STATE": str(home),
            "GATEWAY_MODEL": "scripted",
            "DATABASE_URL": database,
        }
        self._settings = Settings.load({**own, **env}, toml_path=None)
        self._loop = loop
        self._clock = clock
        self._life = AsyncExitStack()
        self._host: Host | None = None
        self._store: CrashingStore | None = None
        self._lines: Sequence[Line] | None = None
        self.crashes = 0
        """How often the process died so far."""
        self.run(self._open())
        clock.on_tick.append(self._ticked)

    # -- what a test does ------------------------------------------------------------------------------
    def ask(
        self,
        message: str,
        *,
        session: str = "test",
        speaker: Speaker | None = None,
        source: str = "api",
        turn_id: str | None = None,
    ) -> Turn:
        """Write to it, and wait until the turn rests."""
        turn = Turn(self, session, turn_id or new_turn_id())
        given = TurnInput(message=message, turn_id=turn.id, source=source, speaker=speaker)
        self.run(self._asked(turn, given))
        return turn

    def script(self, lines: Sequence[Line]) -> None:
        """From the next turn on the model says this, whatever ``offline.py`` would: see ``script``."""
        self._lines = lines
        self._play()

    def turns(self, session: str | None = None) -> list[Turn]:
        """Its turns, the latest first: also those that a channel or a schedule began."""
        return self.run(self._turns(session))

    def fire(self, schedule: str) -> Turn:
        """Let the time come at which a schedule is due next; the turn that it begins.

        Raises ``NotFoundError`` for one that isn't there, ``AssertionError`` if it begins none.
        """
        due = self.run(self._next(schedule))
        self._clock.tick(max(0.0, (due - self._clock.now()) / 1000))
        return self.run(self._fired(schedule, due))

    def crash_before(self, point: str) -> None:
        """Die right before the next write whose name begins so, once; then the process starts again.

        A step is called ``model:1`` or ``tool:1:call_1_0``, the number being its message's place in the
        session; before a tool that is ``async`` runs, ``start tool:…`` is written. A tool that is a
        ``def`` is ``local <name>``. Others are called like what is decided: ``enter``, ``suspend``,
        ``decide_answer``, ``begin``. ``points`` lists those that were passed.
        """
        self._crash(f"before {point}")

    def crash_after(self, point: str) -> None:
        """Die right after such a write is durable and before anybody was told."""
        self._crash(f"after {point}")

    def restart(self) -> None:
        """Kill the process and start it again."""
        self._need_durable()
        self.run(self._revive())

    @property
    def points(self) -> list[str]:
        """The write points that this process passed."""
        return self.store.survived

    # -- for whoever needs more ------------------------------------------------------------------------
    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run something on the loop that the agent lives on."""
        return self._loop.run(work)

    @property
    def host(self) -> Host:
        if self._host is None:
            raise AssertionError("the agent doesn't run any more")
        return self._host

    @property
    def store(self) -> CrashingStore:
        if self._store is None:
            raise AssertionError("the agent never ran")
        return self._store

    def conversation(self, session: str) -> Session:
        return self.host.runtime.session(self.host.api.agent, session)

    def close(self) -> None:
        """Stop it. Raises ``AssertionError`` if a crash was arranged that never came."""
        self._clock.on_tick.remove(self._ticked)
        missed = self.store.at
        self.run(self._life.aclose())
        self._host = None
        if missed is not None:
            passed = ", ".join(self.store.survived)
            raise AssertionError(f"nothing was written at {missed!r}. passed were: {passed}")

    # -- how ---------------------------------------------------------------------------------------------
    async def _open(self) -> None:
        opened = open_host(
            self._settings,
            tokens=(),
            works=True,
            clock=self._clock.clock,
            waits=self._clock,
            wrap=self._wrapped,
        )
        self._host = await self._life.enter_async_context(opened)
        self._host.runtime.tasks.run(self._mourn(self._host, self.store), "watch for a crash")
        if self._lines is not None:
            self._play()
        await self._caught_up()

    def _wrapped(self, inner: SessionStore) -> SessionStore:
        self._store = CrashingStore(inner)
        return self._store

    @staticmethod
    async def _mourn(host: Host, store: CrashingStore) -> None:
        """Whoever waits for a turn of a process that died is told at once."""
        await store.died.wait()
        for actor in host.runtime.actors():
            actor.let_go()

    def _play(self) -> None:
        runtime, name = self.host.runtime, self.host.api.agent
        model = ScriptedModel(script(self._lines or ()))
        runtime.adopt(replace(runtime.agents[name], model=model))

    def _crash(self, point: str) -> None:
        self._need_durable()
        self.store.at = point

    def _need_durable(self) -> None:
        if not self.store.capabilities.durable:
            raise AssertionError(
                "nothing outlives a process here: let agent_database be a sqlite:// URL"
            )

    def _ticked(self) -> None:
        self.run(self.outlived(self._caught_up))

    async def _caught_up(self) -> None:
        """What is due by the clock has happened."""
        await sweep(self.host.runtime)
        runner = self.host.runner
        for name, schedule in self._book.schedules.items():
            while await runner.look(name, schedule) is None:  # noqa: ASYNC110 - the runner itself is at it
                await asyncio.sleep(0.01)

    @property
    def _book(self) -> Book:
        if (book := self.host.api.schedules) is None:
            raise AssertionError("this host has no schedules")
        return book

    async def _revive(self) -> None:
        self.crashes += 1
        await kill(self.host.runtime, self.store)
        await self._life.aclose()
        await self._open()

    async def outlived(self, work: Callable[[], Awaitable[T]]) -> T:
        """What it comes to, begun again in the next process whenever one dies of it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    done = await work()
                except (Crash, StoreUnavailableError):
                    if not self.store.dead:
                        raise
                else:
                    if not self.store.dead:
                        return done
                await self._revive()

    async def at_rest(self, turn: Turn) -> TurnSnapshot:
        return await self.outlived(lambda: self._rested(turn))

    async def _rested(self, turn: Turn) -> TurnSnapshot:
        session = self.conversation(turn.session)
        await session.result(turn.id)
        return await session.snapshot(turn.id)

    async def _asked(self, turn: Turn, given: TurnInput) -> None:
        async def ask() -> None:
            await self.conversation(turn.session).start(given)
            await self._rested(turn)

        await self.outlived(ask)

    async def answered(
        self, turn: Turn, asked: PendingInput, value: Json, *, by: str | None, reason: str | None
    ) -> None:
        who = None if by is None else Speaker(id=by, name=by, level="provider")

        async def answer() -> None:
            session = self.conversation(turn.session)
            pending = await session.pending()
            found = await self.store.find_request(asked.id)
            # The process may have died with the answer taken: it isn't given a second time.
            if found is not None and pending is not None and pending.id == asked.id:
                await decide_as(
                    session, found, value, by=by, principal=who, reason=reason, digest=asked.digest
                )
            await self._rested(turn)

        await self.outlived(answer)

    async def calls_of(self, turn: Turn) -> list[Call]:
        messages = [
            message
            for message in await self.conversation(turn.session).transcript()
            if message.turn_id == turn.id
        ]
        results = {result.call_id: result for message in messages for result in message.results}
        made: list[Call] = []
        for call in (call for message in messages for call in message.calls):
            came = results.get(call.id)
            output, failed = (None, False) if came is None else (came.output, came.is_error)
            made.append(Call(call.name, call.input, output, failed))
        return made

    async def _next(self, schedule: str) -> Millis:
        due = cast("Millis | None", (await self._book.row(schedule))["next"])
        if due is None:
            raise AssertionError(f"the schedule {schedule} is paused")
        return due

    async def _fired(self, schedule: str, due: Millis) -> Turn:
        rows = await self.store.ledger.occurrences(self._book.agent, schedule)
        came = next((row for row in rows if row.due == due), None)
        if came is None or came.outcome != "fired" or not came.turn_id or not came.session:
            why = "it had nothing to ask" if came is None else f"it was {came.outcome}: {came.why}"
            raise AssertionError(f"the schedule {schedule} began no turn: {why}")
        return Turn(self, came.session, came.turn_id)

    async def _turns(self, session: str | None) -> list[Turn]:
        found = await self.store.list_turns(limit=500)
        return [
            Turn(self, one.ref.key, one.turn.turn_id)
            for one in found
            if session in {None, one.ref.key}
        ]
