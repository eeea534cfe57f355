"""Letting a message in: one transaction for its keys, verdict, place, turn and deliveries."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from channels.contract import Inbound, Place, Replace
from channels.protocol import NOTE_LANE, QUEUED, REPLY
from gateway.engine.decisions.telling import lane_of
from gateway.engine.errors import (
    BusyError,
    DuplicateClaimError,
    InvalidInputError,
    TooLargeError,
    TurnIdConflict,
)
from gateway.engine.kinds import JsonObject, Millis, SessionRef
from gateway.engine.ledger import Known
from gateway.engine.outcomes import Standing, TurnInput
from gateway.engine.records import (
    NEW_TURN,
    Companion,
    DeliveryOpened,
    PairSeen,
    PlaceBound,
)
from gateway.engine.runtime import Runtime
from gateway.engine.struct import replace, struct
from gateway.intake import keys, words
from gateway.intake.decide import asked_of_place, bound
from gateway.intake.envelope import wrap
from gateway.intake.verdicts import Judgement, verdict


@struct(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message at the door. ``revises``: it was held, and a verdict says so. ``passing`` are turns
    that end because of it: waiting for one of those is nothing to tell anybody about."""

    inbound: Inbound
    rule: str
    ref: SessionRef
    replace: Replace
    revises: bool = False
    passing: Collection[str] = ()


@struct(frozen=True, slots=True, kw_only=True)
class Entered:
    """What became of it. Only ``in`` has left anything behind: then the verdict stands already."""

    outcome: Literal["in", "duplicate", "busy", "refused"]
    made: Judgement


class Overtaken(Exception):
    """A newer post came in before this one: it must not be ended by what was said before it."""


class Entrance:
    """Opens turns for one agent from one source."""

    def __init__(self, runtime: Runtime, agent: str, source: str) -> None:
        self._runtime = runtime
        self._agent = agent
        self._source = source
        self._clock = runtime.clock

    def session_of(self, place: Place, known: Known) -> SessionRef:
        """Where a place belongs, or else the session that is named after it."""
        binding = bound(known, self._agent)
        return SessionRef(self._agent, place.session if binding is None else binding.session)

    async def session_at(self, place: Place, event_id: str) -> SessionRef:
        """The same for an event that isn't a new message. Raises ``StoreUnavailableError``."""
        wanted = asked_of_place(self._source, event_id, place)
        return self.session_of(place, await self._runtime.store.ledger.known(wanted))

    async def enter(self, letter: Letter) -> Entered:
        """Raises ``StoreUnavailableError``."""
        standing: list[Standing] = []

        def companions(where: Standing) -> tuple[Companion, ...]:
            if any(is_newer(turn_id, letter.inbound) for turn_id in where.replaces):
                raise Overtaken
            standing.append(where)
            return accompany(letter, where, self._source, self._clock.now())

        session = self._runtime.session(letter.ref.agent, letter.ref.key)
        inbound = letter.inbound
        given = TurnInput(
            message=wrap(inbound.text, turn_id=inbound.turn_id, speaker=inbound.speaker),
            turn_id=inbound.turn_id,
            source=self._source,
            speaker=inbound.speaker,
            event=event_of(inbound),
            target=inbound.target,
            deliver=True,
            companions=companions,
        )
        try:
            started = await session.start(given, replace=letter.replace, when_suspended="queue")
        except Overtaken:
            return await self.enter(replace(letter, replace=False))
        except (DuplicateClaimError, TurnIdConflict):
            return Entered(outcome="duplicate", made=COPY)
        except BusyError:
            return Entered(outcome="busy", made=Judgement(word="held", rule="host-busy"))
        except TooLargeError:
            made = Judgement(word="policy", rule="too-large", said=words.TOO_LARGE)
            return Entered(outcome="refused", made=made)
        except InvalidInputError:
            made = Judgement(word="unsupported", rule="unfit-message", said=words.REFUSED)
            return Entered(outcome="refused", made=made)
        if not started.created:
            return Entered(outcome="duplicate", made=COPY)
        return Entered(outcome="in", made=judged(letter, standing[-1]))


COPY = Judgement(word="duplicate", rule="post-claimed")


def is_newer(turn_id: str, inbound: Inbound) -> bool:
    """Whether a turn answers what was said after this, in the same channel."""
    channel, _, said = inbound.post.rpartition(":")
    where, _, other = turn_id[: len(inbound.post)].rpartition(":")
    return where == channel and other > said


def judged(letter: Letter, where: Standing) -> Judgement:
    if _waits(letter, where):
        return Judgement(word="queued", rule=letter.rule, turn=NEW_TURN, said=words.QUEUED)
    return Judgement(word="accepted", rule=letter.rule, turn=NEW_TURN)


def _waits(letter: Letter, where: Standing) -> bool:
    return where.waits_for is not None and where.waits_for not in letter.passing


def accompany(letter: Letter, where: Standing, source: str, at: Millis) -> tuple[Companion, ...]:
    """The rows that commit with the turn. Pure."""
    inbound, ref = letter.inbound, letter.ref
    lane = lane_of(source, inbound.target)
    rows: list[Companion] = [
        *keys.claims(inbound.keys, at, NEW_TURN),
        verdict(source, inbound, judged(letter, where), at, revises=letter.revises),
        *(
            PlaceBound(
                place=place, agent=ref.agent, session=ref.key, kind="thread", turn=NEW_TURN, at=at
            )
            for place in (inbound.place.key, *inbound.places)
        ),
        _view(REPLY, inbound, source, lane, at),
        *(PairSeen(pair=one.key, window=one.window, at=at) for one in inbound.budgets),
    ]
    if _waits(letter, where):
        rows.append(_view(QUEUED, inbound, source, lane + NOTE_LANE, at))
    return (*rows, *spoken(inbound, at))


def spoken(inbound: Inbound, at: Millis) -> tuple[Companion, ...]:
    """What the breaker counts: a bot's words, or that a person was there."""
    if inbound.author == "bot":
        return () if inbound.pair is None else (PairSeen(pair=inbound.pair, at=at),)
    return (PairSeen(pair=inbound.place.key, reset=True, at=at),)


def event_of(inbound: Inbound) -> JsonObject:
    """The event that is kept with the turn, and what is still to be read before it opens."""
    return inbound.event if inbound.fetch is None else {**inbound.event, "fetch": inbound.fetch}


def _view(part: str, inbound: Inbound, source: str, lane: str, at: Millis) -> DeliveryOpened:
    return DeliveryOpened(
        turn=NEW_TURN, part=part, source=source, target=inbound.target, lane=lane, at=at
    )
