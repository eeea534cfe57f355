"""Speaking first: a turn that nobody's message opened, and a schedule's tick that opens one.

The outcome of the tick commits with the turn, so a tick has one turn however many hosts and restarts
see it come.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, Protocol, cast
from zoneinfo import ZoneInfo

from channels.protocol import Channel, WhenSuspended
from gateway.definition.author import Schedule, Target
from gateway.engine.errors import DeliverUnsupportedError
from gateway.engine.kinds import JsonObject, Millis, TurnRow
from gateway.engine.outcomes import Started, TurnInput
from gateway.engine.records import NEW_TURN, Companion, OccurrenceKept
from gateway.engine.runtime import Runtime
from gateway.engine.struct import replace, struct
from gateway.schedules.seeding import asked

_UNFIT = re.compile(r"[^!\"$-.0-\[\]-~]+")
"""What can't stand in a session's key."""


class Room(Protocol):
    """What of a context it takes to speak first."""

    async def run_detached(
        self, message: TurnInput, *, session: str, when_suspended: WhenSuspended
    ) -> Started: ...

    async def run_delivered(
        self, message: TurnInput, *, session: str, when_suspended: WhenSuspended
    ) -> Started: ...


async def receive(  # noqa: PLR0913 - a turn that nobody asked for has these parts
    channel: Channel | str,
    ctx: Room,
    *,
    seed: str,
    target: str | JsonObject | None,
    trigger: str,
    session: str,
    companions: tuple[Companion, ...] = (),
    failed: str | None = None,
) -> Started:
    """Start a turn with ``seed`` on behalf of ``trigger`` (``cron:digest``), rendered by ``channel`` (or
    the one of this name) at ``target``, an address there, like any other; without a target nobody is shown
    it. Behind a request it waits. ``failed`` says why it can't begin: it is shown as one that failed.

    Raises ``DeliverUnsupportedError`` before anything starts; a turn that it returned is committed.
    """
    source = channel if isinstance(channel, str) else channel.source
    given = TurnInput(
        message=seed,
        source=source,
        trigger="proactive",
        by=trigger,
        target={"source": source, "address": target} if isinstance(target, str) else target,
        companions=companions,
        failed=failed,
    )
    start = ctx.run_detached if target is None else ctx.run_delivered
    return await start(given, session=session, when_suspended="queue")


@struct(frozen=True, slots=True, kw_only=True)
class Firing:
    """One tick to fire. ``by``: what or who wants it, ``cron:<schedule>`` or a person."""

    agent: str
    name: str
    schedule: Schedule
    due: Millis
    by: str
    late: bool = False


@struct(frozen=True, slots=True)
class Fired:
    """A committed turn."""

    turn_id: str
    session: str


async def run_once(ctx: Room, runtime: Runtime, firing: Firing) -> Fired | None:
    """Fire one tick; ``None`` when its seed function has nothing to ask, which is kept as well.

    Raises ``DuplicateClaimError`` for a tick that has an outcome already, ``SeedError``, and whatever
    ``Session.start`` and ``receive`` raise; nothing was started then.
    """
    now = runtime.clock.now()
    seed = await _seed(runtime, firing)
    why = f"late by {_span(now - firing.due)}" if firing.late else ""
    if seed is None:
        await runtime.store.ledger.note([kept(firing, "skipped", now, "nothing to ask")])
        return None
    seed = _marked_late(seed, firing, now) if firing.late else seed
    return await _begun(ctx, firing, seed, kept(firing, "fired", now, why, turn=NEW_TURN))


async def run_failed(ctx: Room, runtime: Runtime, firing: Firing, why: str) -> Fired:
    """Keep that a tick failed, and with it a turn that did: who would have read what came of it is told
    there, or where it can't be told, the turn is listed.

    Raises ``DuplicateClaimError`` for a tick that has an outcome already, and what ``Session.start`` raises.
    """
    row = kept(firing, "failed", runtime.clock.now(), why, turn=NEW_TURN)
    seed = f"(the schedule {firing.name} couldn't begin)"
    try:
        return await _begun(ctx, firing, seed, row, failed=why)
    except DeliverUnsupportedError:
        unseen = replace(firing, schedule=replace(firing.schedule, target=None))
        return await _begun(ctx, unseen, seed, row, failed=why)


async def _begun(
    ctx: Room, firing: Firing, seed: str, row: OccurrenceKept, failed: str | None = None
) -> Fired:
    target = cast("Target | None", firing.schedule.target)
    session = f"cron:{_UNFIT.sub('-', firing.name)}:{occurrence(firing.schedule, firing.due)}"
    started = await receive(
        "cron" if target is None else target.channel,
        ctx,
        seed=seed,
        target=None if target is None else target.address,
        trigger=firing.by,
        session=session,
        companions=(row,),
        failed=failed,
    )
    return Fired(started.turn_id, session)


def kept(
    firing: Firing,
    outcome: Literal["fired", "skipped", "failed"],
    now: Millis,
    why: str = "",
    turn: TurnRow | None = None,
) -> OccurrenceKept:
    """The tick's outcome, to be committed: with its turn, if there is one."""
    return OccurrenceKept(
        agent=firing.agent,
        schedule=firing.name,
        due=firing.due,
        outcome=outcome,
        turn=turn,
        by=firing.by,
        why=why,
        at=now,
    )


def occurrence(schedule: Schedule, due: Millis) -> str:
    """A tick as the wall shows it: ``2026-11-30T09:00+01:00``. Between two minutes there is one only
    when somebody asks for it, and then to the millisecond."""
    exact = "milliseconds" if due % 60_000 else "minutes"
    return _local(schedule, due).isoformat(timespec=exact)


def _local(schedule: Schedule, at: Millis) -> datetime:
    return datetime.fromtimestamp(at / 1000, ZoneInfo(schedule.timezone))


async def _seed(runtime: Runtime, firing: Firing) -> str | None:
    seed = firing.schedule.seed
    if isinstance(seed, str):
        return seed
    return await asked(
        seed, _local(firing.schedule, firing.due), runtime.agents[firing.agent].services
    )


def _marked_late(seed: str, firing: Firing, now: Millis) -> str:
    due, by = occurrence(firing.schedule, firing.due), _span(now - firing.due)
    return (
        f'<late due="{due}" by="{by}">\nNo host ran when this was due.'
        f" Begin what you write by saying that it comes late.\n</late>\n\n{seed}"
    )


def _span(millis: int) -> str:
    minutes = max(1, round(millis / 60_000))
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if hours and rest else f"{hours} h" if hours else f"{rest} min"
