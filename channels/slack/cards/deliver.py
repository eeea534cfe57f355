"""Keeping a card what its request is: posted once, rewritten as often as it takes, reminded of.

Nothing here is told what happened. It looks how the request stands, and at what is shown of it, and makes
the one the other, a call at a time; what a call is about to make is written down before it.

Sources: "chat.postMessage", "chat.update", "Message metadata" in Slack's docs (docs.slack.dev). A post has
no key that would make it happen once; its metadata, which only the app sees, tells it apart. ``chat.update``
takes blocks away that don't come along, and reads ``parse`` as ``client`` unless told otherwise.
"""

from __future__ import annotations

import json
import secrets
from typing import Literal, cast

from channels.contract import SETTLING, NotSent, RetryLater, SentOrNot, Undeliverable
from channels.protocol import Card, ChannelContext, Journal
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
from channels.slack.cards import looks, words
from channels.slack.cards.card import Rendered, gone, notice, rendered
from channels.slack.parsing.envelope import slack_id, text
from channels.slack.settings import SlackOptions
from channels.slack.writing.acts import Target, metadata, post, stamp, target_of
from channels.slack.writing.came import FIXED
from channels.slack.writing.reconcile import find
from channels.slack.writing.tempo import LONGEST_WAIT
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Binding, Delivery, Part, SettledState
from gateway.engine.struct import replace
from gateway.engine.wire import dumps

SOON = 2.0
"""Seconds until whoever looks for a lost message may find it."""

GONE = "message_not_found"


async def deliver_card(
    delivery: Delivery, ctx: ChannelContext, api: SlackApi, options: SlackOptions
) -> None:
    """Show ``delivery.request`` as it stands, however it got there. Raises ``RetryLater``,
    ``Undeliverable`` or ``LeaseLostError``."""
    journal = ctx.journal(delivery)
    satisfied = journal.wanted
    card = None if delivery.request is None else await ctx.card(delivery.request)
    work = _Work(delivery, journal, ctx, api, options, card)
    if any(part.state == "opening" for part in journal.parts):
        raise work.later(SOON, "whether a message was sent isn't known yet")
    await work.show()
    remind_at = await work.remind()
    await work.settle(satisfied, remind_at)


async def reconcile_card(delivery: Delivery, api: SlackApi) -> SentOrNot:
    """What became of the message that was about to be sent. It says itself where that was to be: a card's
    channel may be one that the target doesn't spell out, a reminder stands below its card."""
    for part in delivery.parts:
        if part.state == "opening":
            meant = cast("JsonObject", json.loads(part.extra)) if part.extra else delivery.target
            return await find(part, meant, api)
    return NotSent()


