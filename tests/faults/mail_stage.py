"""A whole host beside a mail server, and the two journeys that faults are injected into."""

from __future__ import annotations

import asyncio
import email
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Protocol

from typing_extensions import override

from channels.email.emulator.faults import Fault, Faults
from channels.email.emulator.journal import Handed
from channels.email.emulator.letters import Draft
from channels.email.emulator.server import MailServer
from channels.email.threads.contents import content_id
from gateway.cli.demo.proof import refunds
from gateway.config import Settings
from gateway.engine.ledger import Delivery, Ledger
from gateway.engine.ports import SessionStore
from gateway.host.app import make_app
from gateway.host.compose import Host, open_host
from gateway.values import ApiToken, Secret
from tests.journeys.slack_stage import Calendar
from tests.support.http import Client, connect, on_socket
from tests.support.mail.office import ADA, SUPPORT, email_settings, post_office

SPEED = 12.0
PATIENCE = 25.0
"""Seconds of this machine for one journey, retries included."""
LEAD = ApiToken("lead", Secret("token-of-the-lead"))
HOOK = "hook:a-password-for-tests-only"
SETTLED = {"done", "silent"}
LONG = 120.0


@dataclass(slots=True)
class Steps(Faults):
    """Faults, and every step that anybody came to."""

    met: list[str] = field(default_factory=list[str])
    told: list[Callable[[str], None]] = field(default_factory=list[Callable[[str], None]])

    @override
    def take(self, step: str) -> Fault | None:
        self.met.append(step)
        for tell in list(self.told):
            tell(step)
        return super(Steps, self).take(step)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a journey leaves. ``letters``: subject and text of each, however often it arrived;
    ``arrived``: Message-ID and hash of all that did; ``turns`` and ``verdicts`` about the mail."""

    letters: list[tuple[str, str]]
    arrived: list[tuple[str, str]]
    verdicts: list[tuple[str, str]]
    paid: list[tuple[str, str]]

    @property
    def once(self) -> bool:
        return len(self.arrived) == len(set(self.arrived))


@dataclass(slots=True)
class MailStage:
    post: MailServer
    steps: Steps
    time: Calendar
    state: Path
    serves: Host | None = None
    client: Client | None = None

    @property
    def host(self) -> Host:
        assert self.serves is not None
        return self.serves

    @property
    def ledger(self) -> Ledger:
        return self.host.runtime.store.ledger

    # -- what happens ------------------------------------------------------------------------------
    async def deliver(self, raw: bytes, to: str = SUPPORT) -> None:
        await self.post.deliver(raw, to, ADA)

    async def rows(self, raw: bytes) -> list[Delivery]:
        turn = f"email:{SUPPORT}:{content_id(raw)}"
        rows = await self.ledger.deliveries(turn_id=turn)
        return [row for row in rows if row.source == "email"]  # the card is another channel's

    async def rests(self, raw: bytes) -> bool:
        """The turn has ended, its letters are sent, and the mail is put away."""
        rows = await self.rows(raw)
        settled = all(row.state in SETTLED and row.shown == row.wanted for row in rows)
        return bool(rows) and settled and self.post.mails(SUPPORT) == []

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """What is to be tried again later is tried now."""
        async with asyncio.timeout(PATIENCE):
            while not await holds():
                await asyncio.sleep(0.01)
                await self._hasten()

    async def _hasten(self) -> None:
        due = await self.ledger.next_due(["email"])
        busy = await self.ledger.deliveries(state="sending", limit=1)
        left = 0.0 if due is None else (due - self.time.now()) / 1000
        if left > 2 and not busy:
            self.time.skip(left)

    async def revive(self, why: str) -> None:
        """An operator sends what is dead again."""
        for row in await self.ledger.deliveries(state="dead"):
            assert row.error is not None
            assert row.error.startswith(f"{why}: "), row.error
            await self.ledger.retry(id=row.id, now=self.time.now())

    async def outcome(self, raw: bytes, since: int) -> Outcome:
        handed = [one for one in self.post.journal.handed[since:] if one.kept]
        event = f"mail-{content_id(raw)}"
        verdicts = await self.ledger.verdicts(source="email", event=event, limit=50)
        paid = await asyncio.to_thread(refunds, self.state)
        return Outcome(
            letters=list(dict.fromkeys(map(_letter, handed))),
            arrived=[(one.message_id, one.sha256) for one in handed],
            verdicts=[(one.verdict, one.rule) for one in verdicts],
            paid=[(one.order_id, one.amount) for one in paid],
        )


def _letter(handed: Handed) -> tuple[str, str]:
    message = email.message_from_bytes(handed.raw)
    return str(message["Subject"]), text_of(message)


def text_of(message: Message) -> str:
    plain = next(part for part in message.walk() if part.get_content_type() == "text/plain")
    body = plain.get_payload(decode=True)
    assert isinstance(body, bytes)
    return body.decode()


Wrap = Callable[[SessionStore], SessionStore]


@asynccontextmanager
async def serving(
    stage: MailStage, wrap: Wrap | None = None, more: Mapping[str, str] | None = None
) -> AsyncGenerator[None]:
    """A host of the stage's state; again, it is a restart."""
    env = email_settings(stage.post, stage.state, EMAIL_POSTMARK_LOGIN=HOOK, **(more or {}))
    settings = Settings.load(env, toml_path=None)
    opened = open_host(
        settings, tokens=(LEAD,), works=True, clock=stage.time.clock, waits=stage.time, wrap=wrap
    )
    async with (
        opened as host,
        on_socket(make_app(host.api)) as url,
        connect(url, "token-of-the-lead") as client,
    ):
        stage.serves, stage.client = host, client
        try:
            yield
        finally:
            if stage.serves is host:
                stage.serves = stage.client = None


