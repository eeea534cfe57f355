"""What happens to a mail before its way is told "taken": kept, read, looked up, judged.

The bytes are kept first, so that whatever comes of reading them, somebody can look at them, and reading is
done again from them. Reading is pure and runs beside the loop. A mail that can't be read ends with a verdict
like any other, and one that ends the process each time, or never ends, isn't read a fourth time. What ended
the process in another moment, or was in want of the store, isn't held against the mail.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar
from weakref import WeakValueDictionary

from channels.contract import Control, Ignored, Inbound, Parsed, Place, Verdict
from channels.email.deciding.links import Links, brought_back
from channels.email.identity.attest import attest
from channels.email.identity.dkim import Signed
from channels.email.identity.recipients import listed
from channels.email.mail import Mail, RawMail
from channels.email.mime.read import read
from channels.email.parse import Opened, event_id, in_place_of, parse
from channels.email.policy import DAY
from channels.email.reading.automated import Noise, classify
from channels.email.reading.beside import Beside
from channels.email.reading.bounce import Bounce, bounce
from channels.email.reading.desk import Desk
from channels.email.reading.reply import extract
from channels.email.render import MARKER
from channels.email.threads import bounces, places
from channels.email.threads.book import Book
from channels.email.threads.cited import belongs, cited
from channels.email.threads.contents import bytes_id, content_id, copy_id
from channels.email.threads.conversation import Conversation, Hint, Joined, join
from channels.email.threads.shelf import Shelf
from channels.email.ways.taking import MAX_MAIL as MOST
from channels.email.ways.taking import Taken
from channels.email.writing.tokens import Keys, bounced, conversation_id, holder, original, threads
from gateway.engine.errors import DuplicateClaimError, StoreUnavailableError
from gateway.engine.kinds import Speaker
from gateway.engine.ledger import Asked, Binding, Ledger
from gateway.engine.limits import Clock
from gateway.engine.steps.apart import apart
from gateway.engine.struct import replace, struct
from gateway.intake.keys import claims
from gateway.intake.rules import MEANING
from gateway.log import wordless

__all__ = ["PATIENCE", "TAKES_OVER", "Around", "Looked", "Mailroom"]

T = TypeVar("T")

log = logging.getLogger("gateway.email")

TRIES = 3
"""How often a mail is read that ends the process or never ends, or is taken where something breaks."""
PATIENCE = 20.0
"""Seconds, of which the longest mail that is read at all takes one or two. They go by on a host that is
stopped, too, so that once proves nothing."""
TAKES_OVER = "colleague-answered"
"""The rule of a mail by which one of ours takes its conversation over."""
MOST_HINTS = 24
"""Ids of a mail that are looked up, the newest first."""


class Around(Protocol):
    """What of its surroundings a mailroom works with."""

    @property
    def ledger(self) -> Ledger: ...

    @property
    def clock(self) -> Clock: ...

    async def receive(self, parsed: Parsed) -> Verdict: ...


@struct(frozen=True, slots=True, kw_only=True)
class Looked:
    """A mail that is kept, as it is read and judged. ``bounce``: it tells of a mail of ours, and ``bounce_rule``
    is how that is taken. ``colleague``: one of ours answers in it, and takes the conversation over."""

    handed: RawMail
    opened: Opened
    joined: Joined
    parsed: Parsed
    bounce: Bounce | None = None
    bounce_rule: str = ""
    colleague: bool = False


_Read = tuple[Opened, Bounce | None, tuple[str, ...]]
"""What there is in a mail: itself, what it says of a mail of ours, links of ours that came back."""


class Mailroom:
    """Takes the mail of one mailbox, whichever way it comes."""

    def __init__(self, desk: Desk, ctx: Around) -> None:
        self._desk = desk
        self._ctx = ctx
        self._ledger = ctx.ledger
        self.book = Book(ctx.ledger, desk.mailbox, ctx.clock)
        self.shelf = Shelf(ctx.ledger, ctx.clock)
        self._beside = Beside()
        self._broke: Counter[str] = Counter()
        self._copies: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def take(self, handed: RawMail) -> Taken:
        """When this returns ``done`` or ``quarantine``, all that follows from the mail is committed."""
        envelope = handed.envelope_from, handed.envelope_to
        try:
            try:
                async with asyncio.timeout(PATIENCE):
                    content = await _beside(partial(content_id, handed.raw, *envelope))
            except TimeoutError:
                return await self._nameless(handed)
            # Copies may come by several ways at once, and one of them counts.
            lock = self._copies.setdefault(content, asyncio.Lock())
            async with lock:
                return await self._whole(content, handed)
        except StoreUnavailableError as error:
            log.warning("email: a mail waits where it is: %s", error)
            return "again"

    async def admitted(self, content: str) -> Inbound | None:
        """A mail that was held for an operator, as it is let in; ``None`` without such a mail. Raises
        ``StoreUnavailableError``."""
        handed = await self.shelf.find(content)
        if handed is None:
            return None
        opened = await self._opened(handed, content)
        joined = await self._joined(opened)
        parsed = parse(opened, joined, self._desk.rules, admitted=True)
        await self._known(parsed, joined)
        return parsed if isinstance(parsed, Inbound) else None

    async def look(self, content: str) -> Looked | None:
        """A mail that is kept, read again and judged by what the books say now; nothing follows from it.
        ``None`` without such a mail, or if it can't be read. Raises ``StoreUnavailableError``."""
        handed = await self.shelf.find(content, most=TRIES)
        if handed is None:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                opened = await self._opened(handed, content)
                report = await _beside(partial(bounce, handed.raw, opened.mail))
        except Exception as error:  # noqa: BLE001 - as its verdict says
            log.info("email: mail %s can't be read: %s", content, wordless(error))
            return None
        rule = "" if report is None else bounces.rule_of(report, await self._about(opened, report))
        joined = await self._joined(opened)
        return Looked(
            handed=handed,
            opened=opened,
            joined=joined,
            parsed=parse(opened, joined, self._desk.rules),
            bounce=report,
            bounce_rule=rule,
            colleague=report is None and await self._of_colleague(opened, joined) is not None,
        )

    # -- one mail ------------------------------------------------------------------------------------
    async def _nameless(self, handed: RawMail) -> Taken:
        """Nobody gets to the end of its header. It isn't read by another name, by which a copy would be
        answered, too."""
        content = await asyncio.to_thread(bytes_id, handed.raw)
        if await self.shelf.keep(content, handed) + 1 < TRIES:
            return "again"
        await self._ctx.receive(_unread(content, self._desk.mailbox, "poison-mail"))
        return "quarantine"

    async def _whole(self, content: str, handed: RawMail) -> Taken:
        """Also where something breaks on the way."""
        try:
            taken = await self._take(content, handed)
        except StoreUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - one mail's fault must not stop the box
            self._broke[content] += 1
            log.error("email: mail %s can't be taken: %s", content, wordless(error))  # noqa: TRY400
            if self._broke[content] < TRIES:
                return "again"
            await self._ctx.receive(_unread(content, self._desk.mailbox, "unreadable-mail"))
            taken = "quarantine"
        self._broke.pop(content, None)
        return taken

    async def _take(self, content: str, handed: RawMail) -> Taken:
        suspect = await self.shelf.begun(content) > 0
        async with self._beside.nobody() if suspect else self._beside.others():
            found = await self._read(content, handed)
        if found == "again":
            return "again"
        if isinstance(found, str):
            await self._ctx.receive(_unread(content, self._desk.mailbox, found))
            return "quarantine"
        opened, report, ended = found
        # A link that decides has been read by others once it comes back to us.
        await Links(self._ledger).end(ended)
        if report is not None:
            return await self._bounced(opened, report)
        joined = await self._joined(opened)
        if await self._answered_by_colleague(opened, joined):
            return "done"
        parsed = parse(opened, joined, self._desk.rules)
        if isinstance(parsed, Ignored) and parsed.say is not None:
            parsed = await self._told_once(parsed)
        await self._known(parsed, joined)
        await self._ctx.receive(parsed)
        return "done"

    async def _read(self, content: str, handed: RawMail) -> _Read | str:
        """All that is done with its bytes; or the rule by which it can't be read, or ``again``."""
        # Counted before it is read, since what ends the process can't be counted afterwards.
        before = await self.shelf.keep(content, handed)
        if before >= TRIES:
            return "poison-mail"
        try:
            async with asyncio.timeout(PATIENCE):
                opened = await self._opened(handed, content)
                report = await _beside(partial(bounce, handed.raw, opened.mail))
                ended = await _beside(partial(brought_back, handed.raw, opened.mail.text))
        except TimeoutError:
            log.error("email: mail %s isn't read within %s s", content, PATIENCE)  # noqa: TRY400
            return "again" if before + 1 < TRIES else "poison-mail"
        except Exception as error:  # noqa: BLE001 - one mail's fault must not stop the box
            log.error("email: mail %s can't be read: %s", content, wordless(error))  # noqa: TRY400
            return "unreadable-mail"
        if before:
            await self.shelf.readable(content)
        return opened, report, ended

    async def _opened(self, handed: RawMail, content: str) -> Opened:
        signed = () if self._desk.signed is None else await self._desk.signed(handed.raw)
        return await _beside(partial(self._judged, handed, content, signed))

    def _judged(self, handed: RawMail, content: str, signed: tuple[Signed, ...]) -> Opened:
        mail = read(handed.raw)
        if handed.whole is not None:
            mail = replace(mail, over=f"it has {handed.whole >> 20} MiB, and I read {MOST >> 20}")
        desk = self._desk
        # As of when it came: what lies for a while isn't a replay.
        known = attest(mail, handed, desk.believes(handed.way), handed.at, signed)
        named = tuple(dict.fromkeys(_named(mail, handed)))
        author = "" if known.author is None else known.author.address
        once = handed.way == "webhook" and handed.way_id
        return Opened(
            content=content,
            mailbox=desk.mailbox,
            mail=mail,
            attestation=known,
            extract=extract(mail.text, mail.quote_at, MARKER, mail.subject),
            noise=classify(mail, handed, desk.own) or _to_bounces(named, desk.keys),
            copy=copy_id(handed.raw, mail.message_id, author, known.level),
            way_key=f"email:way:{handed.way_id}" if once else "",
            named=named,
            at=handed.at,
        )

    # -- where it belongs ----------------------------------------------------------------------------
    async def _joined(self, opened: Opened) -> Joined:
        desk, known = self._desk, opened.attestation
        own = conversation_id(desk.keys, opened.content)
        fresh = Conversation(id=own, session=places.session(desk.mailbox, own))
        return join(known.author, known.level, await self._hints(opened), fresh)

    async def _hints(self, opened: Opened) -> tuple[Hint, ...]:
        keys = self._desk.keys
        tokens = ((token, at) for at in opened.named if (token := threads(keys, at)) is not None)
        by_token = list(islice(tokens, MOST_HINTS))
        ids = _cited(opened.mail)
        ours = [mark.conversation for one in ids if (mark := original(keys, one)) is not None]
        theirs = [one.session.rpartition(":")[2] for one in await self._theirs(opened)]
        found: dict[str, Hint] = {}
        for token, at in [*by_token, *((one, "") for one in (*ours, *theirs))]:
            if token in found:
                continue
            conversation = await self.book.find(token)
            if conversation is None:
                continue
            given = holder(keys, at, conversation.people) if at else None
            found[token] = Hint(conversation=conversation, given=given or "")
        return tuple(found.values())

    async def _theirs(self, opened: Opened) -> tuple[Binding, ...]:
        event, mailbox = event_id(opened.content), self._desk.mailbox
        return await cited(self._ledger, mailbox, event, _cited(opened.mail))

    async def _known(self, parsed: Parsed, joined: Joined) -> None:
        """Whoever is let in takes part from now on, and before anything is answered."""
        if isinstance(parsed, Inbound) and not parsed.doubt and parsed.speaker.tenant:
            address = parsed.speaker.id.removeprefix("email:")
            await self.book.add(joined.conversation, joined.session, address)

    async def _told_once(self, parsed: Ignored) -> Ignored:
        """What isn't let in spends no budget, and a program may write it: whoever did is told once a day."""
        now = self._ctx.clock.now()
        key = f"email:{self._desk.mailbox}:told:{parsed.speaker}:{now // DAY}"
        try:
            await self._ledger.note(claims([key], now))
        except DuplicateClaimError:
            return replace(parsed, say=None)
        return parsed

    # -- colleagues ----------------------------------------------------------------------------------
    async def _answered_by_colleague(self, opened: Opened, joined: Joined) -> bool:
        """One of ours who answers a customer speaks to the customer: the agent keeps out of it from then
        on, and what it is writing just now isn't sent."""
        author, found = opened.attestation.author, await self._of_colleague(opened, joined)
        if author is None or found is None:
            return False
        if not await self._took_over(opened):  # a copy takes nothing over that was handed back
            await self.book.take_over(found.id, f"email:{author.address}")
        above = [one for one in await self._theirs(opened) if one.session == found.session]
        own, now = opened.mail.message_id, self._ctx.clock.now()
        await belongs(self._ledger, self._desk.mailbox, own, above, now)
        why = "a colleague answered in the conversation, so the agent keeps out of it"
        await self._ctx.receive(in_place_of(opened, "not_addressed", TAKES_OVER, why))
        await self._ctx.receive(_stop(opened, found))
        return True

    async def _took_over(self, opened: Opened) -> bool:
        asked = Asked(source="email", event_id=event_id(opened.content))
        before = (await self._ledger.known(asked)).verdict
        return before is not None and before.rule == TAKES_OVER

    async def _of_colleague(self, opened: Opened, joined: Joined) -> Conversation | None:
        """The conversation that one of ours answers a customer in, if it is such an answer."""
        author = opened.attestation.author
        if author is None or opened.attestation.level == "none":
            return None
        if author.domain not in self._desk.rules.colleagues or joined.how == "known":
            return None
        found = await self.book.find(joined.link or joined.conversation)
        told = {*listed(opened.mail.fields, "to", "cc")}
        return None if found is None or told.isdisjoint(found.people) else found

    # -- bounces -------------------------------------------------------------------------------------
    async def _bounced(self, opened: Opened, report: Bounce) -> Taken:
        found = await self._about(opened, report)
        if found is not None and report.failed:
            why = f"bounced: {report.recipient or 'the mailbox'} refused it: {report.said}"
            before = await self._ledger.fail(*found, why)
            if before in {"due", "sending"}:
                return "again"  # another mail of the same answer is on its way
        rule = bounces.rule_of(report, found)
        await self._ctx.receive(in_place_of(opened, "automated_mail", rule, MEANING[rule]))
        return "done"

    async def _about(self, opened: Opened, report: Bounce) -> tuple[int, int] | None:
        desk = self._desk
        return await bounces.about(self._ledger, desk.keys, desk.mailbox, report, opened.named)


