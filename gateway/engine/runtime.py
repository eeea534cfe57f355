"""The runtime: one per process. It owns the actors, the clock's ticks, and what is picked up."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import os
import secrets
import socket
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Self

from gateway.engine.agent import AgentDef, AskedRequest, TurnError
from gateway.engine.decisions.closing import error_record
from gateway.engine.decisions.keys import check_key
from gateway.engine.decisions.opening import opening_from
from gateway.engine.decisions.park import request_body
from gateway.engine.decisions.policy import Terms, edition_for, freeze_surface
from gateway.engine.errors import (
    AuthorizeHookError,
    NotFoundError,
    SeamVersionError,
    StaleAttemptError,
    StoreUnavailableError,
)
from gateway.engine.events import TurnEvent
from gateway.engine.kinds import Begins, SessionRef, SessionStatus, Speaker
from gateway.engine.limits import SYSTEM_CLOCK, Clock, Limits
from gateway.engine.loop import recovery
from gateway.engine.loop.actor import Actor
from gateway.engine.loop.gates import Gate
from gateway.engine.loop.turn import release
from gateway.engine.outcomes import Grant, Reset
from gateway.engine.ports import (
    MODEL_SEAM_VERSION,
    SINK_SEAM_VERSION,
    STORE_SEAM_VERSION,
    EventSink,
    Preparer,
    SessionStore,
)
from gateway.engine.records import TurnRecord
from gateway.engine.session import Session
from gateway.engine.steps.attempt import Attempt, World
from gateway.engine.steps.foreign import close, contained
from gateway.engine.steps.signals import Drained, TurnFailure
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import struct

log = logging.getLogger("gateway.engine")

LOCAL_POLL = 5.0
OUTAGE_MEMORY = 5.0
"""Seconds after the last refused write before the store counts as back."""
SHARED_POLL = 0.25
"""Seconds after which a waiting reader looks at the store again: another process may have
written there."""


@struct(frozen=True, slots=True, kw_only=True)
class RuntimeHealth:
    ready: bool
    problems: tuple[str, ...]
    running: int
    queued: int
    draining: bool


class Runtime:
    """Runs agents on a store. ``max_sessions`` softly caps the actors kept: idle ones go first.

    ``preparers`` maps a source to who reads what its turns have to know first: when a turn of that
    source first begins and its event holds an object under ``fetch``, what the preparer makes of that
    goes in front of the message. It is awaited without holding anything, ``PREPARE_SECONDS`` at most.

    Raises ``ValueError`` for a cap that isn't a whole number ≥ 1 or infinity, and
    ``SeamVersionError`` for an implementation of another seam version.
    """

    def __init__(  # noqa: PLR0913 - what a process brings, most of it by name
        self,
        agents: Mapping[str, AgentDef],
        store: SessionStore,
        sink: EventSink,
        *,
        limits: Limits | None = None,
        clock: Clock = SYSTEM_CLOCK,
        max_sessions: float = 1000,
        preparers: Mapping[str, Preparer] | None = None,
    ) -> None:
        whole = isinstance(max_sessions, int) and not isinstance(max_sessions, bool)
        if not (max_sessions == math.inf or (whole and max_sessions >= 1)):
            raise ValueError(
                f"max_sessions must be a whole number ≥ 1 or inf, not {max_sessions!r}"
            )
        _check_versions(agents, store, sink)
        self.agents = agents
        self.store = store
        self.sink = sink
        self.limits = limits or Limits()
        self.clock = clock
        self.max_sessions = max_sessions
        self.preparers: Mapping[str, Preparer] = {} if preparers is None else preparers
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.stored_editions: set[str] = set()
        self.tasks = Tasks()
        self.deciding = Tasks()
        """What was asked of sessions from outside and is being decided: it comes to its end."""
        self.gate = Gate(self.limits.running_turns)
        self.draining = False
        self.stopping = asyncio.Event()
        self.shared = store.capabilities.shared
        self.poll = SHARED_POLL if self.shared else LOCAL_POLL
        self.problem_until = 0.0
        self.problem: str | None = None
        """Why the store can't be used right now."""
        self._actors: OrderedDict[SessionRef, Actor] = OrderedDict()
        self._editions: dict[tuple[int, str, Begins], Terms] = {}
        """By the definition itself: a turn may be beginning on one while another takes its place."""
        self._replaced: list[AgentDef] = []
        """What turns may still run as. Their models are closed with the others."""

    # -- life ------------------------------------------------------------------------------------------
    async def start(self) -> None:
        """Say we live, pick up every unfinished turn, and keep the ticks going."""
        await self.store.beat(self.owner)
        await recovery.pick_up(self)
        self.tasks.run(recovery.ticks(self), "ticks")

    async def stop(self, grace: float = 20.0) -> None:
        """Take no more turns; within ``grace`` seconds running steps finish or stay at their checkpoint."""
        self.draining = True
        self.stopping.set()
        for actor in self.actors():
            actor.wake()
        self.gate.open()
        await self.deciding.ended(grace)
        attempts = [actor.attempt for actor in self.actors() if actor.attempt is not None]
        for attempt in attempts:
            attempt.stop(Drained(), patient=True)
        await self._drivers_end(grace)
        for attempt in attempts:
            attempt.hurry()
        await self._drivers_end(1.0)
        await self.deciding.close(patience=1.0)
        await self.tasks.close(patience=2.0)
        for attempt in attempts:
            await self._let_go(attempt)
        for actor in self.actors():
            actor.let_go()
        for agent in (*self.agents.values(), *self._replaced):
            await close(agent.model)

    async def _drivers_end(self, seconds: float) -> None:
        if drivers := [actor.driver for actor in self.actors() if actor.driver is not None]:
            await asyncio.wait(drivers, timeout=seconds)

    async def _let_go(self, attempt: Attempt) -> None:
        """A turn whose step outlasted the grace is left on purpose, too: no crash."""
        if attempt.record.state == "running" and attempt.record.attempt_at is not None:
            try:
                await release(attempt)
            except (StaleAttemptError, StoreUnavailableError) as error:
                log.warning("turn %s was left as after a crash: %s", attempt.turn_id, error)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def store_failed(self, error: StoreUnavailableError) -> None:
        """A write was refused. Small ones may still go through (a full disk), so a good sweep alone
        doesn't make the process ready again: it takes a while without a refusal."""
        self.problem = f"the store is unavailable: {error}"
        self.problem_until = self.clock.monotonic() + OUTAGE_MEMORY

    def health(self) -> RuntimeHealth:
        problems = [self.problem] if self.problem else []
        if self.draining:
            problems.append("draining: this process is stopping")
        return RuntimeHealth(
            ready=not problems,
            problems=tuple(problems),
            running=sum(actor.attempt is not None for actor in self._actors.values()),
            queued=self.gate.waiting,
            draining=self.draining,
        )

    def queued(self) -> int:
        return self.gate.queued

    def adopt(self, agent: AgentDef) -> None:
        """Another definition of an agent that runs here: turns that begin from now on run on it, those
        under way or parked keep theirs as long as this process lives. Raises ``NotFoundError`` for
        an agent of another name and ``SeamVersionError``."""
        self._known(agent.name)
        _check_versions({agent.name: agent}, self.store, self.sink)
        self._replaced.append(self.agents[agent.name])
        self.agents = {**self.agents, agent.name: agent}
        for ref, actor in self._actors.items():
            if ref.agent == agent.name:
                actor.adopt(agent)

    def _known(self, agent: str) -> None:
        if agent not in self.agents:
            raise NotFoundError(f"no agent {agent!r}", fix=f"agents here: {', '.join(self.agents)}")

    # -- sessions --------------------------------------------------------------------------------------
    def session(self, agent: str, key: str) -> Session:
        """The handle of a session. Raises ``NotFoundError`` for an unknown agent and
        ``InvalidInputError`` for a key that can't be one."""
        self._known(agent)
        check_key(key, "session")
        return Session(self, SessionRef(agent, key))

    def actor(self, ref: SessionRef) -> Actor:
        actor = self._actors.get(ref)
        if actor is None:
            self._make_room()
            world = World(
                agent=self.agents[ref.agent],
                ref=ref,
                store=self.store,
                sink=self.sink,
                limits=self.limits,
                clock=self.clock,
                tasks=self.tasks,
                publish=self.publish,
            )
            actor = self._actors[ref] = Actor(self, world)
        else:
            self._actors.move_to_end(ref)
        return actor

    def actors(self) -> Sequence[Actor]:
        return list(self._actors.values())

    def _make_room(self) -> None:
        excess = len(self._actors) + 1 - self.max_sessions
        if excess <= 0:
            return
        # No further than those that go: this is done each time another comes.
        idle = (ref for ref, actor in self._actors.items() if actor.idle())
        for ref in list(islice(idle, int(excess))):
            self._actors.pop(ref).stand(0)

    def edition_for(self, agent: AgentDef, source: str, trigger: Begins) -> Terms:
        """The surface and edition that a turn of this source, begun like this, gets today."""
        key = (id(agent), source, trigger)  # each is kept as long as we live
        made = self._editions.get(key)
        if made is None:
            with contained:  # an adapter says its name and settings
                surface = freeze_surface(agent, source, trigger)
                made = self._editions[key] = (surface, edition_for(agent, surface))
        return made

    async def status(self, ref: SessionRef) -> SessionStatus:
        row = await self.store.session(ref)
        if row is None:
            return "new"
        if row.reset_at is not None:
            return "resetting"
        states: tuple[SessionStatus, ...] = ("suspended", "running")
        for state in states:
            if await self.store.list_turns(ref=ref, state=state, limit=1):
                return state
        if await self.store.list_turns(ref=ref, state="queued", limit=1):
            return "running"
        return "new" if row.next_index == 0 else "idle"

    async def reset_done(
        self, ref: SessionRef, waiting: asyncio.Future[Reset], generation: int
    ) -> Reset:
        """Wait until a reset has ended this generation, wherever it is carried out."""
        while True:
            try:
                async with asyncio.timeout(self.poll):
                    return await asyncio.shield(waiting)
            except TimeoutError:
                row = await self.store.session(ref)
                if row is not None and row.generation > generation:
                    return Reset(
                        previous_session=f"{ref.key}#g{generation}", generation=generation + 1
                    )
                self.actor(ref).wake()

    # -- what the engine tells the outside ---------------------------------------------------------------
    async def publish(self, ref: SessionRef, events: Sequence[TurnEvent]) -> None:
        """To the sink. What it raises is logged and must not break the turn."""
        if not events:
            return
        try:
            with contained:
                await self.sink.publish(ref, events)
        except Exception:
            log.exception("the event sink failed", extra={"session": ref.key})

    async def report_failure(self, world: World, record: TurnRecord, error: BaseException) -> None:
        """Hand a failed turn to ``on_turn_error``; the log takes it if there is none or it throws."""
        where = TurnFailure.of(error_record(record) or {})
        told = TurnError(
            agent=world.ref.agent,
            session=world.ref.key,
            turn_id=record.turn_id,
            phase=where.phase,
            step=where.step,
            error=error,
        )
        hook = world.agent.on_turn_error
        if hook is not None:
            try:
                with contained:
                    done = hook(told)
                    if inspect.isawaitable(done):
                        await done
            except Exception:
                log.exception("on_turn_error failed", extra={"turn_id": record.turn_id})
            else:
                return
        log.error(
            "turn %s failed%s: %s",
            record.turn_id,
            f" in {told.step}" if told.step else "",
            error,
            exc_info=error,
            extra={"turn_id": record.turn_id, "session": world.ref.key},
        )

    async def grant(
        self, ref: SessionRef, input_id: str, *, by: str, principal: Speaker | None
    ) -> Grant | None:
        agent = self.agents[ref.agent]
        found = await self.store.find_request(input_id)
        if found is None or found.ref != ref:
            raise NotFoundError(f"no request {input_id!r} in this session")
        body = request_body(found.request.body)
        policy = body.answerers.get("policy")
        if not isinstance(policy, str) or agent.authorize_answer is None:
            return None
        scope = body.answerers.get("scope")
        record = await self.store.turn(ref, found.request.turn_id)
        speaker = None if record is None else opening_from(record.body).speaker
        asked = AskedRequest(
            tool=found.request.tool,
            arguments=body.arguments,
            prompt=body.prompt,
            digest=found.request.digest,
        )
        try:
            with contained:
                allowed = await agent.authorize_answer(
                    policy=policy,
                    scope=None if scope is None else str(scope),
                    by=by,
                    principal=principal,
                    request=asked,
                    speaker=speaker,
                    services=agent.services,
                )
        except Exception as error:
            raise AuthorizeHookError(
                "the agent's authorize_answer hook failed; the answer was not applied",
                fix="look at the log, mend the hook, and send the same answer again",
            ) from error
        if allowed is not True:
            return None
        return Grant(
            policy=policy,
            scope=None if scope is None else str(scope),
            by=by,
            request=found.request.id,
            issuer=self,
        )


def _check_versions(agents: Mapping[str, AgentDef], store: SessionStore, sink: EventSink) -> None:
    spoken = [("store", store.seam_version, STORE_SEAM_VERSION)]
    spoken.append(("event sink", sink.seam_version, SINK_SEAM_VERSION))
    spoken += [
        (f"model of {name}", agent.model.seam_version, MODEL_SEAM_VERSION)
        for name, agent in agents.items()
    ]
    for what, theirs, ours in spoken:
        if theirs != ours:
            raise SeamVersionError(
                f"the {what} was written for seam version {theirs}, this engine speaks {ours}",
                fix="install versions of the two that match",
            )
