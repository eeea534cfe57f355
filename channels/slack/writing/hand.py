"""The hand that writes: makes one call at a time about one delivery, and notes what came of it.

The order is what makes a crash harmless. The right to write must outlast the call; a message that is about to
come into being is noted before it; what came of a call is noted before anything else is done.
"""

from __future__ import annotations

from channels.contract import SETTLING, NotSent, RetryLater, Sent, Undeliverable, Unknown
from channels.protocol import ChannelContext, PaceKey
from channels.slack.calls import (
    CALL_SECONDS,
    FOR_GOOD,
    Ambiguous,
    NotNow,
    Ok,
    Outcome,
    Refused,
    SlackApi,
    dead,
)
from channels.slack.writing import acts, status
from channels.slack.writing.acts import Act, Look, Send, Target
from channels.slack.writing.came import Came, came
from channels.slack.writing.desk import Desk
from channels.slack.writing.reconcile import find, taken_by
from channels.slack.writing.sheet import Sheet
from channels.slack.writing.shown import extra_of, with_extra
from channels.slack.writing.tempo import REFUSED_FOR, Tempo
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Part
from gateway.engine.struct import replace

STORE_AGAIN = 0.5
UNKNOWN_AGAIN = 30.0
"""Seconds until it is tried again, as the one above."""
LAST_TRIES = 8
"""Of the status that ends a turn: no card waits behind it, and nothing else says that the work is over."""


