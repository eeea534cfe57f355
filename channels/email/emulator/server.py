"""The mail server as a whole: three ports on loopback, mailboxes in memory, and a journal."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from channels.email.emulator.border import Border, Passage, stamped
from channels.email.emulator.boxes import INBOX, Account, Accounts, Folder
from channels.email.emulator.faults import Faults
from channels.email.emulator.guard import PASSWORD_PREFIX, refuse_real
from channels.email.emulator.imap.session import Session
from channels.email.emulator.imap.wire import LONGEST_LINE, Wire
from channels.email.emulator.journal import Handed, Journal, Left
from channels.email.emulator.notices import Away, Bounce, away_answer, report
from channels.email.emulator.smtp import Listener, closed
from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.steps.tasks import Tasks

PATIENCE = 5.0


@dataclass(slots=True)
class Ports:
    """0 asks for a free one; once chosen it stays."""

    submission: int = 0
    """For those with a mailbox here: they sign in and may write to anybody."""
    mx: int = 0
    """For the rest of the world: nobody signs in, and mail for others isn't taken."""
    imap: int = 0


@dataclass(slots=True)
class _Going:
    """A mail on its way to one recipient. ``dmarc``: how the border's check ends; empty: as it says."""

    sender: str
    recipient: str
    raw: bytes
    dmarc: str = ""


@dataclass(slots=True)
class _Responder:
    away: Away
    answered: int = field(default=0)


