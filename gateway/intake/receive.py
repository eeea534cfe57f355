"""What happens before the platform is told "received": judge, keep, and nothing slower than that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from channels.contract import Answer, Control, Ignored, Inbound, Parsed, Verdict
from channels.protocol import Channel
from gateway.engine.errors import DuplicateClaimError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Known
from gateway.engine.records import Companion, Held
from gateway.engine.runtime import Runtime
from gateway.engine.struct import replace
from gateway.intake import keys
from gateway.intake.accept import COPY, Entrance, Letter, spoken
from gateway.intake.decide import asked, asked_of_place, decide
from gateway.intake.looks import next_look, retry_at
from gateway.intake.stored import Kept, Saying, body_of, kind_of
from gateway.intake.verdicts import Judgement, verdict

SEEN = Judgement(word="duplicate", rule="event-seen")
DONE_BEFORE = Judgement(word="duplicate", rule="key-claimed")


class Intake:
    """The way in of one agent for one channel. ``wake`` tells the inbox that it has work."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        agent: str,
        channel: Channel,
        wake: Callable[[], None],
    ) -> None:
        self._agent = agent
        self._source = channel.source
        self._wake = wake
        self._clock = runtime.clock
        self._store = runtime.store
        self._ledger = runtime.store.ledger
        self._entrance = Entrance(runtime, agent, channel.source)

    async def receive(self, parsed: Parsed) -> Verdict:
        """Judge a verified event. When this returns, the verdict is committed together with all that
        follows from it. ``StoreUnavailableError``: nothing is certain, and the platform shall send
        it again."""
        match parsed:
            case Ignored():
                made = Judgement(word=parsed.verdict, rule=parsed.rule, said=parsed.say)
                return await self._refuse(parsed, made, parsed.reply)
            case Inbound():
                return await self._message(parsed)
            case Control(kind="edit", inbound=Inbound() as edited):
                return await self._edit(parsed, edited)
            case Control(kind="reset"):
                return await self._keep(parsed, "reset:kept", await self._generation(parsed))
            case Control():
                return await self._keep(parsed, f"{parsed.kind}:kept")
            case Answer():
                return await self._keep(parsed, "answer:kept")

    # -- messages ----------------------------------------------------------------------------------
    async def _message(self, inbound: Inbound) -> Verdict:
        known = await self._ledger.known(asked(self._source, inbound))
        if known.verdict is not None:
            # Judged before: what came of it then stays, and only the copy is counted.
            await self._note(inbound, SEEN)
            return Verdict(word=SEEN.word, rule=SEEN.rule, turn_id=known.verdict.turn_id)
        now = self._clock.now()
        made = decide(inbound, known, self._agent, now)
        match made.word:
            case "accepted":
                return await self._let_in(inbound, known, made)
            case "duplicate":
                return await self._copy(inbound, known)
            case "held" if made.by_hand:
                return await self._note(inbound, made)
            case "held":
                return await self._hold(inbound, made, next_look(now, now))
            case _:
                person = inbound.author in {"person", "external"}
                return await self._note(inbound, made, spoken(inbound, now) if person else ())

    async def _let_in(self, inbound: Inbound, known: Known, made: Judgement) -> Verdict:
        ref = self._entrance.session_of(inbound.place, known)
        letter = Letter(inbound=inbound, rule=made.rule, ref=ref, replace=inbound.replace)
        entered = await self._entrance.enter(letter)
        told = entered.made
        match entered.outcome:
            case "in":
                return _told(told, inbound.turn_id)
            case "duplicate":
                known = await self._ledger.known(asked(self._source, inbound))
                return await self._copy(inbound, known)
            case "busy":
                return await self._hold(inbound, told, retry_at(1, self._clock.now()))
            case "refused":
                return await self._refuse(inbound, told, inbound.target)

    async def _copy(self, inbound: Inbound, known: Known) -> Verdict:
        """Another telling of a post that was let in before; it points at the same turn."""
        verdict = await self._note(inbound, replace(COPY, turn=keys.taker(known)))
        whose = next((claim.turn_id for claim in known.claims if claim.turn_id), None)
        return replace(verdict, turn_id=whose)

    async def _hold(self, inbound: Inbound, made: Judgement, at: Millis | None) -> Verdict:
        """Keep a message that can't be let in now. It claims nothing: a sibling may still come in,
        and then this one is a copy of it."""
        return await self._note(inbound, made, [self._held(inbound.event_id, inbound, at)])

    # -- what is acted on later ----------------------------------------------------------------------
    async def _keep(
        self, parsed: Answer | Control, rule: str, generation: int | None = None
    ) -> Verdict:
        """Keep what somebody did, once. ``accepted`` says no more than that: the inbox settles what
        came of it."""
        at = self._clock.now()
        rows: list[Companion] = [
            *keys.claims(parsed.keys, at),
            self._held(parsed.event_id, parsed, None, generation),
        ]
        try:
            return await self._note(parsed, Judgement(word="accepted", rule=rule), rows)
        except DuplicateClaimError:
            return await self._note(parsed, DONE_BEFORE)

    async def _edit(self, control: Control, edited: Inbound) -> Verdict:
        """Text that wasn't said to us isn't kept, not even for a moment: what it was said to is
        looked up first."""
        wanted = asked_of_place(self._source, control.event_id, edited.place)
        known = await self._ledger.known(wanted)
        made = decide(edited, known, self._agent, self._clock.now())
        if made.word in {"accepted", "held"}:
            return await self._keep(control, "edit:kept")
        return await self._note(control, made)

    async def _generation(self, control: Control) -> int | None:
        """The conversation that a reset is meant for, so that it ends no later one."""
        if control.place is None:
            return None
        ref = await self._entrance.session_at(control.place, control.event_id)
        row = await self._store.session(ref)
        return None if row is None else row.generation

    # -- what is written -----------------------------------------------------------------------------
    async def _refuse(self, parsed: Parsed, made: Judgement, reply: JsonObject | None) -> Verdict:
        """Nothing comes of it. If something is to be said, the inbox says it, and once: a copy of the
        event finds it there."""
        if made.said is None or reply is None:
            return await self._note(parsed, made)
        rows: list[Companion] = [
            self._held(parsed.event_id, Saying(reply=reply, words=made.said)),
        ]
        if isinstance(parsed, Inbound):
            # Of a post that several events tell of, its author is told once.
            rows += keys.claims([f"{parsed.post}:told"], self._clock.now())
        try:
            return await self._note(parsed, made, rows)
        except DuplicateClaimError:
            return await self._note(parsed, replace(made, said=None))

    def _held(
        self,
        event_id: str,
        kept: Kept,
        next_try: Millis | None = None,
        generation: int | None = None,
    ) -> Held:
        return Held(
            source=self._source,
            event_id=event_id,
            kind=kind_of(kept),
            body=body_of(kept, generation),
            next_try=next_try,
            at=self._clock.now(),
        )

    async def _note(
        self, parsed: Parsed, made: Judgement, rows: Sequence[Companion] = ()
    ) -> Verdict:
        await self._ledger.note([*rows, verdict(self._source, parsed, made, self._clock.now())])
        if any(isinstance(row, Held) for row in rows):
            self._wake()
        return _told(made, None)


def _told(made: Judgement, turn_id: str | None) -> Verdict:
    return Verdict(word=made.word, rule=made.rule, turn_id=turn_id, said=made.said)
