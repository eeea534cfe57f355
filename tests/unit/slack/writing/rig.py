"""A turn that is told in virtual time, the row that shows it, and an outbox that outlives its processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast

from channels.contract import NotSent, RetryLater, Sent, Undeliverable, Unknown
from channels.protocol import Card, ChannelContext, TurnView
from channels.slack.calls import SlackApi
from channels.slack.parsing import keys
from channels.slack.settings import SlackOptions, read_options
from channels.slack.writing.acts import target_of
from channels.slack.writing.note import note
from channels.slack.writing.reconcile import reconcile
from channels.slack.writing.tempo import BUDGETS
from channels.slack.writing.writer import write
from gateway.engine import events as ev
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Ledger
from gateway.engine.limits import Clock, Waits
from gateway.engine.messages import ToolCall
from gateway.engine.records import NEW_TURN, Ask, DeliveryMark, DeliveryOpened, Plan, Writes
from gateway.engine.struct import replace
from gateway.outbox.journal import RowJournal
from gateway.outbox.pacing import Budgets
from gateway.stores.memory import MemoryStore
from tests.conformance.store_kit import REF, accept
from tests.unit.slack.writing.fast import START, FastTime
from tests.unit.slack.writing.model import Killed

TARGET = keys.target(
    installation="T1", team="T1", channel="C1", thread="1700000000.000100", recipient=("U1", "T1")
)
LANE = str(TARGET["lane"])
FOREVER = 1e12
LAPSED = Millis(0)


# -- what happens in a turn -----------------------------------------------------------------------------
@dataclass(frozen=True)
class Say:
    """A message of the model's, in words that differ by the process that asked for it."""

    texts: tuple[str, ...]
    every: float = 0.3
    """Seconds between two pieces."""
    size: int = 12

    def text(self, lives: int) -> str:
        return self.texts[min(lives, len(self.texts) - 1)]


@dataclass(frozen=True)
class Use:
    id: str
    seconds: float = 1.0
    error: str | None = None
    tool: str = "find_order"
    given: JsonObject = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Retried:
    """The model is asked again: what it said is void."""

    heard: str


@dataclass(frozen=True)
class Park:
    id: str = "r1"
    policy: str = "refunds"


@dataclass(frozen=True)
class End:
    how: str = "completed"
    reason: Any = "requested"
    amid: str = ""
    """Words under way when it ended."""


Beat = Say | Use | Retried | Park | End


def say(*texts: str, every: float = 0.3, size: int = 12) -> Say:
    return Say(texts, every, size)


