"""A port on this machine to which the site's own mail server hands our mail, by LMTP (RFC 2033) or SMTP.

A mail is acknowledged once it is kept, and not before: what we say no to for now stays with the server that
has it. It is no server for the internet, and listens on loopback only.

aiosmtpd does the talking, on our loop: it waits nowhere but at its sockets. It answers the end of a mail
once, where LMTP wants an answer for each recipient (section 4.2), and its lines end at 1000 bytes, where
mails have longer ones; both is put right here. Addresses outside ASCII (SMTPUTF8) aren't offered.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session
from typing_extensions import override

from channels.email.identity.recipients import bare
from channels.email.mail import RawMail, Way
from channels.email.ways.taking import MAX_MAIL, Take, Taken
from gateway.engine.errors import ConfigError, StoreUnavailableError
from gateway.engine.limits import Clock
from gateway.engine.steps.tasks import Tasks
from gateway.log import wordless
from gateway.values import is_loopback

__all__ = ["Listener", "ours"]

HOSTNAME = "localhost"
"""What it calls itself. Without a name aiosmtpd would ask the network for one."""
LONGEST_LINE = 1 << 20
AT_ONCE = 8
"""Mails being received; other connections wait before theirs."""
MOST_RECIPIENTS = 100
SILENCE = 300.0
LEAVING = 5.0
"""How long mails that are being kept may take to be, when we stop."""

FIX = "set EMAIL_LISTEN to lmtp://127.0.0.1:2400"
OK = "250 2.0.0 it is kept"
LATER = "451 4.3.0 it can't be kept now, send it again"
REPLIES: dict[Taken, str] = {"done": OK, "quarantine": OK, "again": LATER}

log = logging.getLogger("gateway.email")


def ours(address: str, addresses: frozenset[str]) -> bool:
    """Whether it is one of our addresses (lower case), also with something behind a plus."""
    return address.lower() in addresses or bare(address) in addresses


class Listener:
    """``url`` is ``lmtp://host:port`` or ``smtp://host:port``; port 0 takes a free one, which ``port``
    tells. Raises ``ConfigError`` for what can't be listened on."""

    def __init__(self, url: str, addresses: frozenset[str], take: Take, *, clock: Clock) -> None:
        self.host, self.port, self._lmtp = _place(url)
        self.counted: Counter[str] = Counter()
        self._addresses = addresses
        self._take = take
        self._clock = clock
        self._server: asyncio.Server | None = None
        self._sessions: set[_Talk] = set()
        self._keeping = Tasks()
        self._room = asyncio.Semaphore(AT_ONCE)

    async def start(self) -> None:
        # It logs every command, and with that whose mail it is.
        logging.getLogger("mail.log").setLevel(logging.WARNING)
        loop = asyncio.get_running_loop()
        kind = _Lmtp if self._lmtp else _Smtp
        made = partial(kind, self, loop, self._sessions, self._room)
        try:
            self._server = await loop.create_server(made, self.host, self.port)
        except OSError as error:
            raise ConfigError(
                f"EMAIL_LISTEN: port {self.port} of {self.host} can't be listened on: {error.strerror}",
                fix="end what listens there, or choose another port",
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Nobody is let in any more; mails that are being kept are, and acknowledged."""
        if self._server is None:
            return
        self._server.close()
        await self._keeping.ended(LEAVING)
        await self._keeping.close(1.0)
        for _ in range(3):  # the answers pass through as many hands
            await asyncio.sleep(0)
        for session in tuple(self._sessions):
            await session.leave()
        await self._server.wait_closed()
        self._server = None

    # -- what aiosmtpd asks ----------------------------------------------------------------------------
    # Its names begin with `handle_`, and go on as the command is called.
    async def handle_RCPT(  # noqa: N802
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
        address: str,
        rcpt_options: list[str],
    ) -> str:
        if not ours(address, self._addresses):
            return "550 5.1.1 no such mailbox here"
        if len(envelope.rcpt_tos) >= MOST_RECIPIENTS:
            return "452 4.5.3 too many recipients"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(rcpt_options)
        return "250 2.1.5 OK"

    async def handle_DATA(  # noqa: N802
        self,
        server: SMTP,
        session: Session,
        envelope: Envelope,
    ) -> str:
        """Kept to the end, also when whoever handed it over leaves: they will come again with it."""
        sender = envelope.mail_from or ""
        way: Way = "lmtp" if self._lmtp else "smtp"
        mail = RawMail(
            raw=envelope.original_content or b"",
            way=way,
            envelope_from="" if sender == "<>" else sender,
            envelope_to=tuple(envelope.rcpt_tos),
            at=self._clock.now(),
        )
        taken = await self._keeping.to_the_end(self._taken(mail), "email-keep")
        self.counted[taken] += 1
        return REPLIES[taken]

    async def handle_exception(self, error: Exception) -> str:
        """What a stranger's line did to the library is no news for the stranger."""
        log.warning("email: a line to the listener couldn't be handled (%s)", type(error).__name__)
        return LATER

    async def _taken(self, mail: RawMail) -> Taken:
        try:
            return await self._take(mail)
        except StoreUnavailableError:
            log.warning("email: a mail can't be stored now, the mail server is to send it again")
        except Exception as error:  # noqa: BLE001 - the mail server is to send it again
            log.error("email: a mail couldn't be taken: %s", wordless(error))  # noqa: TRY400
        return "again"


class _Talk(SMTP):
    """One connection. ``line_length_limit`` bounds what is read before anything looks at it."""

    line_length_limit = LONGEST_LINE

    def __init__(
        self,
        handler: Listener,
        loop: asyncio.AbstractEventLoop,
        sessions: set[_Talk],
        room: asyncio.Semaphore,
    ) -> None:
        super().__init__(
            handler,
            data_size_limit=MAX_MAIL,
            hostname=HOSTNAME,
            ident="mail",
            timeout=SILENCE,
            loop=loop,
        )
        self._sessions = sessions
        self._room = room
        self._data = 0
        """How many answers the end of a mail has; 0 outside of one."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._sessions.add(self)
        super().connection_made(transport)

    @override
    def connection_lost(self, error: Exception | None) -> None:
        self._sessions.discard(self)
        super().connection_lost(error)

    async def leave(self) -> None:
        job = self._handler_coroutine
        if self.transport is not None:
            cast("asyncio.Transport", self.transport).abort()
        if job is not None:
            await asyncio.wait({job})

    @override
    async def smtp_DATA(self, arg: str) -> None:
        async with self._room:
            self._data = self._answers()
            try:
                await super().smtp_DATA(arg)
            finally:
                self._data = 0

    @override
    async def push(self, status: Any) -> None:
        line = status if isinstance(status, bytes) else str(status).encode("ascii", "replace")
        # 354 asks for the mail, 501 and 503 refuse to; what comes otherwise is about the mail itself.
        times = 1 if line[:3] in {b"354", b"501", b"503"} else max(self._data, 1)
        await super().push(b"\r\n".join([line] * times))

    def _answers(self) -> int:
        return 1


class _Smtp(_Talk):
    pass


class _Lmtp(_Talk, LMTP):
    @override
    def _answers(self) -> int:
        return len(self.envelope.rcpt_tos) if self.envelope is not None else 1


def _place(url: str) -> tuple[str, int, bool]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ConfigError("EMAIL_LISTEN is no URL", fix=FIX) from None
    if parts.scheme not in {"lmtp", "smtp"} or port is None:
        raise ConfigError("EMAIL_LISTEN must be lmtp:// or smtp://, a host and a port", fix=FIX)
    if not is_loopback(host):
        raise ConfigError(
            f"EMAIL_LISTEN: {host} is reachable from elsewhere; this is no server for the internet, it"
            " takes mail from a mail server on this machine",
            fix=FIX,
        )
    return host, port, parts.scheme == "lmtp"
