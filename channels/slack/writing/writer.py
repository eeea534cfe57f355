"""The loop that writes a turn's reply: fold what is told, decide the next step, take it, note it.

The events are always read from the turn's first, since the whole text is needed to know whether what stands
in the thread still agrees with it; a delivery is settled with ``seq`` 0 for that reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from channels.contract import Undeliverable
from channels.protocol import CARD, ChannelContext, TurnStream, TurnView
from channels.slack.calls import SlackApi
from channels.slack.parsing import keys
from channels.slack.settings import SlackOptions
from channels.slack.words.doc import Doc
from channels.slack.writing.acts import Look, Rest, Send, Target, Wait
from channels.slack.writing.hand import Hand
from channels.slack.writing.lay import texts
from channels.slack.writing.plan import next_act
from channels.slack.writing.sheet import Sheet, at_rest, decider, finished, under_way, waits_for
from channels.slack.writing.shown import face
from channels.slack.writing.story import Story
from channels.slack.writing.tempo import LONGEST_WAIT
from gateway.engine.errors import NotFoundError, StoreUnavailableError
from gateway.engine.kinds import OPEN_STATES
from gateway.engine.ledger import Binding, Delivery
from gateway.engine.struct import replace

STORE_AGAIN = 1.0
"""Seconds."""
MOST_ROWS = 200
"""Views of one turn that are looked through for its card."""


async def write(
    events: TurnStream,
    delivery: Delivery,
    to: Target,
    ctx: ChannelContext,
    api: SlackApi,
    options: SlackOptions,
) -> None:
    """Show a turn in its thread, and settle the delivery. Raises ``RetryLater``, ``Undeliverable`` and
    ``LeaseLostError``."""
    story = Story(options.task_titles, ctx.waits)
    writer = _Writer(story, Hand(delivery, to, ctx, api), options)
    await alongside(story, events, writer.run)


async def alongside(story: Story, events: TurnStream, work: Callable[[], Awaitable[None]]) -> None:
    """Do the work while the events are followed. Whatever ends it ends both."""
    failed: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(story.follow(events), name="a turn's events")
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised below, outside of the group
            failed = error
        finally:
            following.cancel()
    if failed is not None:
        raise failed


class _Writer:
    def __init__(self, story: Story, hand: Hand, options: SlackOptions) -> None:
        self.story = story
        self.hand = hand
        self.ctx = hand.ctx
        self.options = options
        self.delivery = hand.delivery
        self.rest: Sheet | None = None
        """What is to be shown in the end, once that is known."""
        self.satisfied = self.delivery.wanted

    async def run(self) -> None:
        try:
            await self.hand.recover()
            await self._begin()
            while not await self._step():
                pass
            await self._settle()
        except StoreUnavailableError as error:
            raise self.hand.later(STORE_AGAIN, "the store can't be read now") from error
        except NotFoundError as error:
            raise Undeliverable("no_turn", "the turn isn't there any more") from error
        except Undeliverable as letter:
            await self.hand.hush(letter)
            raise

    async def _begin(self) -> None:
        """A turn that rests by now is told whole, and not as one that goes on."""
        view = await self.ctx.turn(self.delivery)
        while view.state not in {"queued", "running"} and not self.story.over:
            await self.story.heard(None)

    async def _step(self) -> bool:
        """One step; whether it was the last."""
        sheet = await self._sheet()
        desk = self.hand.desk(sheet)
        again: float | None = None
        match next_act(desk):
            case Rest():
                return True
            case Wait(until):
                seconds = None if until is None else (until - desk.now) / 1000
                await self._wait(seconds, resting=sheet.resting)
            case Look() as look:
                await self.hand.look(look)
            case Send() as send:
                again = await self.hand.send(send)
            case act:
                again = await self.hand.do(act)
        if again is not None and sheet.resting:
            # Nothing new comes that could go along: the lane is given back for as long.
            raise self.hand.later(again, "Slack asks for time")
        return False

    async def _wait(self, seconds: float | None, *, resting: bool) -> None:
        if resting and seconds is not None:
            if seconds > LONGEST_WAIT:
                raise self.hand.later(seconds, "its call is within its budget later")
            await self.ctx.waits.sleep(seconds)
        else:
            await self.story.heard(seconds)

    # -- what to show ------------------------------------------------------------------------------------
    async def _sheet(self) -> Sheet:
        if self.story.error is not None:
            raise self.story.error
        if not self.story.over:
            return under_way(self.story.doc)
        if self.rest is None:
            self.rest = await self._at_rest()
        return self.rest

    async def _at_rest(self) -> Sheet:
        self.satisfied = self.hand.journal.wanted  # before the view is read, which may be newer
        view = await self.ctx.turn(self.delivery)
        doc = finished(self.story.doc, view)
        if not doc.ended and (not doc.waiting or view.state in {"queued", "running"}):
            raise self.hand.later(STORE_AGAIN, "the turn went on while it was read")
        shown = any(part.ref is not None for part in texts(self.hand.journal.parts))
        sheet = at_rest(doc, view, shown=shown, waits=await self._elsewhere(doc, view))
        if face(sheet.status, self.hand.journal.parts) == self.delivery.hash:
            self.hand.tempo.status = sheet.status
        return sheet

    async def _elsewhere(self, doc: Doc, view: TurnView) -> str:
        """Our line about a decision whose card stands somewhere else."""
        if view.state not in OPEN_STATES or not doc.waiting:
            return ""
        rows = await self.ctx.ledger.deliveries(turn_id=self.delivery.turn_id, limit=MOST_ROWS)
        here = {
            row.part
            for row in rows
            if row.turn == self.delivery.turn
            and _place(row) == _place(self.delivery)
            and row.state != "dead"
        }
        words, asker = self.options.policy_words, self.hand.to.user
        return waits_for(
            [
                decider(asked.answerers, words, asker)
                for asked in doc.waiting
                if f"{CARD}{asked.id}" not in here
            ]
        )

    # -- the end -----------------------------------------------------------------------------------------
    async def _settle(self) -> None:
        sheet, journal = await self._sheet(), self.hand.journal
        await self.hand.rewrite(
            *(replace(part, state="final") for part in journal.parts if part.state == "open")
        )
        # An ended turn has nothing further to tell: whatever was asked for until now is answered.
        satisfied = journal.wanted if sheet.ended else self.satisfied
        shown = [part.ref for part in texts(journal.parts) if part.ref is not None]
        await journal.settle(
            "done" if sheet.ended else "resting",
            satisfied=satisfied,
            seq=0,
            hash=face(sheet.status, journal.parts),
            ref=shown[0] if shown else None,
            places=self._places(shown),
        )

    def _places(self, shown: list[str]) -> tuple[Binding, ...]:
        """The thread and our posts in it belong to the turn's session."""
        row, to = self.delivery, self.hand.to
        thread = Binding(
            place=keys.place(to.installation, to.channel, to.thread).key if to.thread else "",
            agent=row.agent,
            session=row.session,
            turn=row.turn,
            kind="thread",
            at=self.ctx.clock.now(),
        )
        posts = tuple(replace(thread, place=ref, kind="post") for ref in shown)
        return (thread, *posts) if to.thread else posts


def _place(row: Delivery) -> tuple[object, ...]:
    return (
        row.source,
        *(row.target.get(name) for name in ("installation", "channel", "thread_ts")),
    )
