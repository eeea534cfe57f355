"""Handing a letter to the mail server that sends for us: one attempt a call, one of four outcomes, nothing
raised.

A letter is the server's once it has answered the line that ends it (RFC 5321, section 4.2.5). What fails
before that line left may be tried again; what is lost behind it has perhaps arrived (section 4.5.3.2.6), and
the same bytes go once more. So the letter is written and flushed first, and that line after it.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ssl import SSLCertVerificationError, SSLContext, SSLError

import aiosmtplib
from aiosmtplib.errors import SMTPException, SMTPResponseException, SMTPServerDisconnected

from channels.email.writing.addresses import problem as address_problem
from channels.email.writing.check import ends_lines_well
from channels.email.writing.clean import one_line
from channels.email.writing.route import Route, route
from gateway.engine.struct import struct

__all__ = [
    "Accepted",
    "Later",
    "Refused",
    "SmtpOutcome",
    "Submission",
    "Turned",
    "Unclear",
]

SECONDS = 120.0
"""What one attempt may take in all, but for the goodbye."""
GOODBYE = 2.0
AGAIN, GREYLISTED, AFTER_REPAIR = 60.0, 300.0, 600.0
"""Seconds until the next attempt: after trouble on the way, when the server said so, when an operator has
to do something first."""
MOST_SAID = 200
CHUNK = 1 << 16


# -- what became of it -----------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Turned:
    """A recipient that the server refuses. ``status`` is the enhanced one (RFC 3463), where it gave any."""

    address: str
    code: int
    status: str
    why: str


@struct(frozen=True, slots=True)
class Accepted:
    """The server has it. ``reply`` is its last line, which may name the id that it gave the mail;
    ``refused`` are recipients that it doesn't take, while it took it for the others."""

    reply: str
    refused: tuple[Turned, ...] = ()


@struct(frozen=True, slots=True)
class Later:
    """The server doesn't have it; ``after`` so many seconds it may be tried again. ``problem`` tells an
    operator what to do about it, where waiting alone doesn't help."""

    after: float
    why: str
    problem: str = ""


@struct(frozen=True, slots=True)
class Refused:
    """The server won't take it, now or later. ``recipients`` are those it refuses, or all."""

    code: int
    why: str
    recipients: tuple[str, ...]
    status: str = ""


@struct(frozen=True, slots=True)
class Unclear:
    """Nobody can tell whether the server has it."""

    why: str


SmtpOutcome = Accepted | Later | Refused | Unclear


# -- where it goes ---------------------------------------------------------------------------------------
class Submission:
    """A way out. ``url`` is ``EMAIL_SMTP_URL`` as ``writing.route`` reads it, else ``ConfigError``; ``tls``
    takes the place of the system's trust."""

    def __init__(
        self, url: str, *, tls: SSLContext | None = None, seconds: float = SECONDS
    ) -> None:
        self._route = route(url)
        self._tls = tls
        self.seconds = seconds

    async def send(self, sender: str, recipients: Sequence[str], data: bytes) -> SmtpOutcome:
        """``sender`` is the return path, empty for none; ``data`` a letter as ``written``."""
        if refused := _unfit(sender, recipients, data):
            return refused
        return await self._attempted(sender, lambda one: one.run(sender, recipients, data))

    async def ask(self, sender: str, recipient: str) -> SmtpOutcome:
        """Whether the server would serve us, as far as it says before there is a letter. Sends none."""
        return await self._attempted(sender, lambda one: one.ask(sender, recipient))

    async def _attempted(
        self, sender: str, converse: Callable[[_Attempt], Awaitable[SmtpOutcome]]
    ) -> SmtpOutcome:
        client = aiosmtplib.SMTP(
            hostname=self._route.host,
            port=self._route.port,
            use_tls=self._route.tls == "first",
            start_tls=self._route.tls == "later",
            tls_context=self._tls,
            timeout=self.seconds,
            local_hostname=sender.rpartition("@")[2] or "localhost",
        )
        attempt = _Attempt(client, self._route)
        try:
            async with asyncio.timeout(self.seconds):
                outcome = await converse(attempt)
        except _Over as over:
            outcome = over.outcome
        except (OSError, SMTPException, ValueError) as trouble:  # TimeoutError is an OSError
            outcome = attempt.cut(trouble)
        finally:
            if not attempt.polite:
                _drop(client)
        await _leave(client)
        return outcome


class _Over(Exception):
    """The attempt has come to its end before the letter's."""

    def __init__(self, outcome: SmtpOutcome) -> None:
        super().__init__()
        self.outcome = outcome


