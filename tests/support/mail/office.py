"""A whole host beside a mail server: customers write, June answers."""

from __future__ import annotations

import asyncio
import email
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from channels.email.channel import EmailChannel
from channels.email.emulator.letters import Draft
from channels.email.emulator.server import MailServer
from gateway.config import Settings
from gateway.engine.ledger import Delivery, Ledger, VerdictRow
from gateway.host.compose import Host, open_host
from tests.support.playing import AGENT

SUPPORT = "support@shop.example"
ADA = "ada@cust.example"
FORGER = "mallory@evil.example"
LEAD = "lead@shop.example"
PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Office:
    post: MailServer
    host: Host

    @property
    def ledger(self) -> Ledger:
        return self.host.runtime.store.ledger

    @property
    def channel(self) -> EmailChannel:
        found = self.host.api.registry.channels["email"]
        assert isinstance(found, EmailChannel)
        return found

    async def write(self, draft: Draft, *, sender: str = "", dmarc: str = "") -> None:
        """A mail comes in from outside, to the first whom it is written to."""
        address = sender or draft.sender.rpartition("<")[2].rstrip(">")
        to = draft.to[0].rpartition("<")[2].rstrip(">")
        await self.post.deliver(draft.raw(), to, address, dmarc=dmarc)

    def letters(self, address: str = ADA) -> list[Message]:
        return [email.message_from_bytes(raw) for raw in self.post.mails(address)]

    async def letter(self, number: int = 1, address: str = ADA) -> Message:
        """The so many-th that came there."""
        await self.until(lambda: len(self.letters(address)) >= number)
        return self.letters(address)[number - 1]

    async def verdicts(self, number: int = 1) -> list[VerdictRow]:
        """All of them, the oldest first, once there are so many."""
        found: list[VerdictRow] = []

        async def enough() -> bool:
            found[:] = reversed(await self.ledger.verdicts(source="email", limit=200))
            return len(found) >= number

        await self.until(enough)
        return found

    async def delivery(self, state: str, part: str = "reply") -> Delivery:
        """The latest that is in this state."""
        found: list[Delivery] = []

        async def there() -> bool:
            rows = await self.ledger.deliveries(limit=50)
            found[:] = [row for row in rows if (row.state, row.part) == (state, part)]
            return bool(found)

        await self.until(there)
        return found[0]

    async def until(self, holds: Callable[[], bool | Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = holds()
                if found if isinstance(found, bool) else await found:
                    return
                await asyncio.sleep(0.02)


def answer_to(letter: Message, text: str, sender: str = f"Ada <{ADA}>") -> Draft:
    """What somebody's mail program makes of pressing "reply"."""
    own = str(letter["Message-ID"])
    return Draft(
        sender=sender,
        to=[str(letter["Reply-To"] or letter["From"])],
        subject=str(letter["Subject"]),
        text=text,
        in_reply_to=own,
        references=[*str(letter["References"] or "").split(), own],
    )


def question(text: str = "Hello, where is order 1042?", **changes: object) -> Draft:
    given: Mapping[str, object] = {
        "sender": f"Ada <{ADA}>",
        "to": [SUPPORT],
        "subject": "My kettle",
        "text": text,
        **changes,
    }
    return Draft(**given)  # type: ignore[arg-type]


@asynccontextmanager
async def post_office() -> AsyncGenerator[MailServer]:
    """The server, with everybody's mailboxes."""
    async with MailServer() as post:
        for address in (SUPPORT, ADA, LEAD):
            post.user(address)
        post.border.verdicts |= {"cust.example": "pass", "shop.example": "pass"}
        post.border.verdicts["evil.example"] = "none"
        yield post


def email_settings(post: MailServer, state: Path, **more: str) -> dict[str, str]:
    account = post.accounts.find(SUPPORT)
    assert account is not None
    login = f"support%40shop.example:{account.password}@{post.host}"
    return {
        "GATEWAY_STATE": str(state),
        "GATEWAY_AGENT": str(AGENT),
        "GATEWAY_MODEL": "scripted",
        "GATEWAY_SECRET_KEYS": "a-key-for-tests-only-and-nothing-else",
        "DATABASE_URL": f"sqlite:///{state / 'gateway.db'}",
        "EMAIL_ADDRESS": SUPPORT,
        "EMAIL_IMAP_URL": f"imap://{login}:{post.ports.imap}/INBOX",
        "EMAIL_SMTP_URL": f"smtp://{login}:{post.ports.submission}",
        "EMAIL_AUTHSERV_ID": post.border.id,
        "EMAIL_BORDER_HOST": post.border.id,
        **more,
    }


@asynccontextmanager
async def office(state: Path, post: MailServer, **more: str) -> AsyncGenerator[Office]:
    """A host for this mail server; again with the same ``state`` it is a restart."""
    settings = Settings.load(email_settings(post, state, **more), toml_path=None)
    async with open_host(settings, works=True) as host:
        yield Office(post, host)
