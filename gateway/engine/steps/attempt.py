"""One attempt: this process driving one turn, from the moment it raised the epoch until it lets go.

It owns the turn's mutable state in memory. All it writes goes through ``commit``, under its fence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from gateway.engine import events as ev
from gateway.engine.agent import AgentDef
from gateway.engine.decisions.attempts import Begun
from gateway.engine.decisions.telling import told
from gateway.engine.errors import FatalToolError
from gateway.engine.kinds import Millis, SessionRef, TurnRow
from gateway.engine.limits import Clock, Limits
from gateway.engine.messages import Message
from gateway.engine.model import Edition, Usage
from gateway.engine.ports import EventSink, SessionStore
from gateway.engine.records import Fence, RequestRecord, StepRow, TurnRecord, Writes
from gateway.engine.steps.signals import Cancelled, TurnStopped
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import replace, struct
from gateway.engine.tool import Tool


@struct(frozen=True, slots=True, kw_only=True)
class World:
    """What every attempt of one session shares."""

    agent: AgentDef
    ref: SessionRef
    store: SessionStore
    sink: EventSink
    limits: Limits
    clock: Clock
    tasks: Tasks
    publish: Callable[[SessionRef, Sequence[ev.TurnEvent]], Awaitable[None]]
    """To the sink; never raises."""


@dataclass(slots=True)
class Transcript:
    """A generation's messages, with what would otherwise be read off all of them at each turn."""

    messages: list[Message]
    tainted: bool = False
    edition: str = ""
    history: int = 0
    """Where the unbroken run of ``edition`` that ends the transcript begins."""

    @classmethod
    def of(cls, messages: list[Message]) -> Transcript:
        return cls(messages, any(tainted_by(message) for message in messages))

    def append(self, message: Message) -> None:
        self.messages.append(message)
        self.tainted = self.tainted or tainted_by(message)

    def go_on_with(self, edition: str) -> None:
        if edition != self.edition:
            self.history = history_start(self.messages, edition)
            self.edition = edition


def tainted_by(message: Message) -> bool:
    return message.trust == "unattested"


