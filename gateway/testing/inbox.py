"""A mail server beside an agent under test: what people write to its inbox, and the letters they get."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from email.message import EmailMessage

from typing_extensions import override

from channels.email.emulator.letters import address_of, body_of, one_line, parsed, thread_of
from channels.email.parse import event_id
from channels.email.threads.contents import content_id
from gateway.testing.beside import PATIENCE, Beside
from gateway.testing.mail import Draft, MailServer, reply, settings_for

INBOX = "support@shop.example"
CUSTOMERS = "cust.example"
KEY = "the-key-of-a-test-and-nothing-else"
GLANCE = 0.02
"""Seconds."""


class MailUnderTest(Beside):
    """The fixture ``mail``: the inbox ``support@shop.example``, which the agent answers. People get a mailbox
    when they are first named: ``ada`` is ``ada@cust.example``, whose domain vouches for its mail, and
    ``bo@quiet.example`` is of a domain that doesn't. ``server`` is everything that stands behind it."""

    def __init__(self, server: MailServer, loop: asyncio.Runner) -> None:
        super().__init__(loop)
        self.server = server
        server.user(INBOX)
        server.border.verdicts[CUSTOMERS] = "pass"

    @property
    @override
    def settings(self) -> Mapping[str, str]:
        return {**settings_for(self.server, INBOX), "GATEWAY_SECRET_KEYS": KEY}

    def address(self, name: str) -> str:
        """Where somebody has their mail: a name's at cust.example, an address as it is."""
        address = name if "@" in name else f"{name}@{CUSTOMERS}"
        if self.server.accounts.find(address) is None:
            self.server.user(address)
        return address

    def identity(self, name: str) -> str:
        """As tools, hooks and logs know this person: ``email:<address>``."""
        return f"email:{self.address(name)}"

    def write(
        self, text: str, *, subject: str = "A question", by: str = "ada", dmarc: str = ""
    ) -> Letters:
        """Mail the inbox. ``dmarc`` is what the inbox's server finds out about the author: ``"fail"`` for
        somebody who only writes this address; else as that domain's is."""
        if self.agent is not None and "email" not in self.agent.host.api.channels:
            raise AssertionError(
                "the agent answers no mail: it has no channels/email.py. fix: gateway add channel email"
            )
        draft = Draft(sender=self.address(by), to=[INBOX], subject=subject, text=text)
        return Letters(self, self.send(draft, dmarc))

    def send(self, draft: Draft, dmarc: str = "") -> bytes:
        """Bring a mail to whom it is written to first; its bytes."""
        raw, to = draft.raw(), address_of(draft.to[0])
        self.run(self.server.deliver(raw, to, address_of(draft.sender), dmarc=dmarc))
        return raw

    @override
    async def _wait(self, holds: Callable[[], bool], seconds: float) -> None:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - much of what is waited for tells nobody
                await asyncio.sleep(GLANCE)

    def judged(self, raw: bytes) -> str:
        """What the gateway made of a mail by now: its verdict and the rule. Empty: nothing yet."""
        if (agent := self.agent) is None:
            return ""
        event = event_id(content_id(raw))
        looked = agent.store.ledger.verdicts(source="email", event=event, limit=1)
        return "".join(f"{row.verdict} ({row.rule})" for row in agent.run(looked))

    def rest(self) -> None:
        """Let time pass for the agent."""
        if self.agent is not None:
            self.run(self.agent.outlived(lambda: asyncio.sleep(GLANCE)))


class Letters:
    """A thread of mail, as whoever began it sees it."""

    def __init__(self, mail: MailUnderTest, first: bytes) -> None:
        self._mail = mail
        self._latest = first
        self.root = parsed(first)

    @property
    def _stored(self) -> list[bytes]:
        root = one_line(self.root, "Message-ID")
        mine = self._mail.server.mails(address_of(one_line(self.root, "From")))
        return [raw for raw in mine if root in thread_of(parsed(raw))[1]]

    @property
    def letters(self) -> list[EmailMessage]:
        """What came in answer, the oldest first."""
        return [parsed(raw) for raw in self._stored]

    @property
    def texts(self) -> list[str]:
        return [body_of(letter) for letter in self.letters]

    @property
    def verdict(self) -> str:
        """What the gateway made of the mail that was written last, as soon as it did: ``accepted (direct)``,
        ``held (unattested)``, ``automated_mail (auto-submitted)``."""
        for _ in range(round(PATIENCE / GLANCE)):
            if found := self._mail.judged(self._latest):
                return found
            self._mail.rest()
        raise AssertionError(f"the mail wasn't judged in {PATIENCE:.0f} s")

    def until(self, words: str) -> EmailMessage:
        """Wait for a letter that says this."""

        def look() -> EmailMessage | None:
            return next((one for one in self.letters if words in body_of(one)), None)

        try:
            return self._mail.until(look, f"a letter with {words!r}")
        except AssertionError as error:
            came = "\n  ".join(self.texts) or "none"
            became = self._mail.judged(self._latest) or "not read yet"
            raise AssertionError(f"{error}. the letters:\n  {came}\nthe mail: {became}") from None

    def reply(self, text: str, *, dmarc: str = "") -> None:
        """Answer the latest letter, which is quoted below, as a mail program does."""
        if not (stored := self._stored):
            raise AssertionError("there is no letter to reply to yet: wait for one with until(…)")
        draft = reply(stored[-1], one_line(self.root, "From"), text)
        self._latest = self._mail.send(draft, dmarc)