class _Work:
    """One delivery under way."""

    def __init__(
        self,
        delivery: Delivery,
        journal: Journal,
        ctx: ChannelContext,
        api: SlackApi,
        options: SlackOptions,
        card: Card | None,
    ) -> None:
        self._delivery = delivery
        self._journal = journal
        self._ctx = ctx
        self._api = api
        self._options = options
        self._card = card

    def later(self, seconds: float, why: str) -> RetryLater:
        return RetryLater(Millis(self._ctx.clock.now() + round(seconds * 1000)), why)

    @property
    def _open(self) -> bool:
        return self._card is not None and looks.is_open(self._card)

    def _shown(self) -> Part | None:
        """The card that people see."""
        there = [one for one in self._journal.parts if one.kind == "card" and one.state != "gone"]
        return there[-1] if there else None

    # -- the card ------------------------------------------------------------------------------------------
    async def show(self) -> None:
        part = self._shown()
        if part is not None:
            part = await self._redraw(part)
        if part is None and (self._open or self._dropped()):
            await self._post_card()

    def _dropped(self) -> bool:
        """Whether the last card was taken away by us, for another to take its place."""
        cards = [one for one in self._journal.parts if one.kind == "card" and one.ref is not None]
        return bool(cards) and cards[-1].state == "gone" and _extra(cards[-1]).get("drop") is True

    async def _redraw(self, part: Part) -> Part | None:
        """``None``: it isn't there any more."""
        at = _stands(part)
        made = self._render(at.installation)
        if _extra(part).get("drop") is True:
            await self._drop(part, at)
            return None
        unsure, now = _unsure(part), self._ctx.clock.now()
        if made.hash == part.hash and not unsure:
            return part
        if unsure > now:
            raise self.later((unsure - now) / 1000, "a lost change may still be carried out")
        args: JsonObject = {
            "channel": at.channel,
            "ts": stamp(part),
            "text": made.text,
            "blocks": [*made.blocks],
            "parse": "none",
            "link_names": False,
        }
        outcome = await self._call(at.installation, "chat.update", args, "")
        if isinstance(outcome, Refused) and outcome.code == GONE:
            await self._journal.record(replace(part, state="gone"))
            return None
        if isinstance(outcome, Refused) and outcome.code in FIXED:
            part = replace(part, extra=dumps({"drop": True}))
            await self._journal.record(part)
            await self._drop(part, at)
            return None
        if isinstance(outcome, Ambiguous):
            extra = dumps({"unsure": now + SETTLING})
            await self._journal.record(replace(part, extra=extra))
        self._done(outcome, at)
        part = replace(part, hash=made.hash, extra=None)
        await self._journal.record(part)
        return part

    async def _drop(self, part: Part, at: Target) -> None:
        """Take a card away that can't be changed. One that can't be taken away either is left alone."""
        args: JsonObject = {"channel": at.channel, "ts": stamp(part)}
        outcome = await self._call(at.installation, "chat.delete", args, "")
        if isinstance(outcome, NotNow) or (
            isinstance(outcome, Refused) and outcome.code in FOR_GOOD
        ):
            self._done(outcome, at)
        await self._journal.record(replace(part, state="gone"))

    def _render(self, installation: str) -> Rendered:
        if self._card is None:
            return gone()
        return rendered(self._card, self._options, installation, self._journal.wanted)

    async def _post_card(self) -> None:
        at = target_of(self._delivery.target)
        if at is None:
            raise Undeliverable("no_place", "the request's target names no channel")
        await self._post("card", at, self._render(at.installation))

    async def _post(self, kind: Literal["card", "remind"], at: Target, made: Rendered) -> None:
        part = Part(
            delivery=self._delivery.id,
            n=self._number(),
            kind=kind,
            state="opening",
            nonce=secrets.token_urlsafe(12),
            hash=made.hash,
            opened_at=self._ctx.clock.now(),
            extra=dumps(
                {"installation": at.installation, "channel": at.channel, "thread_ts": at.thread}
            ),
        )
        meta = metadata(self._delivery, part)
        args: JsonObject = {**post(at, made.blocks, made.text, meta), "link_names": False}
        outcome = await self._call(at.installation, "chat.postMessage", args, at.channel, part)
        if isinstance(outcome, NotNow | Refused):
            await self._journal.record(replace(part, state="gone"))
        answer = self._done(outcome, at)
        at = replace(at, channel=slack_id(answer, "channel") or at.channel)
        ref = at.ref(text(answer, "ts"))
        await self._journal.record(replace(part, state="open", ref=ref))

    def _number(self) -> int:
        """Of the next part: that of one which came to nothing, if there was one."""
        parts = self._journal.parts
        unsent = next((one.n for one in parts if one.state == "gone" and one.ref is None), None)
        return len(parts) if unsent is None else unsent

    # -- calls ---------------------------------------------------------------------------------------------
    async def _call(
        self,
        installation: str,
        method: str,
        args: JsonObject,
        subject: str,
        meant: Part | None = None,
    ) -> Outcome:
        """``meant`` is what the call would make: written down before it."""
        key, pacer = (installation, method, subject), self._ctx.pacer
        while (wait := pacer.ready(key)) > 0:
            if wait > LONGEST_WAIT:
                raise self.later(wait, f"{method} is within its budget later")
            await self._ctx.waits.sleep(wait)
        self._journal.outlasts(CALL_SECONDS)
        if meant is not None:
            await self._journal.record(meant)
            self._journal.outlasts(CALL_SECONDS)
        pacer.take(key)
        outcome = await self._api.call(installation, method, args)
        if isinstance(outcome, NotNow):
            pacer.penalise(key, outcome.after)
        return outcome

    def _done(self, outcome: Outcome, at: Target) -> JsonObject:
        match outcome:
            case Ok(data):
                return data
            case NotNow(after, why):
                raise self.later(after, why)
            case Refused():
                raise dead(outcome, at.installation, at.channel) or Undeliverable(
                    outcome.code, "Slack doesn't take the card; mend that and retry the delivery"
                )
            case _:
                raise self.later(SOON, outcome.why)

    # -- reminders -----------------------------------------------------------------------------------------
    async def remind(self) -> Millis | None:
        """Say again that somebody is waited for, if it is time; when the next time is."""
        part = self._shown()
        if part is None or self._card is None or not self._open:
            return None
        due = self._due(part)
        if due is None or due > self._ctx.clock.now():
            return due
        thread = text(self._delivery.target, "thread_ts") or stamp(part)
        at = replace(_stands(part), thread=thread)
        await self._post("remind", at, self._reminder(self._card, at))
        return self._due(part)

    def _due(self, part: Part) -> Millis | None:
        said = [one for one in self._journal.parts if one.kind == "remind" and one.state != "gone"]
        after = self._options.remind_every if said else self._options.remind_after
        since = said[-1].opened_at if said else part.opened_at
        return None if after is None else Millis(since + round(after * 1000))

    def _reminder(self, card: Card, at: Target) -> Rendered:
        who = words.may_decide(card.answerers, self._options, at.installation)
        section = words.section([words.text("This still waits for "), *who])
        return Rendered(blocks=[words.rich(section)], text=notice(card), hash="")

    # -- letting go ------------------------------------------------------------------------------------------
    async def settle(self, satisfied: int, remind_at: Millis | None) -> None:
        part, delivery = self._shown(), self._delivery
        if part is None or part.ref is None:
            # Nobody was asked here, or somebody took the question away: there is nothing to take back.
            state: SettledState = "done" if self._journal.parts else "silent"
            await self._journal.settle(state, satisfied=satisfied, seq=delivery.seq)
            return
        over = self._card is None or looks.is_over(self._card)
        await self._journal.settle(
            "done" if over else "resting",
            satisfied=satisfied,
            seq=delivery.seq,
            hash=part.hash,
            ref=part.ref,
            lane=f"{delivery.lane.partition('#')[0]}#{stamp(part)}",
            places=(self._place(part.ref),),
            remind_at=remind_at,
        )

    def _place(self, ref: str) -> Binding:
        """Who replies under the card speaks in the session that asked."""
        return Binding(
            place=ref,
            agent=self._delivery.agent,
            session=self._delivery.session,
            turn=self._delivery.turn,
            kind="post",
            at=self._ctx.clock.now(),
        )


def _unsure(part: Part) -> int:
    """Until when a change whose answer was lost may still be carried out, and would undo another."""
    until = _extra(part).get("unsure")
    return until if isinstance(until, int) else 0


def _extra(part: Part) -> JsonObject:
    return cast("JsonObject", json.loads(part.extra)) if part.extra else {}


def _stands(part: Part) -> Target:
    """Where a message of ours stands, by its reference."""
    _, installation, channel, _ = (part.ref or ":::").split(":")
    return Target(installation=installation, channel=channel)