class Attempt:
    def __init__(
        self,
        world: World,
        begun: Begun,
        transcript: Transcript,
        edition: Edition,
        tools: dict[str, Tool],
    ) -> None:
        self.world = world
        self.begun = begun
        self.record: TurnRecord = begun.record
        self.fence: Fence = begun.fence
        self.transcript = transcript
        self.messages = transcript.messages
        self.edition = edition
        self.tools = tools
        self.seq = begun.record.last_seq
        self.logged = self.seq
        """The last ``seq`` that is in the log: a step that broke before its commit took none."""
        transcript.go_on_with(edition.hash)
        self.steps: dict[str, StepRow] = {}
        self.answers: dict[str, RequestRecord] = {}
        self.usage = Usage()
        self.calls = 0
        """Model calls of the turn that are billed."""
        self.fatal: FatalToolError | None = None
        """What failed the turn inside a local call's own transaction."""
        self.fatal_step: str | None = None
        """The parallel call that failed the turn."""
        self.order = asyncio.Lock()
        """Held by parallel calls from taking a ``seq`` to its commit, so that none is skipped."""
        self.progressed = asyncio.Event()
        """Set at the first new checkpoint."""
        self.began = world.clock.monotonic()
        self.alive_at = self.began
        self._task: asyncio.Task[object] | None = None
        self._stop: TurnStopped | None = None
        self._stop_at = 0.0
        self.overruled = False
        self._interruptible = False
        self._own_cancels = 0
        self._waits: list[float] = []

    # -- names ---------------------------------------------------------------------------------------
    @property
    def turn_id(self) -> str:
        return self.record.turn_id

    @property
    def row(self) -> TurnRow:
        return self.record.row

    @property
    def session(self) -> str:
        return self.world.ref.key

    def now(self) -> Millis:
        return self.world.clock.now()

    def next_seq(self) -> int:
        self.seq += 1
        return self.seq

    # -- being stopped -------------------------------------------------------------------------------
    def adopt(self, task: asyncio.Task[object] | None) -> None:
        self._task = task

    def left(self) -> None:
        """Nothing drives it any more."""
        self._task = None
        self.progressed.set()

    @property
    def driven(self) -> bool:
        return self._task is not None

    def stop(self, why: TurnStopped, *, patient: bool = False) -> None:
        """Ask the loop to stop at its next boundary; at once if it waits on the model, unless
        ``patient``."""
        if self._stop is None:
            self._stop = why
            self._stop_at = self.world.clock.monotonic()
            if not patient:
                self.hurry()

    def ignores_cancel(self) -> bool:
        """A cancel was asked for and the call under way has outlasted the grace. True once."""
        grace = self.world.limits.cancel_grace
        if not isinstance(self._stop, Cancelled) or self.overruled:
            return False
        self.overruled = self.world.clock.monotonic() - self._stop_at > grace
        return self.overruled

    def hurry(self) -> None:
        """Cut short a wait for the model, when a stop was asked for."""
        if self._interruptible and self._task is not None and self._own_cancels == 0:
            self._own_cancels += 1
            self._task.cancel()

    def boundary(self) -> None:
        """Raise the stop that was asked for, if any."""
        if self._stop is not None:
            raise self._stop

    def interruptible(self) -> _Interruptible:
        """A stop cancels what is awaited here. A cancellation from outside always wins."""
        return _Interruptible(self)

    def begin_wait(self) -> None:
        self.boundary()
        self._interruptible = True

    def end_wait(self, error: BaseException | None) -> None:
        self._interruptible = False
        if error is None:
            self._settle_cancels()
            self.boundary()
        elif isinstance(error, asyncio.CancelledError) and self._stop and self._task:
            own, self._own_cancels = self._own_cancels, 0
            for _ in range(own):
                self._task.uncancel()
            if not self._task.cancelling():
                raise self._stop from None
        else:
            self._settle_cancels()

    def _settle_cancels(self) -> None:
        """A cancel of ours may have been asked for after the awaited thing ended."""
        while self._own_cancels and self._task is not None:
            self._own_cancels -= 1
            self._task.uncancel()

    # -- liveness ------------------------------------------------------------------------------------
    def touch(self) -> None:
        self.alive_at = self.world.clock.monotonic()

    def alive_for(self, seconds: float) -> _AliveFor:
        """A tool runs, or the engine waits to retry: silence counts from its end on."""
        return _AliveFor(self, seconds)

    def expect_silence(self, seconds: float) -> float:
        moment = self.world.clock.monotonic() + seconds
        self._waits.append(moment)
        return moment

    def silence_over(self, moment: float) -> None:
        self._waits.remove(moment)
        self.touch()

    def ran(self) -> Millis:
        """Running time so far, this attempt included, in milliseconds."""
        here = int((self.world.clock.monotonic() - self.began) * 1000)
        return Millis(self.record.ran + here)

    def overdue(self) -> str | None:
        """Which deadline has passed, if one has."""
        limits = self.world.limits
        if self.ran() >= limits.turn_ceiling * 1000:
            return "ceiling"
        quiet_since = max([self.alive_at, *self._waits])
        if self.world.clock.monotonic() - quiet_since >= limits.turn_idle:
            return "idle"
        return None

    # -- writing -------------------------------------------------------------------------------------
    def advanced(self) -> tuple[TurnRecord, ...]:
        """The turn row, when a new checkpoint has to clear what it was blamed for. Others may run
        beside it from here on."""
        if not (self.record.crashes or self.record.suspect):
            return ()
        return (replace(self.record, crashes=0, suspect=0, alone=False),)

    async def commit(
        self, writes: Writes, messages: Sequence[Message], events: Sequence[ev.TurnEvent]
    ) -> None:
        """Write, then remember, then tell."""
        await self.world.store.commit(self.fence, told(writes) if writes.turns else writes)
        await self.committed(writes, messages, events)

    async def committed(
        self, writes: Writes, messages: Sequence[Message], events: Sequence[ev.TurnEvent]
    ) -> None:
        for record in writes.turns:
            if record.row == self.record.row:
                self.record = record
        for step in writes.steps:
            self.steps[step.step] = step
        if writes.events:
            self.logged = max(self.logged, writes.events[-1].seq)
        for message in messages:
            self.transcript.append(message)
        self.touch()
        if not self.progressed.is_set() and any(step.done for step in writes.steps):
            self.progressed.set()
        await self.tell(events)

    async def tell(self, events: Sequence[ev.TurnEvent]) -> None:
        if events:
            self.touch()
            await self.world.publish(self.world.ref, events)


class _Interruptible:
    __slots__ = ("_attempt",)

    def __init__(self, attempt: Attempt) -> None:
        self._attempt = attempt

    def __enter__(self) -> None:
        self._attempt.begin_wait()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._attempt.end_wait(error)


class _AliveFor:
    __slots__ = ("_attempt", "_moment")

    def __init__(self, attempt: Attempt, seconds: float) -> None:
        self._attempt = attempt
        self._moment = seconds

    def __enter__(self) -> None:
        self._moment = self._attempt.expect_silence(self._moment)

    def __exit__(self, *_: object) -> None:
        self._attempt.silence_over(self._moment)


def history_start(messages: Sequence[Message], edition: str) -> int:
    """Index of the first message of the unbroken run of this edition that ends the transcript."""
    start = len(messages)
    for message in reversed(messages):
        if message.edition is None:
            continue
        if message.edition != edition:
            break
        start = message.index
    return start
