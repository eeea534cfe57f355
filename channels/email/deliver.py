"""A turn's answer as mail: one letter when it ends, one before that if somebody has to decide first.

A letter can't be changed, so it is written from what is committed and sent whole. Its bytes are kept before
they are sent, and its Message-ID follows from the turn: where the line is lost after the last byte, nobody
can be asked whether it arrived (RFC 1047), and then the same letter goes once more, which mail programs show
once.
"""

from __future__ import annotations

import logging

from channels.contract import RetryLater, Undeliverable
from channels.email.answering.office import Office
from channels.email.answering.story import Story, fold
from channels.email.answering.target import Target, read_target
from channels.email.answering.words import WAITING, closing, queued
from channels.email.api import Accepted, Later, Refused, SmtpOutcome, Submission, Unclear
from channels.email.deciding.door import Door
from channels.email.threads import places
from channels.email.threads.book import Book
from channels.email.writing.letter import File, LetterError
from channels.protocol import CARD, QUEUED, ChannelContext, Journal, Sealer, TurnStream, TurnView
from gateway.engine.errors import ConfigError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Binding, Delivery, FileRow, Part, SettledState
from gateway.engine.struct import replace, struct

__all__ = ["Post", "deliver"]

log = logging.getLogger("gateway.email")

LEAST = 10.0
"""Seconds that the right to send must still hold for. A mail server may think about a letter for longer: the
right is renewed meanwhile, and when it is lost nonetheless, the line is cut."""
SOON = 1.0
TWICE = 2
"""How often one letter is sent whose arrival nobody can tell. Counted before each time, since what ends the
process can't be counted afterwards."""


@struct(frozen=True, slots=True)
class _Due:
    """A letter that is owed. ``occasion`` tells it from the others of its turn. ``note`` is kept with its part:
    the hash of the link in a card's letter, how many files of the turn went by now in another."""

    occasion: str
    text: str
    end: int
    files: tuple[File, ...] = ()
    note: str = ""


class Post:
    """What letters are written and sent with. ``problem`` says what keeps them from being sent."""

    def __init__(self, office: Office, submission: Submission, door: Door) -> None:
        self.office = office
        self.submission = submission
        self.door = door
        self.problem: str | None = None

    async def send(self, sender: str, address: str, raw: bytes) -> SmtpOutcome:
        outcome = await self.submission.send(sender, [address], raw)
        if isinstance(outcome, Accepted):
            self.problem = None
        elif isinstance(outcome, Later):
            self.problem = outcome.problem or self.problem
        return outcome

    async def say(self, reply: JsonObject, words: str, at: Millis) -> None:
        """A letter outside of any turn, at most once."""
        target = read_target(reply, self.office.keys, opening=str(reply.get("in_reply_to")))
        if target is None or not words.strip():
            return
        about = f"said:{target.in_reply_to}"  # or its id would be that of another said letter
        letter = self.office.letter(target, words, turn_id=about, part=1, at=at)
        sender = self.office.bounces_to(target.conversation, 0)
        outcome = await self.send(sender, target.address, letter.raw)
        if not isinstance(outcome, Accepted):
            # Not the server's words: they may name whom it was for.
            log.info("email: a correspondent wasn't told something (%s)", type(outcome).__name__)


async def deliver(events: TurnStream, delivery: Delivery, ctx: ChannelContext, post: Post) -> None:
    """Send what is owed and settle. Raises ``RetryLater``, ``Undeliverable`` and ``LeaseLostError``."""
    work = _Work(delivery, ctx, post)
    card = delivery.part.startswith(CARD)
    if card and not _routed(delivery):
        # Whoever asked by mail has nothing to press, and is told that somebody else decides.
        return await work.settle("silent", work.journal.wanted)
    opening = delivery.part if card else delivery.session
    target = read_target(delivery.target, post.office.keys, opening=opening)
    if target is None:
        raise Undeliverable("no_place", "the turn's target names no mail address")
    if target.never:
        return await work.settle("silent", work.journal.wanted)
    if card:
        return await work.card(target)
    await work.resend(target)
    if delivery.part == QUEUED:
        return await work.note(target)
    story = Story()
    async for event in events:
        story = fold(story, event)
    return await work.show(story, target)


