"""The email channel, put together."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import aiohttp

from channels.contract import Clerk, Control, NotSent, Route, SentOrNot
from channels.email.answering.attached import attached
from channels.email.answering.office import Office
from channels.email.answering.target import misspelt
from channels.email.api import Submission
from channels.email.clerk import MailClerk
from channels.email.deciding.door import LINK, Door
from channels.email.deliver import Post, deliver
from channels.email.identity.attest import Trust
from channels.email.identity.dkim import check
from channels.email.ingress import Ingress
from channels.email.mail import RawMail
from channels.email.mailroom import Mailroom
from channels.email.reading.automated import Own
from channels.email.reading.desk import Desk
from channels.email.settings import EmailOptions, EmailSettings
from channels.email.standing import standing
from channels.email.ways.account import account
from channels.email.ways.getting import getter
from channels.email.ways.imap import Mailbox
from channels.email.ways.listener import Listener
from channels.email.ways.once import once
from channels.email.ways.since import since
from channels.email.ways.taking import Taken
from channels.email.ways.txt import resolver
from channels.email.writing.tokens import Keys, is_loop_mark, original
from channels.protocol import Card, ChannelContext, Person, TurnStream
from gateway.engine.errors import GatewayError, StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis, Speaker
from gateway.engine.ledger import Delivery, Ledger
from gateway.engine.limits import Clock
from gateway.engine.ports import Prepared, Preparer, Preparing
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import replace
from gateway.engine.tool import Tool
from gateway.log import wordless
from gateway.outbox.tools import attach_file

__all__ = ["EmailChannel"]

PATIENCE = 8.0
"""Seconds that the ways have to close, and that a delivery waits for the channel to start."""
LEASE = Millis(15_000)
RENEW, LOOK = 4.0, 2.0
"""Seconds. One host reads the mailbox at a time."""
GMAIL = "mx.google.com"
"""The authserv-id of a border that writes its results below its ``Received``."""

log = logging.getLogger("gateway.email")


class EmailChannel:
    """``Conversing``, and the ``Preparer`` of its turns. Whoever comes before ``start`` waits for it."""

    source = "email"

    def __init__(self, settings: EmailSettings, options: EmailOptions) -> None:
        self.tools: Sequence[Tool] = (attach_file,)
        self._settings = settings
        self._options = options
        self._keys = Keys(settings.keys)
        self._office = Office(
            mailbox=settings.address,
            name=options.name,
            keys=self._keys,
            signature=options.signature,
            reply_line=options.reply_line,
        )
        self._door = Door(self._keys, options.links)
        self._post = Post(self._office, Submission(settings.smtp_url, seconds=60.0), self._door)
        self._account = None if settings.imap_url is None else account(settings.imap_url)
        self._owner = f"email-{secrets.token_hex(8)}"
        self._tasks = Tasks()
        self._begun = asyncio.Event()
        self._ctx: ChannelContext | None = None
        self._room: Mailroom | None = None
        self._mailbox: Mailbox | None = None
        self._listener: Listener | None = None
        self.ingress = Ingress(settings.hooks)
        self._http: aiohttp.ClientSession | None = None
        self._reads = False

    @property
    def desk(self) -> Desk:
        """What mail is judged by."""
        settings = self._settings
        mailbox, domain = settings.address, settings.address.rpartition("@")[2]
        resolve = resolver() if self._options.signatures else None
        trust = Trust(
            authserv_id=settings.authserv_id,
            border_host=settings.border_host,
            own=self._addresses,
            vouching=settings.vouching,
            sealers=self._options.sealers,
            gmail_profile=self._options.results_below
            or (settings.authserv_id or "").lower() == GMAIL,
        )
        return Desk(
            mailbox=mailbox,
            rules=self._options.rules,
            trust=trust,
            handing=replace(
                trust,
                authserv_id=settings.listen_authserv_id,
                border_host=settings.listen_border_host,
                gmail_profile=False,
                direct=True,
            ),
            own=Own(
                addresses=self._addresses,
                domain=domain,
                is_ours=lambda given: original(self._keys, given) is not None,
                marked=lambda given: is_loop_mark(self._keys, given),
                machines=self._options.rules.machines,
                lists=self._options.lists,
            ),
            keys=self._keys,
            signed=None if resolve is None else partial(check, resolve=resolve),
        )

    @property
    def _addresses(self) -> frozenset[str]:
        return self._options.aliases | {self._settings.address}

    @property
    def mailroom(self) -> Mailroom:
        """There is one once the channel has started."""
        assert self._room is not None  # noqa: S101 - as said
        return self._room

    # -- life ----------------------------------------------------------------------------------------
    def routes(self) -> list[Route]:
        return [*self.ingress.routes(), *self._door.routes()]

    async def start(self, ctx: ChannelContext) -> None:
        """The mail server may be away: what it has stays with it meanwhile."""
        if self._room is None:
            self._ctx, self._room = ctx, Mailroom(self.desk, ctx)
            self._door.begin(ctx)
            if self.ingress.routes():
                self._http = aiohttp.ClientSession()
                proofs = once(ctx.ledger, ctx.clock)
                self.ingress.begin(self._take, getter(self._http, ctx.waits), proofs)
        if self._settings.listen is not None and self._listener is None:
            listener = Listener(self._settings.listen, self._addresses, self._take, clock=ctx.clock)
            await listener.start()
            self._listener = listener
        if self._account is not None and self._mailbox is None:
            self._mailbox = Mailbox(
                self._account,
                self._take,
                clock=ctx.clock,
                waits=ctx.waits,
                since=await since(ctx, self._settings),
            )
            self._tasks.run(self._look_after(self._mailbox, ctx), "email-mailbox")
        self._begun.set()

    async def stop(self) -> None:
        if self._listener is not None:
            await self._listener.stop()
        await self._tasks.close(PATIENCE)
        if self._http is not None:
            await self._http.close()

    async def _look_after(self, mailbox: Mailbox, ctx: ChannelContext) -> None:
        """Read the mailbox while this host holds its lease, which one host does at a time."""
        name = f"email:{self._settings.address}"
        while True:
            try:
                held = await ctx.ledger.hold(name, self._owner, LEASE)
            except StoreUnavailableError:
                held = False
            if held:
                self._reads = True
                try:
                    await self._reading(mailbox, ctx, name)
                except Exception as error:  # noqa: BLE001 - or nobody would look after it any more
                    log.error("email: looking after the mailbox broke: %s", wordless(error))  # noqa: TRY400
                finally:
                    self._reads = False
                    with suppress(GatewayError):
                        await ctx.ledger.let_go(name, self._owner)
            await ctx.waits.sleep(LOOK)

    async def _reading(self, mailbox: Mailbox, ctx: ChannelContext, name: str) -> None:
        """Until the lease is lost, or can't be renewed before it lapses."""
        async with asyncio.TaskGroup() as group:
            reads = group.create_task(mailbox.run(), name="email-imap")
            until = ctx.waits.monotonic() + LEASE / 1000
            while ctx.waits.monotonic() + 2 * RENEW < until:
                await ctx.waits.sleep(RENEW)
                asked = ctx.waits.monotonic()
                try:
                    async with ctx.waits.timeout(RENEW):  # a store that hangs prolongs nothing
                        if not await ctx.ledger.hold(name, self._owner, LEASE):
                            break
                    until = asked + LEASE / 1000
                except (StoreUnavailableError, TimeoutError):
                    continue
            log.warning("email: another host reads the mailbox from now on")
            reads.cancel()

    async def _take(self, handed: RawMail) -> Taken:
        await self._begun.wait()
        return await self.mailroom.take(handed)

    @property
    def problem(self) -> str | None:
        mailbox = None if self._mailbox is None else self._mailbox.problem
        return mailbox or self.ingress.problem or self._post.problem

    @property
    def standing(self) -> Sequence[JsonObject]:
        """How it is set up and what it heard last, for an operator."""
        mailbox = self._mailbox
        heard = None if mailbox is None or not self._reads else mailbox.heard_at
        return standing(self._settings, self._account, reads=self._reads, heard_at=heard)

    def clerk(self, ledger: Ledger, clock: Clock) -> Clerk:
        return MailClerk(self.desk, ledger, clock)

    def check_address(self, address: str) -> tuple[str, str] | None:
        """What is wrong with an address that an author names, and what to write instead."""
        return misspelt(address)

    # -- the way out ---------------------------------------------------------------------------------
    async def deliver(self, events: TurnStream, delivery: Delivery, ctx: ChannelContext) -> None:
        await deliver(events, delivery, ctx, self._post)

    async def deliver_resume(
        self, events: TurnStream, delivery: Delivery, ctx: ChannelContext
    ) -> None:
        await self.deliver(events, delivery, ctx)

    async def reconcile(self, delivery: Delivery) -> SentOrNot:
        """Nobody can be asked, so the same letter goes once more (RFC 1047)."""
        return NotSent()

    # -- before a turn -------------------------------------------------------------------------------
    def preparer(self) -> Preparer:
        return self

    async def prepare(self, asked: Preparing) -> Prepared:
        await self._begun.wait()
        assert self._ctx is not None  # noqa: S101 - as above
        return await attached(asked, self._ctx)

    # -- with one person -----------------------------------------------------------------------------
    async def say(self, reply: JsonObject, words: str) -> None:
        """At most once. Whoever can't be told isn't."""
        await self._begun.wait()
        assert self._ctx is not None  # noqa: S101 - as above
        await self._post.say(reply, words, self._ctx.clock.now())

    async def person(self, by: Speaker, reply: JsonObject) -> Person | None:
        """A colleague is known by the domain that vouches for them. Who has a link is nobody we know, and
        decides what links decide."""
        if LINK in reply:
            stands = await self._door.stands(by, reply)
            return Person(speaker=by, standing="outsider" if stands else "nobody")
        member = by.tenant in self._options.rules.colleagues and by.at_least("domain")
        return Person(speaker=by, standing="member" if member else "outsider")

    def opens(self, policy: str) -> bool:
        """To those who have a link, which are all that answer by mail."""
        return self._door.opens(policy)

    def deciders(self, answerers: JsonObject) -> str:
        return "a colleague"

    async def act(self, control: Control, card: Card | None) -> None:
        """Mail asks for nothing that is done without a turn."""
