"""A running mail server with two mailboxes, and clients that know nothing of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

import aiosmtplib
import pytest
from imapclient import IMAPClient  # type: ignore[import-untyped]

from channels.email.emulator.boxes import Account
from channels.email.emulator.letters import Draft
from channels.email.emulator.server import MailServer

T = TypeVar("T")
SUPPORT, ADA = "support@shop.example", "ada@cust.example"


def draft(**more: Any) -> Draft:
    return Draft(
        **{
            "sender": f"Ada <{ADA}>",
            "to": [SUPPORT],
            "subject": "Order 1042",
            "text": "Broken.",
            **more,
        }
    )


class Post:
    """A server and who talks to it."""

    def __init__(self, server: MailServer) -> None:
        self.server = server
        self.support = server.user(SUPPORT)
        self.ada = server.user(ADA)

    @contextlib.asynccontextmanager
    async def smtp(self, account: Account | None = None) -> AsyncIterator[aiosmtplib.SMTP]:
        """A line to the submission port, signed in; without an account, to the one for the world."""
        ports = self.server.ports
        client = aiosmtplib.SMTP(
            hostname=self.server.host,
            port=ports.mx if account is None else ports.submission,
            local_hostname="client.example",
            start_tls=False,
            timeout=5,
        )
        await client.connect()
        try:
            if account is not None:
                await client.login(account.address, account.password)
            yield client
        finally:
            client.close()

    async def send(self, account: Account | None, raw: bytes, *to: str, sender: str = "") -> str:
        async with self.smtp(account) as client:
            _, told = await client.sendmail(
                sender or (account.address if account else "x@evil.example"), list(to), raw
            )
        return told

    @contextlib.contextmanager
    def imap(self, account: Account | None = None) -> Iterator[IMAPClient]:
        who = account or self.support
        client = IMAPClient(self.server.host, self.server.ports.imap, ssl=False, timeout=5)
        try:
            client.login(who.address, who.password)
            yield client
        finally:
            with contextlib.suppress(OSError):
                client.shutdown()

    async def by_imap(self, do: Callable[[IMAPClient], T], account: Account | None = None) -> T:
        """Do something with a signed-in client in a thread of its own."""

        def work() -> T:
            with self.imap(account) as client:
                return do(client)

        return await asyncio.to_thread(work)


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    async with MailServer() as server:
        yield Post(server)