class _Work:
    """One delivery under way."""

    def __init__(self, delivery: Delivery, ctx: ChannelContext, post: Post) -> None:
        self.delivery = delivery
        self.ctx = ctx
        self.post = post
        self.journal: Journal = ctx.journal(delivery)
        self._book = Book(ctx.ledger, post.office.mailbox, ctx.clock)

    def later(self, seconds: float, why: str) -> RetryLater:
        return RetryLater(Millis(self.ctx.clock.now() + round(seconds * 1000)), why)

    # -- what is owed --------------------------------------------------------------------------------
    async def show(self, story: Story, target: Target) -> None:
        satisfied = self.journal.wanted  # before the view is read, which may be newer
        view = await self.ctx.turn(self.delivery)
        if view.state in {"queued", "running"}:
            raise self.later(SOON, "the turn went on while it was read")
        due = self._due(story, view)
        if due is not None and view.state == "cancelled" and await self._speaks(target):
            due = None  # they ended it by speaking themselves
        if due is not None:
            await self._unless_taken_over(target)
            await self._send(due, target)
        over = view.state != "suspended"
        await self.settle("done" if over else "resting", satisfied)

    def _due(self, story: Story, view: TurnView) -> _Due | None:
        sent = [part for part in self.journal.parts if part.state == "final"]
        told = max((part.end for part in sent), default=0)
        fresh, end = story.text[told:].strip(), len(story.text)
        files = _files(story, max((int(part.extra or 0) for part in sent), default=0))
        note = str(len(story.files)) if story.files else ""
        if view.state == "suspended":
            if not fresh and not files and sent:
                return None  # they know that somebody is waited for
            text = f"{fresh}\n\n{WAITING}" if fresh else WAITING
            occasion = ",".join(story.waits) or "waits"
            return self._unless_sent(_Due(occasion, text, end, files, note))
        last = closing(view, said=bool(sent) or bool(fresh) or bool(files))
        text = "\n\n".join(part for part in (fresh, last) if part)
        return self._unless_sent(_Due("end", text, end, files, note)) if text or files else None

    def _unless_sent(self, due: _Due) -> _Due | None:
        done = any(
            part.hash == due.occasion and part.state == "final" for part in self.journal.parts
        )
        return None if done else due

    async def note(self, target: Target) -> None:
        """To somebody whose mail waits behind a decision, once."""
        satisfied = self.journal.wanted
        view = await self.ctx.turn(self.delivery)
        waits = view.behind is not None and not await self._speaks(target)
        due = self._unless_sent(_Due("queued", queued(), 0)) if waits else None
        if due is not None:
            await self._send(due, target)
        told = due is not None or bool(self.journal.parts)
        await self.settle("done" if told else "silent", satisfied)

    async def card(self, target: Target) -> None:
        """To whom a request is routed, once. Who decided isn't written after it: a letter can't be changed,
        and the page behind it says so."""
        satisfied = self.journal.wanted
        card = await self.ctx.card(self.delivery.request or "")
        if card is None or card.outcome is not None:
            return await self.settle("done" if self.journal.parts else "silent", satisfied)
        last = self.journal.parts[-1] if self.journal.parts else None
        if last is None or last.state != "final":
            if last is None or not await self.post.door.current(last.extra or "", self.ctx):
                view = await self.ctx.turn(self.delivery)
                made = await self.post.door.letter(card, view, target.address, self.ctx)
                asking = replace(target, subject=made.subject)
                last = await self._write(_Due("card", made.text, 0, note=made.link), asking)
            await self._hand_over(self._opening(last), target)
        return await self.settle("resting", satisfied)

    # -- whose word it is ----------------------------------------------------------------------------
    async def _speaks(self, target: Target) -> str:
        """The colleague who speaks with the customer now, if one does."""
        return await self._book.speaks(target.conversation, target.despite)

    async def _unless_taken_over(self, target: Target) -> None:
        """What the agent has to say waits, where everybody sees it, until it is the agent's turn again."""
        if by := await self._speaks(target):
            told = f"{by.partition(':')[2]} speaks in the conversation; handed back, it is sent"
            talk = places.session(self.post.office.mailbox, target.conversation)
            raise Undeliverable("taken_over", told, revive_on=talk)

    # -- sending -------------------------------------------------------------------------------------
    async def resend(self, target: Target) -> None:
        """What may have been sent, or was refused behind our back, goes first and as it was."""
        for part in self.journal.parts:
            if part.state == "gone" and part.ref is not None:
                await self._unless_taken_over(target)
                await self._hand_over(self._opening(part), target)

    async def _send(self, due: _Due, target: Target) -> None:
        await self._book.add(target.conversation, self.delivery.session, target.address)
        await self._hand_over(await self._letter(due, target), target)

    async def _hand_over(self, part: Part, target: Target) -> None:
        if part.attempt > TWICE:
            raise await self._given_up(part, "each time we were cut off before that was known")
        self.journal.outlasts(LEAST)
        await self.journal.record(part)
        raw = await self._bytes(part)
        self.journal.outlasts(LEAST)
        sender = self.post.office.bounces_to(target.conversation, self.delivery.id)
        outcome = await self.post.send(sender, target.address, raw)
        await self._came(part, outcome)

    async def _letter(self, due: _Due, target: Target) -> Part:
        """A part with its bytes kept: those of before, where the same was to be said and never left."""
        for part in self.journal.parts:
            if (part.hash, part.end) == (due.occasion, due.end):
                return self._opening(part)
        return await self._write(due, target)

    async def _write(self, due: _Due, target: Target) -> Part:
        number = len(self.journal.parts) + 1
        try:
            letter = self.post.office.letter(
                target,
                due.text,
                turn_id=f"{self.delivery.turn_id}:{self.delivery.part}",
                part=number,
                at=self.ctx.clock.now(),
                earlier=[part.nonce for part in self.journal.parts if part.state == "final"],
                files=due.files,
            )
        except LetterError as error:
            raise Undeliverable("unwritable", str(error)) from error
        part = Part(
            delivery=self.delivery.id,
            n=number,
            kind="post",
            state="opening",
            nonce=letter.message_id,
            end=due.end,
            acked=due.end,
            hash=due.occasion,
            extra=due.note or None,
            opened_at=self.ctx.clock.now(),
        )
        await self.ctx.ledger.keep_file(
            FileRow(
                id=_kept(part),
                name="letter.eml",
                media_type="message/rfc822",
                size=len(letter.raw),
                hash=letter.message_id,
                at=self.ctx.clock.now(),
            ),
            self._closed(_kept(part), letter.raw),
        )
        return self._opening(part)

    # A letter that asks for a decision may hold a link, which whoever reads the database mustn't have. The same
    # bytes have to go again where nobody knows whether they arrived, so they are sealed, and no new link is
    # made: the first letter may well be the one that is read.
    def _closed(self, name: str, raw: bytes) -> bytes:
        sealer = self._sealer()
        return raw if sealer is None else sealer.seal(raw, name)

    async def _bytes(self, part: Part) -> bytes:
        kept = await self.ctx.ledger.file(_kept(part))
        if kept is None:
            raise Undeliverable("forgotten", "the letter's bytes are no longer kept")
        sealer = self._sealer()
        try:
            return kept if sealer is None else sealer.open(kept, _kept(part))
        except ConfigError as error:
            raise Undeliverable("sealed", f"{error}; {error.fix}") from error

    def _sealer(self) -> Sealer | None:
        """``None`` for letters that may be kept as they are."""
        if not self.delivery.part.startswith(CARD):
            return None
        if self.ctx.sealer is None:
            raise Undeliverable(
                "no_keys", "it has to be sealed: set GATEWAY_SECRET_KEYS, and retry it"
            )
        return self.ctx.sealer

    def _opening(self, part: Part) -> Part:
        """From now on nobody knows whether it left."""
        ref = places.message(self.post.office.mailbox, part.nonce)
        now, attempt = self.ctx.clock.now(), part.attempt + 1
        return replace(part, state="opening", ref=ref, opened_at=now, attempt=attempt)

    async def _came(self, part: Part, outcome: SmtpOutcome) -> None:
        match outcome:
            case Accepted():
                await self.journal.record(replace(part, state="final", attempt=0))
            case Later(after=after, why=why):
                await self.journal.record(_not_there(part))
                raise self.later(after, why)
            case Refused(why=why):
                await self.journal.record(_not_there(part))
                raise Undeliverable("refused", why)
            case Unclear(why):
                if part.attempt >= TWICE:
                    raise await self._given_up(part, f"both times the line was lost ({why})")
                raise self.later(SOON, f"whether it arrived can't be told: {why}")

    async def _given_up(self, part: Part, why: str) -> Undeliverable:
        """Whoever sends it nonetheless does so once."""
        await self.journal.record(replace(part, state="gone", attempt=TWICE - 1))
        return Undeliverable("cant_tell", f"it was sent twice, and {why}")

    # -- letting go ----------------------------------------------------------------------------------
    async def settle(self, state: SettledState, satisfied: int) -> None:
        sent = [part for part in self.journal.parts if part.state == "final"]
        # An answer to a letter that asks for a decision is no word in the conversation that it is about.
        asks = self.delivery.part.startswith(CARD)
        await self.journal.settle(
            state,
            satisfied=satisfied,
            seq=self.delivery.seq,
            ref=sent[-1].ref if sent else None,
            places=tuple(self._bound(part.ref) for part in sent if part.ref and not asks),
        )

    def _bound(self, place: str) -> Binding:
        return Binding(
            place=place,
            agent=self.delivery.agent,
            session=self.delivery.session,
            turn=self.delivery.turn,
            kind="post",
            at=self.ctx.clock.now(),
        )


def _routed(delivery: Delivery) -> bool:
    """Whether ``approvals`` sent a request here. Its lane says so, and no correspondent could."""
    return bool(delivery.request) and delivery.lane.endswith(f"#{delivery.request}")


def _not_there(part: Part) -> Part:
    """This time doesn't count."""
    return replace(part, state="gone", ref=None, attempt=part.attempt - 1)


def _files(story: Story, told: int) -> tuple[File, ...]:
    """Those that haven't gone yet."""
    return tuple(
        File(name=one.name, media_type="text/plain", content=one.text.encode("utf-8", "replace"))
        for one in story.files[told:]
    )


def _kept(part: Part) -> str:
    return f"letter:{part.nonce}"