class Turn:
    """Tells a turn's beats; what is committed survives the process that tells it."""

    def __init__(self, beats: Sequence[Beat], time: Waits, clock: Clock) -> None:
        self.beats = list(beats)
        self.log: list[ev.TurnEvent] = []
        self.state = "queued"
        self.cancelled: Any = None
        self.lives = 0
        self.behind: Card | None = None
        self.moved: Callable[[], Any] = lambda: None
        self._at = 0
        self._time = time
        self._clock = clock
        self._readers: list[asyncio.Queue[ev.TurnEvent | None]] = []
        self._messages = 0
        self._answered = asyncio.Event()

    def view(self) -> TurnView:
        return TurnView(
            turn_id="t1",
            state=cast("Any", self.state),
            reference="1a2b3c4d",
            speaker=None,
            event=None,
            cancelled=self.cancelled,
            behind=self.behind,
        )

    @property
    def rests(self) -> bool:
        return self.state not in {"queued", "running"}

    async def events(self) -> AsyncGenerator[ev.TurnEvent, None]:
        reader: asyncio.Queue[ev.TurnEvent | None] = asyncio.Queue()
        for told in self.log:
            reader.put_nowait(told)
        if self.rests:
            reader.put_nowait(None)
        self._readers.append(reader)
        try:
            while (event := await reader.get()) is not None:
                yield event
        finally:
            self._readers.remove(reader)

    async def run(self) -> None:
        """From the last commit to the end, or for ever while it waits for somebody."""
        if not self.log:
            self._tell(ev.TurnStarted, trigger="inbound")
            self.state = "running"
        while self._at < len(self.beats):
            beat = self.beats[self._at]
            await self._beat(beat)
            self._at += 1

    def die(self) -> None:
        """The process ends: what was being said is gone."""
        self.lives += 1
        for reader in self._readers:
            reader.put_nowait(None)

    async def answer(self) -> None:
        self._answered.set()

    # -- one beat ------------------------------------------------------------------------------------
    async def _beat(self, beat: Beat) -> None:
        match beat:
            case Say():
                await self._speak(beat.text(self.lives), beat.every, beat.size)
                self._messages += 1
                text = beat.text(self.lives)
                self._tell(ev.MessageCompleted, text=text, message=self._messages)
            case Use():
                call = ToolCall(beat.id, beat.tool, beat.given)
                if not any(isinstance(e, ev.ActionRequested) and e.call == call for e in self.log):
                    self._tell(ev.ActionRequested, call=call, message=self._messages)
                await self._time.sleep(beat.seconds)
                fields: dict[str, Any] = {"name": beat.tool, "result": "r", "error": beat.error}
                self._tell(ev.ActionCompleted, call_id=beat.id, message=self._messages, **fields)
            case Retried():
                await self._speak(beat.heard, 0.3, 12)
                self._tell(ev.ModelRetrying, attempt=1, delay=1.0, error="overloaded")
                await self._time.sleep(1.0)
            case Park():
                await self._ask(beat)
            case End():
                await self._end(beat)

    async def _speak(self, text: str, every: float, size: int) -> None:
        for at in range(0, len(text), size):
            await self._time.sleep(every)
            self._tell(ev.MessageDeltaEvent, text=text[at : at + size], block=0, offset=at)

    async def _ask(self, beat: Park) -> None:
        if not any(isinstance(event, ev.InputRequested) for event in self.log):
            self.state = "suspended"
            fields: dict[str, Any] = {
                "name": "refund",
                "prompt": "Refund?",
                "schema": {"type": "boolean"},
                "answerers": {"policy": beat.policy},
                "digest": "d",
            }
            self._tell(ev.InputRequested, id=beat.id, **fields)
            await self._rest()
        await self._answered.wait()
        self.state = "running"
        self._tell(ev.InputAnswered, id=beat.id, outcome="approved", value=True)
        await self.moved()

    async def _end(self, beat: End) -> None:
        if beat.amid:
            await self._speak(beat.amid, 0.3, 12)
        self.state = beat.how
        match beat.how:
            case "completed":
                self._tell(ev.TurnCompleted, text="", totals={})
            case "failed":
                self._tell(ev.TurnFailed, error="boom")
            case "timed_out":
                self._tell(ev.TurnTimedOut, deadline="idle")
            case _:
                self.cancelled = beat.reason
                self._tell(ev.TurnCancelled, reason=beat.reason)
        await self._rest()

    async def _rest(self) -> None:
        await self.moved()
        for reader in self._readers:
            reader.put_nowait(None)

    def _tell(self, kind: type[Any], **fields: Any) -> None:
        base: dict[str, Any] = {"turn_id": "t1", "session": REF.key, "at": self._clock.now()}
        if kind.durable:
            base["seq"] = sum(event.seq is not None for event in self.log) + 1
        event = kind(**base, **fields)
        if kind.durable:
            self.log.append(event)
        for reader in self._readers:
            reader.put_nowait(event)


# -- the outbox --------------------------------------------------------------------------------------------
class Ctx:
    """What the writer is handed, as far as it looks at it."""

    def __init__(self, rig: Rig) -> None:
        self.agent = "june"
        self.clock = rig.clock
        self.waits = rig.waits
        self.ledger = rig.ledger
        self.pacer = rig.pacer
        self._rig = rig

    def journal(self, delivery: Delivery) -> RowJournal:
        del delivery
        return self._rig.journal

    async def turn(self, delivery: Delivery) -> TurnView:
        del delivery
        await asyncio.sleep(0)
        return self._rig.turn.view()


