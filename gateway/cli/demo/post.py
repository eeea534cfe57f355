"""The mail that the demo plays with: a server on this machine, a customer, and who decides on what they ask."""

from __future__ import annotations

import email
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from email.message import Message

from channels.email.emulator.letters import address_of
from gateway.cli.demo.office import Office
from gateway.playground.mail.dovecot import Choice, inbox_as_chosen
from gateway.testing.mail import Draft, MailServer, settings_for
from gateway.testing.slack import Channel, Shown

SUPPORT = "support@shop.example"
CUSTOMER = "ada@cust.example"
FORGER = "mallory@evil.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOffice:
    server: MailServer
    office: Office
    approvals: Channel
    """Where what is asked for by mail is decided on."""
    key: str
    imap: int
    """The port that the support inbox is read from; 0: the server's own."""

    @property
    def settings(self) -> Mapping[str, str]:
        told = settings_for(self.server, SUPPORT, imap=self.imap)
        return {**told, "GATEWAY_SECRET_KEYS": self.key}

    async def bring(self, draft: Draft, sender: str = CUSTOMER, dmarc: str = "") -> str:
        """A mail comes in from outside; its Message-ID."""
        raw = draft.raw()
        await self.server.deliver(raw, address_of(draft.to[0]), sender, dmarc=dmarc)
        return str(email.message_from_bytes(raw)["Message-ID"])

    def letters(self) -> list[Message]:
        """What came to the customer."""
        return [email.message_from_bytes(raw) for raw in self.server.mails(CUSTOMER)]

    def card(self) -> Shown | None:
        return next((one for one in self.cards() if one.buttons), None)

    def cards(self) -> list[Shown]:
        shown = self.office.slack.shown(self.approvals)
        return [one for one in shown if one.author == "june"]


@asynccontextmanager
async def open_post(office: Office, inbox: Choice) -> AsyncGenerator[PostOffice]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(MailServer())
        for address in (SUPPORT, CUSTOMER):
            server.user(address)
        server.border.verdicts["cust.example"] = "pass"
        box = await stack.enter_async_context(inbox_as_chosen(server, SUPPORT, inbox))
        acme = office.slack.workspace("acme")
        people = (office.june, office.lead, office.second)
        yield PostOffice(
            server=server,
            office=office,
            approvals=acme.channel("refund-approvals", people),
            key=secrets.token_hex(32),
            imap=0 if box is None else box.imap_port,
        )


def words(letter: Message) -> str:
    """The text of a letter."""
    for part in letter.walk():
        payload = part.get_payload(decode=True)
        if part.get_content_type() == "text/plain" and isinstance(payload, bytes):
            return payload.decode("utf-8", "replace").strip()
    return ""