async def _beside(reads: Callable[[], T]) -> T:
    """Reading is pure, so it may be broken off anywhere."""
    return await apart(reads, "email-read", gives_up=True)


def _cited(mail: Mail) -> list[str]:
    return [*mail.in_reply_to, *reversed(mail.references)][:MOST_HINTS]


def _named(mail: Mail, handed: RawMail) -> list[str]:
    """To whom it came, as far as anybody says."""
    names = ("delivered-to", "x-original-to", "to", "cc")
    return [*handed.envelope_to, *listed(mail.fields, *names)]


def _to_bounces(named: tuple[str, ...], keys: Keys) -> Noise | None:
    """Programs answer the return path (RFC 3834 section 4), which people don't see."""
    if not any(bounced(keys, at) for at in named):
        return None
    return Noise("automated_mail", "return-path", MEANING["return-path"])


def _unread(content: str, mailbox: str, rule: str) -> Ignored:
    return Ignored(
        event_id=event_id(content),
        verdict="unsupported",
        rule=rule,
        reason="the mail couldn't be read; its bytes are kept",
        place=places.mail(mailbox, content),
    )


def _stop(opened: Opened, found: Conversation) -> Control:
    event = f"{event_id(opened.content)}:stop"
    place = Place(key=places.mail(opened.mailbox, opened.content), session=found.session)
    author = opened.attestation.author
    by = None
    if author is not None:
        by = Speaker(f"email:{author.address}", tenant=author.domain, level="domain")
    return Control(event_id=event, keys=(event,), kind="stop", place=place, by=by, reply={})
