"""Who is handed the mails: remembers them, and says what the test wants said."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable

from channels.email.mail import RawMail
from channels.email.ways.account import Account
from channels.email.ways.imap import Mailbox, Pace
from channels.email.ways.taking import Taken
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.limits import SYSTEM_CLOCK, SYSTEM_WAITS
from gateway.values import Secret
from tests.support.mail.dovecot import Dovecot

QUICK = Pace(
    connect=2, answer=5, call=10, glance=0.05, renew=0.3, retry=0.05, again=0.1, leave=1, nap=0.1
)


def letter(name: str, body: str = "hello") -> bytes:
    return (
        f"From: Ada <ada@example.com>\r\nTo: support@shop.example\r\nSubject: {name}\r\n"
        f"Message-ID: <{name}@example.com>\r\n\r\n{body}\r\n"
    ).encode()


def subject(raw: bytes) -> str:
    return raw.partition(b"Subject: ")[2].partition(b"\r\n")[0].decode()


class Taker:
    def __init__(self, say: Callable[[str, int], Taken] = lambda _name, _times: "done") -> None:
        self.mails: list[RawMail] = []
        self.away = False
        self._say = say

    @property
    def names(self) -> list[str]:
        return [subject(mail.raw) for mail in self.mails]

    async def __call__(self, mail: RawMail) -> Taken:
        if self.away:
            raise StoreUnavailableError("the store is away")
        self.mails.append(mail)
        name = subject(mail.raw)
        return self._say(name, self.names.count(name))


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not true():
            await asyncio.sleep(0.01)


def box_account(box: Dovecot, port: int | None = None, **more: str) -> Account:
    return Account(
        host=box.host,
        port=port or box.imap_port,
        tls=False,
        user=more.get("user", box.user),
        password=Secret(more.get("password", box.password)),
        folder=more.get("folder", "INBOX"),
    )


@contextlib.asynccontextmanager
async def looked_after(
    account: Account, take: Taker, pace: Pace = QUICK, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Mailbox]:
    mailbox = Mailbox(account, take, clock=SYSTEM_CLOCK, waits=SYSTEM_WAITS, pace=pace, tls=tls)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(mailbox.run())
        yield mailbox
        running.cancel()