@asynccontextmanager
async def beside(state: Path) -> AsyncGenerator[MailStage]:
    """The mail server, and no host yet."""
    steps = Steps()
    async with post_office() as post:
        post.faults = steps
        yield MailStage(post, steps, Calendar(SPEED), state)


@asynccontextmanager
async def staged(state: Path) -> AsyncGenerator[MailStage]:
    async with beside(state) as stage, serving(stage):
        yield stage


# -- journeys --------------------------------------------------------------------------------------
Meanwhile = Callable[[], Awaitable[None]]


async def nothing() -> None:
    """What nobody does in between."""


def mail(text: str) -> bytes:
    """Each of somebody else, since one person alone may write only so often."""
    sender = f"ada-{next(_numbers)}@cust.example"
    return Draft(sender=sender, to=[SUPPORT], subject="My kettle", text=text).raw()


_numbers = itertools.count(1)


async def question(on: MailStage, meanwhile: Meanwhile = nothing) -> bytes:
    """Asked and answered."""
    raw = mail("Hello, where is order 1042?")
    await on.deliver(raw)
    await _to_rest(on, raw, meanwhile)
    return raw


async def refund(on: MailStage, meanwhile: Meanwhile = nothing) -> bytes:
    """Asked for, approved over the API, paid, and told."""
    raw = mail("Please refund order 1042, it arrived broken.")
    await on.deliver(raw)

    async def decided() -> bool:
        await meanwhile()
        await approve(on)
        return await on.rests(raw)

    await on.until(decided)
    return raw


async def approve(on: MailStage) -> None:
    """Whoever waits until the customer was told that somebody decides sees both letters."""
    if on.client is None or await on.ledger.deliveries(state="dead"):
        return
    rows = await on.ledger.deliveries(limit=5)
    if not any(row.state == "resting" for row in rows):
        return
    with suppress(OSError):
        for row in (await on.client.get("/approvals")).rows("approvals"):
            done = await on.client.post(f"/approvals/{row['id']}", {"value": True})
            assert done.status in {200, 409}, done.raw


async def _to_rest(on: MailStage, raw: bytes, meanwhile: Meanwhile) -> None:
    async def rests() -> bool:
        await meanwhile()
        return await on.rests(raw)

    await on.until(rests)


class Journey(Protocol):
    """Play it to its end; the mail that it is about."""

    async def __call__(self, on: MailStage, meanwhile: Meanwhile = ...) -> bytes: ...


JOURNEYS: dict[str, Journey] = {"question": question, "refund": refund}


async def played(on: MailStage, journey: Journey, meanwhile: Meanwhile = nothing) -> Outcome:
    """On new lines, so that all that is said on the way to a mailbox is said again."""
    await asyncio.to_thread((on.state / "payments-stub.db").unlink, missing_ok=True)
    before = len(on.post.journal.handed)
    on.time.skip(LONG)  # the line held for that long, so it is looked for again at once
    on.post.cut()
    raw = await journey(on, meanwhile)
    return await on.outcome(raw, before)