@dataclass
class Rig:
    turn: Turn
    api: SlackApi
    waits: Waits
    clock: Clock
    options: SlackOptions = field(default_factory=read_options)
    part: str = "reply"
    target: JsonObject = field(default_factory=lambda: dict(TARGET))
    beside: tuple[DeliveryOpened, ...] = ()
    letter: Undeliverable | None = None
    kills: int = 0
    answer_at_rest: bool = True

    def __post_init__(self) -> None:
        self.store = MemoryStore()
        self.pacer = Budgets(self.waits.monotonic, BUDGETS)
        self.ctx = cast("ChannelContext", Ctx(self))
        self.turn.moved = self.mark
        self._row: Any = None

    @property
    def ledger(self) -> Ledger:
        return self.store.ledger

    async def open(self) -> None:
        await self.store.open()
        row = DeliveryOpened(
            turn=NEW_TURN, part=self.part, source="slack", target=self.target, lane=LANE, at=START
        )
        self._row = (await accept(self.store, REF, "t1", companions=(row, *self.beside))).row

    async def mark(self) -> None:
        writes = Writes(companions=(DeliveryMark(turn=self._row, at=self.clock.now()),))
        await self.store.amend(REF, Ask(), lambda _: Plan(None, writes))

    async def row(self) -> Delivery:
        rows = await self.ledger.deliveries(turn_id="t1")
        return next(row for row in rows if row.part == self.part)

    async def deliver(self) -> Delivery:
        """Until the row is done or dead. A process that is killed is followed by another one."""
        await self.open()
        return await self.go_on()

    async def retried(self) -> Delivery:
        """A dead letter, once what it died of is mended."""
        await self.ledger.retry(id=(await self.row()).id, now=self.clock.now())
        return await self.go_on()

    async def go_on(self) -> Delivery:
        while True:
            async with asyncio.TaskGroup() as tasks:
                telling = tasks.create_task(self.turn.run())
                try:
                    while not await self._once():
                        pass
                    return await self.row()
                except Killed:
                    self.kills += 1
                finally:
                    telling.cancel()
                    self.turn.die()

    async def _once(self) -> bool:
        taken = await self.ledger.claim("host", ("slack",), self.clock.now(), LAPSED, 1)
        if taken:
            await self._carry(taken[0])
        row = await self.row()
        if row.state in {"done", "dead"}:
            return True
        if row.state == "resting" and self.turn.state == "suspended":
            if not self.answer_at_rest:
                return True
            await self.turn.answer()
        if not taken:
            await self.waits.sleep(0.2)
        return False

    async def _carry(self, row: Delivery) -> None:
        soon = self.clock.now
        self.journal = RowJournal(row, self.ledger, self.waits, FOREVER, soon)
        try:
            if await self._looked():
                await self._show(self.journal.current)
        except RetryLater as later:
            await self.journal.put_back("due", error=later.why, next_try=later.at)
        except Undeliverable as letter:
            self.letter = letter
            await self.journal.put_back("dead", error=letter.reason, revive_on=letter.revive_on)

    async def _show(self, row: Delivery) -> None:
        to = target_of(row.target)
        assert to is not None
        show = write if self.part == "reply" else note
        events = self.turn.events()
        try:
            await show(events, row, to, self.ctx, self.api, self.options)
        finally:
            with suppress(RuntimeError):
                await events.aclose()

    async def _looked(self) -> bool:
        for part in self.journal.parts:
            if part.state != "opening":
                continue
            match await reconcile(self.journal.current, self.api, self.ledger):
                case Sent(ref):
                    state: Any = "broken" if part.kind == "stream" else "open"
                    await self.journal.record(replace(part, state=state, ref=ref))
                case NotSent():
                    await self.journal.record(replace(part, state="gone"))
                case Unknown(why, after):
                    at = Millis(self.clock.now() + round((after or 1) * 1000))
                    raise RetryLater(at, why)
        return True


async def told(
    beats: Sequence[Beat], api: Any, time: FastTime, step: float = 0.25, **more: Any
) -> Rig:
    """Tell a turn to its end with the model of Slack, and return what became of it."""
    rig = Rig(Turn(beats, time, time.clock), api, time, time.clock, **more)
    async with time.running(step):
        await rig.deliver()
    return rig