class _Attempt:
    """One conversation. ``ended``: the line that ends the letter may have left. ``polite``: all was
    answered, so that a goodbye is."""

    def __init__(self, client: aiosmtplib.SMTP, way: Route) -> None:
        self.client = client
        self.way = way
        self.step = "connecting"
        self.ended = False
        self.polite = False

    async def run(self, sender: str, recipients: Sequence[str], data: bytes) -> SmtpOutcome:
        await self._greet()
        await self._sign_in()
        await self._from(sender, recipients, len(data))
        refused = [turned for each in recipients if (turned := await self._to(each))]
        if len(refused) == len(recipients):
            first = refused[0]
            raise self._over(Refused(first.code, first.why, tuple(recipients), first.status))
        self.step = "asking to begin"
        code, said = await self.client.execute_command(b"DATA")
        if code != 354:
            raise self._over(self._unwilling(code, said, recipients))
        self.step = "sending the letter"
        await self._flush(data)
        self.step, self.ended = "waiting for the answer to the letter", True
        code, said = await self.client.execute_command(b".")
        self.polite = True
        if 200 <= code < 300:
            return Accepted(self._said(code, said), tuple(refused))
        if 400 <= code < 600:
            return self._unwilling(code, said, recipients)
        return Unclear(f"the server answered the letter with {self._said(code, said)}")

    async def ask(self, sender: str, recipient: str) -> SmtpOutcome:
        await self._greet()
        await self._sign_in()
        await self._from(sender, (recipient,), 0)
        turned = await self._to(recipient)
        self.polite = True
        if turned is not None:
            return Refused(turned.code, turned.why, (recipient,), turned.status)
        return Accepted("the sender and the recipient are taken")

    def cut(self, trouble: Exception) -> SmtpOutcome:
        """What an exception means. Its text may quote anything, so none of it is told."""
        host, port = self.way.host, self.way.port
        if isinstance(trouble, SMTPResponseException) and not self.ended:
            why = f"while {self.step}, {host} said {self._said(trouble.code, trouble.message)}"
            repair = f"the mail server {host} refuses to serve us" if trouble.code >= 500 else ""
            return Later(AFTER_REPAIR if repair else GREYLISTED, why, repair)
        kind = "time ran out" if isinstance(trouble, TimeoutError) else "the connection was lost"
        if isinstance(trouble, SMTPResponseException):
            kind = "nothing was said that can be understood"
        why = f"{kind} while {self.step} ({host}, port {port})"
        if self.ended:
            return Unclear(why)
        if isinstance(reason := trouble.__cause__ or trouble, SSLError):
            distrusted = isinstance(reason, SSLCertVerificationError)
            why = (
                f"{host} shows no certificate that can be trusted"
                if distrusted
                else f"{host} speaks no TLS"
            )
            return Later(
                AFTER_REPAIR,
                f"{why} on port {port}",
                f"{why} on port {port}: have EMAIL_SMTP_URL name the mail server and its port as its operator does",
            )
        if isinstance(trouble, ConnectionError | TimeoutError | SMTPServerDisconnected):
            return Later(AGAIN, why)
        return Later(
            AFTER_REPAIR,
            f"{host} doesn't offer what was asked for, while {self.step}",
            f"see whether {host} offers TLS on port {port} in the way that EMAIL_SMTP_URL says",
        )

    # -- step by step ------------------------------------------------------------------------------------
    async def _greet(self) -> None:
        await self.client.connect()
        self.step = "greeting"
        if self.client.is_ehlo_or_helo_needed:
            try:
                await self.client.ehlo()
            except SMTPResponseException:
                await self.client.helo()

    async def _sign_in(self) -> None:
        if not self.way.user:
            return
        self.step = "signing in"
        offered = self.client.server_auth_methods
        try:
            if "plain" in offered:
                await self.client.auth_plain(self.way.user, self.way.password)
            elif "login" in offered:
                await self.client.auth_login(self.way.user, self.way.password)
            else:
                why = "the mail server takes no user name and password"
                fix = "take user and password out of EMAIL_SMTP_URL, or name a port where it asks for them"
                raise self._over(Later(AFTER_REPAIR, why, f"{why}: {fix}"))
        except SMTPResponseException as refused:
            if 400 <= refused.code < 500:
                raise self._over(
                    Later(GREYLISTED, f"signing in: {self._said(refused.code, refused.message)}")
                ) from None
            why = f"the mail server refuses user and password ({refused.code})"
            raise self._over(
                Later(AFTER_REPAIR, why, f"{why}: see to those in EMAIL_SMTP_URL")
            ) from None

    async def _from(self, sender: str, recipients: Sequence[str], size: int) -> None:
        self.step = "naming the sender"
        sized = self.client.supports_extension("size")
        command = [b"MAIL", f"FROM:<{sender}>".encode("ascii")]
        code, said = await self.client.execute_command(
            *command, *([b"SIZE=%d" % size] if sized else [])
        )
        if code == 530:  # RFC 4954, section 6: one has to sign in first
            why = f"the mail server wants user and password ({self._said(code, said)})"
            raise self._over(Later(AFTER_REPAIR, why, f"{why}: put them into EMAIL_SMTP_URL"))
        if code != 250:
            raise self._over(self._unwilling(code, said, recipients))

    async def _to(self, recipient: str) -> Turned | None:
        """Refused for good, a recipient is left out. Not now: then all wait, so that nobody gets the
        letter twice."""
        self.step = "naming a recipient"
        code, said = await self.client.execute_command(b"RCPT", f"TO:<{recipient}>".encode("ascii"))
        if 200 <= code < 300:
            return None
        if 500 <= code < 600:
            return Turned(recipient, code, _status(said), self._said(code, said))
        raise self._over(self._unwilling(code, said, (recipient,)))

    async def _flush(self, data: bytes) -> None:
        """The letter but for the line that ends it: nothing of it waits in this process any more when
        this returns, as far as can be seen here."""
        protocol, transport = self.client.protocol, self.client.transport
        if protocol is None or not isinstance(transport, asyncio.WriteTransport):
            raise SMTPServerDisconnected("gone")
        transport.set_write_buffer_limits(high=1, low=0)
        writer = asyncio.StreamWriter(transport, protocol, None, asyncio.get_running_loop())
        stuffed = _stuffed(data)
        try:
            for at in range(0, len(stuffed), CHUNK):
                writer.write(stuffed[at : at + CHUNK])
                await writer.drain()
            if not self.client.is_connected:
                raise SMTPServerDisconnected("gone")
        except BaseException:
            transport.abort()  # nothing of the letter may follow
            raise
        self.writer = writer  # closed with the connection, not before

    # -- words -------------------------------------------------------------------------------------------
    def _unwilling(self, code: int, said: str, recipients: Sequence[str]) -> SmtpOutcome:
        if 500 <= code < 600:
            return Refused(code, self._said(code, said), tuple(recipients), _status(said))
        return Later(AGAIN if code == 421 else GREYLISTED, f"{self.step}: {self._said(code, said)}")

    def _over(self, outcome: SmtpOutcome) -> _Over:
        self.polite = True
        return _Over(outcome)

    def _said(self, code: int, said: str) -> str:
        """A server's reply, for people: one short line, and no secret though it should repeat one."""
        for secret in _spelled(self.way.user, self.way.password):
            said = said.replace(secret, "…")
        line = one_line(said)
        return f"{code} {line[:MOST_SAID]}".rstrip()