class Hand:
    """``tempo`` is its memory. Nothing here decides what to write."""

    def __init__(self, delivery: Delivery, to: Target, ctx: ChannelContext, api: SlackApi) -> None:
        self.delivery = delivery
        self.to = to
        self.ctx = ctx
        self.journal = ctx.journal(delivery)
        self._began = ctx.clock.now() - round(ctx.waits.monotonic() * 1000)
        now = self.now()
        self.tempo = Tempo(touched={part.n: now for part in self.journal.parts}, begun=now)
        self._api = api

    def now(self) -> Millis:
        """The clock's time as it was at first, and what has passed since: who sets the clock while something is
        written changes nothing about how long ago anything was."""
        return Millis(self._began + round(self.ctx.waits.monotonic() * 1000))

    @property
    def untouched(self) -> bool:
        """No status was set for this turn, now or by whoever had the delivery before."""
        return not self.tempo.asked and self.tempo.status is None and self.delivery.token <= 1

    def budget(self, method: str) -> float:
        ready = self.ctx.pacer.ready
        return max(ready(self._pace(method)), ready(self._here(method)))

    def desk(self, sheet: Sheet) -> Desk:
        """What the next step is decided from."""
        return Desk(
            sheet=sheet,
            parts=self.journal.parts,
            delivery=self.delivery,
            to=self.to,
            tempo=self.tempo,
            budget=self.budget,
            now=self.now(),
            untouched=self.untouched,
        )

    def later(self, seconds: float, why: str) -> RetryLater:
        return RetryLater(Millis(self.ctx.clock.now() + round(seconds * 1000)), why)

    async def recover(self) -> None:
        """Whoever wrote before was torn away: their streams may show more than was noted."""
        if self.journal.recovered:
            live = [part for part in self.journal.parts if part.state == "live"]
            await self._note(*(replace(part, state="broken") for part in live))

    # -- calls -----------------------------------------------------------------------------------------
    async def do(self, act: Act) -> float | None:
        """Make a call. Returns in how many seconds to try again if nothing was done.

        Raises ``Undeliverable`` for a refusal that is for good.
        """
        self.journal.outlasts(CALL_SECONDS)
        if act.part is not None and act.before is None:
            await self._note(act.part)
            self.journal.outlasts(CALL_SECONDS)  # the store may have taken its time
        begun = self.now()
        outcome = await self._call(act.method, act.args)
        found = came(act, outcome, self.to, begun)
        self._remember(act, outcome, found)
        if found.parts or not (isinstance(outcome, Ambiguous) and act.before is None and act.part):
            await self._note(*found.parts)
        if found.lost is not None:
            raise found.lost
        return found.again

    def _remember(self, act: Act, outcome: Outcome, found: Came) -> None:
        now = self.now()
        if act.part is not None:
            self.tempo.touched[act.part.n] = now
        closed = found.closed
        if act.kind == "status" and isinstance(outcome, NotNow):
            self.tempo.asked = True  # its answer may be all that was lost
            if self.delivery.attempts >= LAST_TRIES:
                closed = REFUSED_FOR
        if found.unnamed:
            self.tempo.unnamed = True
        if found.shut:
            self.tempo.shut = True
        if closed is not None:
            self.ctx.pacer.penalise(self._here(act.method), closed)
        if not isinstance(outcome, Ok):
            return
        if act.status is not None:
            self.tempo.status, self.tempo.status_at = act.status, now
        elif act.kind in {"start", "post"} and status.method(self.budget) == acts.OLD_STATUS:
            self.tempo.status = None  # the older kind goes away with a message

    async def look(self, step: Look) -> None:
        """See what became of a send. Raises ``RetryLater`` if that can't be told now."""
        self.journal.outlasts(CALL_SECONDS)
        part = step.part
        self.tempo.looked = self.now()
        taken = taken_by(self.ctx.ledger, self.delivery.source)
        match await find(part, self.delivery.target, self._api, taken):
            case Sent(ref):
                await self._note(_adopted(part, ref))
            case NotSent() if self.now() >= part.opened_at + SETTLING:
                await self._note(replace(part, state="gone"))
            case NotSent():
                pass
            case Unknown(why, after):
                raise self.later(UNKNOWN_AGAIN if after is None else after, why)

    async def rewrite(self, *parts: Part) -> None:
        """Note what needs no call."""
        if parts:
            await self._note(*parts)

    async def hush(self, letter: Undeliverable) -> None:
        """Nothing more comes, so the thread is no longer at work. At most once."""
        chosen = status.due("active", self.tempo, self.budget, self.now())
        if letter.reason in FOR_GOOD or not self.to.thread or chosen is None:
            return
        act = status.act(chosen, "active", self.to)
        self.journal.outlasts(CALL_SECONDS)
        await self._call(act.method, act.args)
        await self._note()

    # -- files -----------------------------------------------------------------------------------------
    async def send(self, step: Send) -> float | None:
        """Upload a file and share it: only the last of three calls is seen by anybody."""
        body = step.file.text.encode("utf-8", "replace")
        args: JsonObject = {"filename": step.file.name, "length": len(body)}
        self.journal.outlasts(CALL_SECONDS)
        place = await self._call(acts.UPLOAD, args)
        if not isinstance(place, Ok):
            return await self._unsent(place)
        url, upload = place.data.get("upload_url"), place.data.get("file_id")
        self.journal.outlasts(CALL_SECONDS)
        put = await self._api.upload(str(url), body)
        if not isinstance(put, Ok):
            return await self._unsent(put)
        return await self._share(step, str(upload))

    async def _share(self, step: Send, upload: str) -> float | None:
        part = with_extra(step.part, replace(extra_of(step.part), upload=upload))
        args: JsonObject = {
            "files": [{"id": upload, "title": step.file.name}],
            "channel_id": self.to.channel,
        }
        if self.to.thread:
            args["thread_ts"] = self.to.thread
        self.journal.outlasts(CALL_SECONDS)
        await self._note(part)
        self.journal.outlasts(CALL_SECONDS)
        outcome = await self._call(acts.SHARE, args)
        if isinstance(outcome, Ok):
            await self._note(_adopted(part, self.to.ref(upload)))
            return None
        if isinstance(outcome, Ambiguous):
            return None  # it stays opening, and somebody looks
        return await self._unsent(outcome, part)

    async def _unsent(self, outcome: Outcome, part: Part | None = None) -> float:
        await self._note(*([] if part is None else [replace(part, state="gone")]))
        if isinstance(outcome, Refused):
            detail = f"Slack refuses the file ({outcome.code}); retry the delivery"
            letter = dead(outcome, self.to.installation, self.to.channel)
            raise letter or Undeliverable(outcome.code, detail)
        return outcome.after if isinstance(outcome, NotNow) else 1.0

    # -- under all of them ---------------------------------------------------------------------------------
    async def _call(self, method: str, args: JsonObject) -> Outcome:
        self.ctx.pacer.take(self._pace(method))
        outcome = await self._api.call(self.to.installation, method, args)
        if isinstance(outcome, NotNow):
            self.ctx.pacer.penalise(self._pace(method), outcome.after)
        return outcome

    async def _note(self, *parts: Part) -> None:
        """What was done is known to nobody else, so this doesn't give up before the right to write
        is lost."""
        while True:
            try:
                return await self.journal.record(*parts)
            except StoreUnavailableError:
                await self.ctx.waits.sleep(STORE_AGAIN)

    def _pace(self, method: str) -> PaceKey:
        return (self.to.installation, method, self.to.channel if method == acts.POST else "")

    def _here(self, method: str) -> PaceKey:
        """What a refusal closes: the method in this channel."""
        return (self.to.installation, method, self.to.channel)


def _adopted(part: Part, ref: str) -> Part:
    """A message that was found. A post and a file are there whole; how far a stream came isn't known."""
    match part.kind:
        case "stream":
            return replace(part, state="broken", ref=ref)
        case "file":
            return replace(part, state="final", ref=ref)
        case _:
            return replace(part, state="open", ref=ref)
