"""One session in this process: what is known of it, and the driver that runs its turns in order."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial

from gateway.engine.agent import AgentDef
from gateway.engine.decisions.admission import ViewChanged
from gateway.engine.decisions.attempts import Begun, GaveUp, Taken, Taker, begin, let_go
from gateway.engine.decisions.policy import runnable
from gateway.engine.decisions.preparing import Unprepared
from gateway.engine.errors import (
    ConfigError,
    GatewayError,
    StaleAttemptError,
    StoreUnavailableError,
    WriteConflictError,
)
from gateway.engine.kinds import CancelReason, Millis
from gateway.engine.loop.home import Home
from gateway.engine.loop.reading import Reading
from gateway.engine.loop.result import answer_in, turn_result
from gateway.engine.loop.stalls import LONGEST_PAUSE, Stall, Unreadable
from gateway.engine.loop.turn import drive
from gateway.engine.loop.warm import Warm
from gateway.engine.model import Edition
from gateway.engine.outcomes import Reset, TurnResult
from gateway.engine.records import Ask, RequestRecord, TurnRecord
from gateway.engine.steps.attempt import Attempt, Transcript, World
from gateway.engine.steps.billing import usage_so_far
from gateway.engine.steps.signals import Cancelled, Drained, TurnFailure
from gateway.engine.struct import replace
from gateway.engine.wire import edition_from, message_from

log = logging.getLogger("gateway.engine")

CONFLICTS = 3
"""Commits in a row that may turn out to have gone through after all."""

HEAD = Ask(lock="session", head=True)
HEAD_AND_TAIL = Ask(lock="session", head=True, tail=True)


class Actor:
    """Runs one session's turns one at a time. Only the runtime makes actors."""

    def __init__(self, runtime: Home, world: World) -> None:
        self.runtime = runtime
        self.world = world
        self.attempt: Attempt | None = None
        self.live: set[str] = set()
        """Turns accepted or driven here that haven't come to rest."""
        self.quarantined = False
        self._waiters: dict[str, list[asyncio.Future[TurnResult]]] = {}
        self._resets: list[asyncio.Future[Reset]] = []
        self._asked: dict[str, CancelReason] = {}
        """Cancellations that came while their turn's attempt was being set up."""
        self._beginning_as = world.agent
        self._begun_as: dict[str, AgentDef] = {}
        """As what the turn that is being taken begins, and each began that was driven here and goes on."""
        self._warm: Warm | None = None
        self._reading = Reading(runtime)
        self._wake = False
        self.starting = 0
        """Turns that are being accepted: this actor stays the session's until they are."""
        self._offered = False
        """A turn is being accepted that may begin in the same transaction."""
        self._conflicts = 0
        self._called = asyncio.Event()
        """Cuts short a pause between two tries."""
        self._stall = Stall(f"session {world.ref.agent}/{world.ref.key}")
        self.behind = 0
        """Turns that wait behind the session's first, as last seen under its lock."""
        self.driver: asyncio.Task[None] | None = None

    # -- idleness ------------------------------------------------------------------------------------
    def idle(self) -> bool:
        """No turn running or queued, no reset pending, no live subscriber."""
        return (
            self.driver is None
            and not self.starting
            and not self.live
            and not self._waiters
            and not self._resets
            and not self.world.sink.watched(self.world.ref)
            and all(agent is self.world.agent for agent in self._begun_as.values())
        )

    def adopt(self, agent: AgentDef) -> None:
        """Turns that begin from now on run as ``agent``; the others keep what they began as."""
        self.world = replace(self.world, agent=agent)

    def stand(self, behind: int) -> None:
        """So many turns stand in line behind the session's first."""
        if behind != self.behind:
            self.runtime.gate.behind += behind - self.behind
            self.behind = behind

    # -- waiting for a turn ----------------------------------------------------------------------------
    def waiter(self, turn_id: str) -> asyncio.Future[TurnResult]:
        future: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(turn_id, []).append(future)
        return future

    def forget(self, turn_id: str, future: asyncio.Future[TurnResult]) -> None:
        waiting = self._waiters.get(turn_id, [])
        if future in waiting:
            waiting.remove(future)
        if not waiting:
            self._waiters.pop(turn_id, None)

    def reset_waiter(self) -> asyncio.Future[Reset]:
        future: asyncio.Future[Reset] = asyncio.get_running_loop().create_future()
        self._resets.append(future)
        return future

    def forget_reset(self, future: asyncio.Future[Reset]) -> None:
        if future in self._resets:
            self._resets.remove(future)

    def interrupt(self, turn_id: str, reason: CancelReason) -> None:
        """A committed cancellation, told to the turn at once."""
        if self.attempt is not None and self.attempt.turn_id == turn_id:
            self.attempt.stop(Cancelled(reason))
        elif not self.idle():
            self._asked[turn_id] = reason

    def rested(self, result: TurnResult) -> None:
        self.live.discard(result.turn_id)
        self._asked.pop(result.turn_id, None)
        if result.status != "suspended":
            self._begun_as.pop(result.turn_id, None)
        self._reading.drop(result.turn_id)
        for future in self._waiters.pop(result.turn_id, ()):
            if not future.done():
                future.set_result(result)

    def was_reset(self, reset: Reset) -> None:
        self._warm = None
        waiting, self._resets = self._resets, []
        for future in waiting:
            if not future.done():
                future.set_result(reset)

    def let_go(self) -> None:
        """The process stops: whoever waits here is told to ask again elsewhere."""
        stopping = StoreUnavailableError("this process is stopping", fix="ask again")
        for waiting in self._waiters.values():
            for future in waiting:
                if not future.done():
                    future.set_exception(stopping)
        for reset in self._resets:
            if not reset.done():
                reset.set_exception(stopping)

    # -- driving ---------------------------------------------------------------------------------------
    async def offer(self) -> Taker | None:
        """The right to begin the session's next turn where it is accepted, if nothing runs here and
        there is a place. ``wake`` must follow, with what came of it."""
        if self.driver is not None or self._offered or self.runtime.shared:
            return None
        if self.quarantined or not await self.runtime.gate.enter_now():
            return None
        self._offered = True
        return self._taker(alone=False)

    def wake(self, begun: Begun | None = None, *, offered: bool = False) -> None:
        """There may be a turn to run; ``begun`` is one that this process has hold of already."""
        if offered:
            self._offered = False
            if begun is None:
                self.runtime.gate.leave()
        self._wake = self._wake or begun is None
        self._called.set()
        resting = self.driver is None and not self._offered
        if begun is not None or (resting and not self.runtime.draining and not self.quarantined):
            ref = self.world.ref
            self.driver = self.world.tasks.start(
                self._drive(begun), f"session {ref.agent}/{ref.key}"
            )

    async def _drive(self, begun: Begun | None) -> None:
        try:
            failures = 0
            while begun is not None or (self._wake and not self.runtime.draining):
                self._wake = self._wake and begun is not None  # it doesn't know who came behind it
                try:
                    self._wake = await self._drive_one(begun) or self._wake
                    failures = 0
                    self._stall.over()
                except StoreUnavailableError as error:
                    failures += 1
                    await self._wait_for_store(failures, error)
                except Unreadable as error:
                    await self._wait(self._stall.met(error.why, LONGEST_PAUSE))
                except (Exception, SystemExit) as error:  # noqa: BLE001 - it is told
                    await self._wait(self._stall.met(error))
                begun = None
        finally:
            self.driver = None
            if self._wake:
                self.wake()

    async def _drive_one(self, begun: Begun | None) -> bool:
        """One turn in a place at the gate; ``begun`` has its place since the offer."""
        if begun is None:
            if self._reading.wanted:
                await self._reading.read()
                if self.runtime.draining:
                    return False
            await self.runtime.gate.enter()
        try:
            return await (self.take_turn() if begun is None else self._run(begun))
        finally:
            self.runtime.gate.leave()

    async def _wait_for_store(self, failures: int, error: StoreUnavailableError) -> None:
        log.warning("the store is unavailable: %s", error, extra={"session": self.world.ref.key})
        self.runtime.store_failed(error)
        await self._wait(min(10.0, 0.2 * 2**failures))

    async def _wait(self, seconds: float) -> None:
        """Until the next try, or somebody asks: what is durable is read again then."""
        self._warm = None
        self._wake = True
        self._called.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._called.wait()

    async def take_turn(self, *, alone: bool = False) -> bool:
        """Run the session's next turn until it rests. Whether there may be another."""
        taken = await self._begin(alone=alone)
        self._reading.found.clear()
        match taken:
            case None:
                self.stand(0)
                return False
            case Unprepared():
                self.stand(taken.behind)
                self._reading.want(taken)
                return True
            case Reset():
                self.was_reset(taken)
                return True
            case GaveUp():
                self._warm = None
                self.stand(taken.behind)
                await self.world.publish(self.world.ref, taken.events)
                self.rested(turn_result(taken.record))
                error = TurnFailure.of(taken.ending.error or {})
                await self.runtime.report_failure(self.world, taken.record, error)
                return taken.behind > 0
            case Begun():
                self.stand(taken.behind)
                return await self._run(taken)

    async def overrule(self, turn_id: str) -> None:
        """End a turn whose call under way ignores its cancellation: a new attempt raises the epoch
        and closes it; the old one is refused at its next write."""
        if isinstance(taken := await self._begin(alone=False, only=turn_id), Begun):
            await self._run(taken)
        self.wake()

    def _taker(self, *, alone: bool, only: str | None = None) -> Taker:
        runtime, self._beginning_as = self.runtime, self.world.agent
        return Taker(
            ref=self.world.ref,
            editions=partial(runtime.edition_for, self._beginning_as),
            stored=runtime.stored_editions,
            owner=runtime.owner,
            max_attempts=runtime.limits.max_attempts,
            alone=alone,
            only=only,
            tools=self._beginning_as.tools,
            preparers=runtime.preparers,
            prepared=self._reading.found,
            stopping=runtime.stopping.is_set,
            now=self.world.clock.now(),
        )

    async def _begin(self, *, alone: bool, only: str | None = None) -> Taken:
        taker = self._taker(alone=alone, only=only)
        store, ref = self.world.store, self.world.ref
        try:
            return await store.amend(ref, HEAD, partial(begin, by=taker))
        except ViewChanged:
            ending = replace(taker, sees_tail=True)
            return await store.amend(ref, HEAD_AND_TAIL, partial(begin, by=ending))

    async def _run(self, begun: Begun) -> bool:
        attempt = await self._attempt(begun)
        self.live.add(attempt.turn_id)
        self.attempt = attempt
        attempt.adopt(asyncio.current_task())
        try:
            await attempt.tell(begun.events)
            asked = self._asked.pop(attempt.turn_id, None) or begun.record.cancel
            if asked is not None:
                attempt.stop(Cancelled(asked))
            if self.runtime.draining:
                attempt.stop(Drained())
            error = await drive(attempt)
        except StaleAttemptError:
            self._warm = None
            self.live.discard(attempt.turn_id)
            self._begun_as.pop(attempt.turn_id, None)
            return False
        except WriteConflictError as conflict:
            # The row is there already: a commit that answered with an error went through. What is
            # durable is read again; a store that keeps at it is treated as unavailable.
            self._warm = None
            self._conflicts += 1
            if self._conflicts > CONFLICTS:
                told = f"writes contradict the store: {conflict}"
                raise StoreUnavailableError(told) from conflict
            return True
        except BaseException as why:
            await self._put_back(begun, attempt.ran(), why)
            raise
        finally:
            if self.attempt is attempt:
                self.attempt = None
            attempt.left()
        self._conflicts = 0
        self._warm = Warm(begun.fence.epoch, begun.generation, attempt.transcript)
        record = attempt.record
        if record.state != "running":
            request = await self._open_request(record)
            self.rested(turn_result(record, request, answer_in(attempt.messages, record)))
        if error is not None:
            await self.runtime.report_failure(attempt.world, record, error)
        more = begun.behind > 0 or record.cancel is not None or bool(self._resets)
        return more or self.runtime.shared

    async def _attempt(self, begun: Begun) -> Attempt:
        try:
            return await self._set_up(begun)
        except Exception as error:
            await self._put_back(begun, begun.record.ran, error)
            if isinstance(error, StoreUnavailableError | ConfigError):  # the way there, no row
                raise
            raise Unreadable(error) from error

    async def _put_back(self, begun: Begun, ran: Millis, error: BaseException) -> None:
        """What can't go on isn't run, and no process is to be blamed for that."""
        self._warm = None
        if isinstance(error, StoreUnavailableError) or not isinstance(
            error, Exception | SystemExit
        ):
            return
        decide = partial(let_go, fence=begun.fence, ran=ran)
        with suppress(Exception):  # what was met before is told
            await self.world.store.amend(self.world.ref, Ask(turn_id=begun.record.turn_id), decide)

    async def _open_request(self, record: TurnRecord) -> RequestRecord | None:
        if record.request is None:
            return None
        found = await self.world.store.find_request(record.request)
        return None if found is None else found.request

    async def _set_up(self, begun: Begun) -> Attempt:
        store, ref = self.world.store, self.world.ref
        warm = self._warm
        if warm is not None and warm.fits(begun):
            transcript = warm.transcript
            if begun.opened is not None:
                transcript.append(begun.opened)
        else:
            rows = await store.messages(ref, begun.generation)
            transcript = Transcript.of([message_from(row) for row in rows])
        edition = begun.edition or await self._edition(begun.record)
        self.runtime.stored_editions.add(edition.hash)
        agent = self._begun_as.setdefault(begun.record.turn_id, self._beginning_as)
        tools = runnable(agent, edition, begun.surface, today=self.world.agent)
        attempt = Attempt(replace(self.world, agent=agent), begun, transcript, edition, tools)
        if not begun.fresh:
            await self._recall(attempt)
        return attempt

    async def _recall(self, attempt: Attempt) -> None:
        """What earlier attempts of the turn left: its steps, the answers it got, what it cost."""
        store = self.world.store
        attempt.steps = {row.step: row for row in await store.steps(attempt.row)}
        attempt.answers = {row.key: row for row in await store.requests(attempt.row)}
        attempt.usage, attempt.calls = usage_so_far(await store.usage_totals(attempt.row))

    async def _edition(self, record: TurnRecord) -> Edition:
        hashed = record.edition or ""
        row = await self.world.store.edition(hashed)
        if row is None:
            raise GatewayError(
                f"edition {hashed} of turn {record.turn_id} is missing from the store",
                fix="restore the store from a backup that holds it",
            )
        return edition_from(hashed, row.body)
