"""The way in: submission for those who sign in, delivery for the rest of the world.

aiosmtpd speaks the protocol. It makes the task that serves a connection itself, so ``Line`` tells its
listener of each, and none is left when the server has stopped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from typing_extensions import override

from channels.email.emulator.faults import Faults
from channels.email.emulator.journal import Handed, Journal
from channels.email.emulator.letters import one_line, parsed
from gateway.engine.kinds import Millis

LARGEST = 40 << 20


class House(Protocol):
    """What a mail server must know to take mail."""

    faults: Faults
    journal: Journal

    def signs_in(self, address: str, password: str) -> bool: ...

    def takes(self, recipient: str, user: str) -> bool: ...

    def take(self, handed: Handed) -> None: ...

    def now(self) -> Millis: ...


class Handler:
    """What happens at the steps of one port. ``open``: nobody signs in, and only mail to the mailboxes
    here is taken."""

    def __init__(self, house: House, *, is_open: bool) -> None:
        self._house = house
        self._open = is_open

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not self._open and not _line(server).user:
            return "530 5.7.0 sign in first"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 ok"

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if not self._house.takes(address, _line(server).user):
            return "550 5.1.1 there is no such mailbox here"
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 ok"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        raw = envelope.original_content or b""
        handed = Handed(
            sender=envelope.mail_from or "",
            recipients=tuple(envelope.rcpt_tos),
            raw=raw,
            at=self._house.now(),
            user=_line(server).user,
            message_id=one_line(parsed(raw.partition(b"\r\n\r\n")[0]), "Message-ID"),
        )
        self._house.journal.handed.append(handed)
        told = await _line(server).struck("smtp:END", lambda: self._keep(handed))
        if told is None:
            self._keep(handed)
            told = f"250 2.0.0 taken as {len(self._house.journal.handed)}"
        handed.told = told
        self._house.journal.changed()
        return told

    def _keep(self, handed: Handed) -> None:
        handed.kept = True
        self._house.take(handed)


class Line(SMTP):
    """One connection."""

    def __init__(self, handler: Handler, house: House, port: Listener, hostname: str) -> None:
        super().__init__(
            handler,
            hostname=hostname,
            ident="ESMTP",
            data_size_limit=LARGEST,
            enable_SMTPUTF8=True,
            auth_require_tls=False,  # it never leaves the machine
            authenticator=self._signed_in,
            loop=asyncio.get_running_loop(),
        )
        self.user = ""
        """Who signed in."""
        self._house = house
        self._port = port
        self._smtp_methods = {
            name: self._faulty(name, method) for name, method in self._smtp_methods.items()
        }

    # -- life --------------------------------------------------------------------------------------
    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._port.lines.add(self)
        if self._handler_coroutine is not None:
            self._handler_coroutine.add_done_callback(self._ended)
        fault = self._house.faults.take("smtp:CONNECT")
        if fault is not None or not self._port.open:  # it may have come while we went
            self.cut()

    def cut(self) -> None:
        """The line is gone, without a word."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    async def ended(self) -> None:
        if self._handler_coroutine is not None:
            await asyncio.wait([self._handler_coroutine])

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._port.lines.discard(self)
        if not task.cancelled():
            task.exception()  # a line that broke is no trouble of the server's

    # -- faults ------------------------------------------------------------------------------------
    def _faulty(
        self, name: str, method: Callable[[str | None], Awaitable[None]]
    ) -> Callable[[str | None], Awaitable[None]]:
        async def do(arg: str | None) -> None:
            told = await self.struck(f"smtp:{name}", None)
            if told is None:
                await method(arg)
            else:
                await self.push(told)

        return do

    async def struck(self, step: str, carry_out: Callable[[], None] | None) -> str | None:
        """What a fault answers in place of the server; ``None`` where the step is taken as usual."""
        fault = self._house.faults.take(step)
        if fault is None:
            return None
        match fault.kind:
            case "slow":
                await asyncio.sleep(fault.seconds)
                return None
            case "tempfail":
                return "451 4.3.0 come again later"
            case "refuse":
                return "550 5.7.1 this is refused"
            case "cut_before" | "cut_after" | "mute":
                if fault.kind == "cut_after" and carry_out is not None:
                    carry_out()
                if fault.kind != "mute":
                    self.cut()
                self._house.journal.changed()
                await asyncio.Event().wait()  # until the line's end cancels it
                raise AssertionError(step)

    # -- who ---------------------------------------------------------------------------------------
    def _signed_in(
        self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: object
    ) -> AuthResult:
        if not isinstance(given, LoginPassword):
            return AuthResult(success=False, handled=False)
        address = given.login.decode("utf-8", "replace")
        if not self._house.signs_in(address, given.password.decode("utf-8", "replace")):
            return AuthResult(success=False, handled=False)
        self.user = address.lower()
        return AuthResult(success=True)


class Listener:
    """One port, with the lines that are open on it."""

    def __init__(self, house: House, *, is_open: bool, hostname: str) -> None:
        self._house = house
        self._handler = Handler(house, is_open=is_open)
        self._hostname = hostname
        self.lines: set[Line] = set()
        self.open = False
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; the port, chosen where it is 0."""
        # It says every command of every line, and that it lost those that a fault cuts.
        logging.getLogger("mail.log").setLevel(logging.ERROR)
        loop = asyncio.get_running_loop()
        self.open = True
        self._server = await loop.create_server(self._line, host, port)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        self.open = False
        if self._server is None:
            return
        self._server.close()
        lines = list(self.lines)
        self.cut()
        for line in lines:
            await line.ended()
        await closed(self._server)
        self._server = None

    def cut(self) -> None:
        """All lines are gone, without a word."""
        for line in list(self.lines):
            line.cut()

    def _line(self) -> Line:
        return Line(self._handler, self._house, self, self._hostname)


async def closed(server: asyncio.Server) -> None:
    """Wait until nothing of it is left; not for a client that doesn't read what it was told last."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await server.wait_closed()


def _line(server: SMTP) -> Line:
    if not isinstance(server, Line):
        raise TypeError(type(server))
    return server