class MailServer:
    """A mail server of this machine's own, for clients that don't know the difference.

    ::

        async with MailServer() as post:
            support = post.user("support@shop.example")
            ada = post.user("ada@cust.example")
            post.border.verdicts["cust.example"] = "pass"
            await post.deliver(draft.raw(), support.address, ada.address)
            ...  # whoever reads support's mail by IMAP answers by submission
            [answer] = post.mails(ada.address)

    ``beside`` are the secrets of what runs next to it: a real mailbox's among them is a reason not to
    start. ``stop`` and ``start`` are a restart: ports and mails stay.
    """

    def __init__(
        self,
        *,
        host: str = "127.0.0.1",
        ports: Ports | None = None,
        border: Border | None = None,
        beside: Mapping[str, str] | None = None,
        now: Callable[[], Millis] = SYSTEM_CLOCK.now,
    ) -> None:
        refuse_real(host, beside or {})
        self.host = host
        self.ports = ports or Ports()
        self.border = border or Border()
        self.now = now
        self.faults = Faults()
        self.journal = Journal()
        self.accounts = Accounts(first_validity=now() // 1000)
        self._bounces: dict[str, Bounce] = {}
        self._away: dict[str, _Responder] = {}
        self._numbers = 0
        self._tasks = Tasks()
        self._lines: set[Wire] = set()
        self._open = False
        self._imap: asyncio.Server | None = None
        self._submission = Listener(self, is_open=False, hostname=self.border.id)
        self._mx = Listener(self, is_open=True, hostname=self.border.id)

    # -- life --------------------------------------------------------------------------------------
    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        try:
            ports = self.ports
            ports.submission = await self._submission.start(self.host, ports.submission)
            ports.mx = await self._mx.start(self.host, ports.mx)
            self._open = True
            self._imap = await asyncio.start_server(
                self._visit, self.host, ports.imap, limit=LONGEST_LINE
            )
            ports.imap = int(self._imap.sockets[0].getsockname()[1])
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Everybody's line ends at once."""
        self._open = False
        if self._imap is not None:
            self._imap.close()
        await self._submission.stop()
        await self._mx.stop()
        self.cut()
        await self._tasks.close(PATIENCE)
        if self._imap is not None:
            await closed(self._imap)
            self._imap = None

    def cut(self) -> None:
        """Every open line is gone, without a word; new ones are welcome."""
        self._submission.cut()
        self._mx.cut()
        for wire in list(self._lines):
            wire.cut()

    def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire = Wire(reader, writer)
        if not self._open:  # it came while we went
            wire.cut()
            return
        self._lines.add(wire)
        self._tasks.run(self._serve(wire), "emulator:imap")

    async def _serve(self, wire: Wire) -> None:
        try:
            await Session(wire, self).run()
        finally:
            self._lines.discard(wire)

    # -- who is here -------------------------------------------------------------------------------
    def user(self, address: str, password: str = "") -> Account:
        """Somebody with a mailbox, who may sign in at the submission port and by IMAP."""
        return self.accounts.add(address, password or f"{PASSWORD_PREFIX}{secrets.token_hex(12)}")

    def bounce(self, address: str, why: Bounce | None = None) -> None:
        """Mail to this address doesn't arrive, and its envelope sender is told so."""
        self._bounces[address.lower()] = why or Bounce()

    def away(self, address: str, answer: Away | None = None) -> None:
        """This address answers by itself; whether or not its mailbox is here."""
        self._away[address.lower()] = _Responder(answer or Away())

    def back(self, address: str) -> None:
        """All is usual again at this address."""
        self._away.pop(address.lower(), None)
        self._bounces.pop(address.lower(), None)

    def renew(self, address: str, folder: str = INBOX) -> None:
        """A folder gets a new UIDVALIDITY and its mails new UIDs; who has it open is thrown out."""
        found = self._folder(address, folder)
        found.renew(next(self.accounts.validities), 1)

    # -- mail --------------------------------------------------------------------------------------
    async def deliver(
        self, raw: bytes, to: str, envelope_from: str = "", *, dmarc: str = ""
    ) -> None:
        """A mail comes in from outside, past any protocol. ``dmarc`` is how the border's check of it ends;
        empty: as ``border.verdicts`` says for the domain."""
        self._send(_Going(envelope_from, to, raw, dmarc))

    def mails(self, address: str, folder: str = INBOX) -> list[bytes]:
        """What lies in a mailbox, oldest first."""
        return [mail.raw for mail in self._folder(address, folder).mails.values()]

    async def arrived(
        self, address: str, count: int = 1, folder: str = INBOX, within: float = 10.0
    ) -> list[bytes]:
        """What lies in a folder, as soon as there is that much."""
        found, more = self._folder(address, folder), asyncio.Event()
        found.watchers.add(more.set)
        try:
            async with asyncio.timeout(within):
                while len(found.mails) < count:
                    await more.wait()
                    more.clear()
        finally:
            found.watchers.discard(more.set)
        return self.mails(address, folder)

    def _folder(self, address: str, name: str) -> Folder:
        account = self.accounts.find(address)
        folder = account.folder(name) if account is not None else None
        if folder is None:
            raise KeyError(f"{address} has no folder {name} here")
        return folder

    # -- what the protocols ask --------------------------------------------------------------------
    def account(self, address: str, password: str) -> Account | None:
        return self.accounts.login(address, password)

    def signs_in(self, address: str, password: str) -> bool:
        return self.accounts.login(address, password) is not None

    def takes(self, recipient: str, user: str) -> bool:
        return bool(user) or self.accounts.find(recipient) is not None

    def take(self, handed: Handed) -> None:
        dmarc = self.border.verdict(handed.raw, handed.user.rpartition("@")[2])
        for recipient in handed.recipients:
            self._send(_Going(handed.sender, recipient, handed.raw, dmarc))

    # -- on its way --------------------------------------------------------------------------------
    def _send(self, mail: _Going) -> None:
        """Bring a mail where it goes, and whatever is written by itself because of it."""
        waiting = deque([mail])
        while waiting:
            going = waiting.popleft()
            waiting.extend(self._bring(going))
        self.journal.changed()

    def _bring(self, mail: _Going) -> list[_Going]:
        account = self.accounts.find(mail.recipient)
        bounce = self._bounces.get(mail.recipient.lower())
        if account is None:
            self.journal.left.append(Left(mail.sender, mail.recipient, mail.raw))
        elif bounce is None:
            self._keep(account, mail)
        if bounce is not None:
            return self._returned(mail, bounce)
        return self._answered(mail)

    def _keep(self, account: Account, mail: _Going) -> None:
        self._numbers += 1
        passage = Passage(
            sender=mail.sender,
            recipient=mail.recipient,
            dmarc=mail.dmarc or self.border.verdict(mail.raw),
            client=f"out.{mail.sender.rpartition('@')[2] or 'unknown.example'}",
            number=self._numbers,
            at=self.now(),
        )
        account.inbox.add(stamped(mail.raw, self.border, passage), passage.at)

    def _returned(self, mail: _Going, why: Bounce) -> list[_Going]:
        if not mail.sender:  # nobody is told that a report doesn't arrive (RFC 5321 4.5.5)
            return []
        written = report(
            mail.raw, mail.sender, mail.recipient, why, by=self.border.id, at=self.now()
        )
        return [_Going("", mail.sender, written)]

    def _answered(self, mail: _Going) -> list[_Going]:
        address = mail.recipient.lower()
        responder = self._away.get(address)
        if responder is None or responder.answered >= responder.away.limit:
            return []
        answer = away_answer(mail.raw, mail.sender, address, responder.away, self.now())
        if answer is None:
            return []
        responder.answered += 1
        to, written = answer
        return [_Going("" if responder.away.marked else address, to, written)]