async def _leave(client: aiosmtplib.SMTP) -> None:
    """A goodbye changes nothing any more."""
    try:
        with suppress(OSError, SMTPException):
            async with asyncio.timeout(GOODBYE):
                if client.is_connected:
                    await client.quit()
    finally:
        client.close()


def _drop(client: aiosmtplib.SMTP) -> None:
    if isinstance(transport := client.transport, asyncio.WriteTransport):
        transport.abort()  # closing in order would wait for a peer that may be gone
    client.close()


# -- before anything is sent -----------------------------------------------------------------------------
def _unfit(sender: str, recipients: Sequence[str], data: bytes) -> Refused | None:
    """What no server is asked. The codes are those that one would give."""
    if sender and (why := address_problem(sender)):
        return Refused(553, f"the return path: {why}", tuple(recipients), "5.1.7")
    if not recipients:
        return Refused(554, "there is nobody to send it to", (), "5.5.1")
    for recipient in recipients:
        if why := address_problem(recipient):
            return Refused(553, f"a recipient: {why}", (recipient,), "5.1.3")
    if not data.endswith(b"\r\n") or not ends_lines_well(data) or b"\0" in data:
        return Refused(554, "a line doesn't end with CR and LF", tuple(recipients), "5.6.0")
    return None


def _stuffed(data: bytes) -> bytes:
    """A dot that begins a line is doubled, lest it end the letter (RFC 5321, section 4.5.2)."""
    data = data.replace(b"\r\n.", b"\r\n..")
    return b"." + data if data.startswith(b".") else data


def _status(said: str) -> str:
    """The enhanced status that a reply begins with, empty without one (RFC 2034, section 4)."""
    word = said.split(maxsplit=1)[0] if said.strip() else ""
    numbers = word.split(".")
    plain = (
        len(word) <= 9 and len(numbers) == 3 and all(n.isascii() and n.isdecimal() for n in numbers)
    )
    return word if plain else ""


def _spelled(user: str, password: str) -> tuple[str, ...]:
    """A password as signing in spells it."""
    if not password:
        return ()
    both = f"\0{user}\0{password}"
    told = (base64.b64encode(each.encode()).decode() for each in (password, both))
    return (*told, password)
