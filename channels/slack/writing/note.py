"""The line to somebody whose message waits behind a decision: it comes, changes and goes with that."""

from __future__ import annotations

from collections.abc import Sequence

from channels.protocol import ChannelContext, TurnStream
from channels.slack.calls import SlackApi
from channels.slack.settings import SlackOptions
from channels.slack.words import mrkdwn, richtext
from channels.slack.writing import acts
from channels.slack.writing.acts import Act, Look, Rest, Step, Target, Wait
from channels.slack.writing.desk import Desk, remove
from channels.slack.writing.hand import Hand
from channels.slack.writing.sheet import Sheet, decider
from channels.slack.writing.shown import digest, extra_of, nonce
from channels.slack.writing.story import Story
from channels.slack.writing.tempo import LOOK_EVERY, UPDATE_EVERY
from channels.slack.writing.writer import STORE_AGAIN, alongside
from gateway.engine.errors import NotFoundError, StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Part
from gateway.engine.struct import replace
from gateway.outbox.words import queued

LOOK_AGAIN = 300_000
"""Milliseconds. When the turn before is told of, or this one ends, somebody says so; this is for what a
process that died didn't say."""


async def note(
    events: TurnStream,
    delivery: Delivery,
    to: Target,
    ctx: ChannelContext,
    api: SlackApi,
    options: SlackOptions,
) -> None:
    """Show that a turn waits for somebody's decision on an earlier one, as long as it does. Raises
    ``RetryLater``, ``Undeliverable`` and ``LeaseLostError``."""
    story = Story({}, ctx.waits)
    notes = _Notes(story, Hand(delivery, to, ctx, api), options)
    await alongside(story, events, notes.run)


def next_note(desk: Desk, words: str) -> Step:
    """The next step towards a thread that shows these words, or none of ours if they are empty. Pure."""
    there = [part for part in desk.parts if part.state != "gone"]
    part = there[-1] if there else None
    if part is None:
        return _post(desk, words) if words else Rest()
    if part.state == "opening":
        return desk.until(desk.tempo.looked + LOOK_EVERY) or Look(part)
    if not words:
        return remove(desk, part)
    unsure = extra_of(part).unsure
    if part.hash == digest(words) and not unsure:
        return Wait()
    return (
        desk.until(desk.tempo.since(part.n, UPDATE_EVERY))
        or desk.until(unsure)
        or desk.after(acts.UPDATE)
        or Act(
            kind="update",
            method=acts.UPDATE,
            args=acts.update(
                desk.to, part, _blocks(words), _text(words), acts.metadata(desk.delivery, part)
            ),
            part=replace(part, state="open", hash=digest(words), extra=None),
            before=part,
        )
    )


def _post(desk: Desk, words: str) -> Step:
    part = Part(
        delivery=desk.delivery.id,
        n=_number(desk.parts),
        kind="note",
        state="opening",
        nonce=nonce(desk.delivery, _number(desk.parts), len(desk.parts)),
        hash=digest(words),
        opened_at=desk.now,
    )
    meta = acts.metadata(desk.delivery, part)
    args = acts.post(desk.to, _blocks(words), _text(words), meta)
    return desk.after(acts.POST) or Act(
        kind="post", method=acts.POST, args=args, part=part, settles="open"
    )


def _number(parts: Sequence[Part]) -> int:
    return parts[-1].n + 1 if parts else 1


def _blocks(words: str) -> list[JsonObject]:
    """A request's prompt may hold a model's words, so nothing here is read as markup."""
    return [richtext.plain_block(words)]


def _text(words: str) -> str:
    return mrkdwn.literal(words)


class _Notes:
    def __init__(self, story: Story, hand: Hand, options: SlackOptions) -> None:
        self.story = story
        self.hand = hand
        self.options = options

    async def run(self) -> None:
        try:
            await self._keep_true()
        except StoreUnavailableError as error:
            raise self.hand.later(STORE_AGAIN, "the store can't be read now") from error
        except NotFoundError:
            await self._settle()

    async def _keep_true(self) -> None:
        hand, seen, words = self.hand, "", ""
        satisfied = hand.journal.wanted
        while True:
            state = "over" if self.story.over else self.story.doc.state
            if state != seen:
                seen, words = state, await self._words(state)
            desk = hand.desk(Sheet())
            again: float | None = None
            match next_note(desk, words):
                case Rest():
                    return await self._settle()
                case Wait(until):
                    if until is None:
                        return await self._rest(satisfied)
                    await self.story.heard((until - desk.now) / 1000)
                case Look() as look:
                    await hand.look(look)
                case Act() as act:
                    again = await hand.do(act)
                case _:
                    raise AssertionError("a note is no file")
            if again is not None:
                raise hand.later(again, "Slack asks for time")

    async def _words(self, state: str) -> str:
        if state != "queued":
            return ""
        view = await self.hand.ctx.turn(self.hand.delivery)
        if view.behind is None:
            return ""
        who = decider(view.behind.answerers, self.options.policy_words, self.hand.to.user)
        return queued(view.behind, who)

    async def _settle(self) -> None:
        journal = self.hand.journal
        await journal.settle("done", satisfied=journal.wanted, seq=0)

    async def _rest(self, satisfied: int) -> None:
        """For days, maybe: whoever holds a delivery takes the room of another."""
        at = Millis(self.hand.ctx.clock.now() + LOOK_AGAIN)
        await self.hand.journal.settle("resting", satisfied=satisfied, seq=0, remind_at=at)
