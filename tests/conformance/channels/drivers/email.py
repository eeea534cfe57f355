"""Email: people with mail programs, a mail server, and the gateway that looks after one of its mailboxes.

Who decides about money does so where staff do, by the API: mail has nothing to press. So a conversation is
shown here as both sides see it, the letters and the requests behind them.
"""

from __future__ import annotations

import asyncio
import email
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import quote

from channels.email.emulator.border import Passage, handed_on
from channels.email.emulator.faults import Fault
from channels.email.emulator.letters import Draft, reply
from channels.email.emulator.server import MailServer
from channels.email.threads.contents import content_id
from gateway.engine.kinds import JsonObject
from gateway.engine.steps.tasks import Tasks
from gateway.outbox.reference import reference_of
from gateway.testing.time import ScaledTime
from tests.conformance.channels.driver import (
    Judged,
    Line,
    NotThere,
    Post,
    Replace,
    ResetBy,
    Telling,
    Where,
    Who,
    Words,
)
from tests.conformance.channels.drivers.house import SPEED, House, house
from tests.conformance.channels.drivers.lmtp import free_port, handed_over, shown
from tests.conformance.channels.waiting import until
from tests.support.http import Answer
from tests.support.mail.office import ADA, SUPPORT, email_settings, post_office

WORDS = Words(
    stopped="",
    superseded="(superseded by a newer message)",
    failed="Sorry, I couldn't finish this.",
    expired="expired",
    denied="denied",
    needless="cancelled",
    one_of_two="1 of 2",
    behind="A colleague is still deciding",
    bot="automated_mail",
)
ADDRESSES = {"ada": ADA, **{who: f"{who}@shop.example" for who in ("lead", "second", "stranger")}}
OFFERED = ("Approve", "Deny")
WAITING = "A colleague has to confirm this first."
OPEN, SETTLED = {"queued", "running"}, {"done", "silent", "resting"}


@dataclass(frozen=True, slots=True)
class Mailed:
    """``session`` is the Message-ID of the mail that the conversation began with."""

    raw: bytes
    message_id: str
    session: str

    @property
    def turn_id(self) -> str:
        return f"email:{SUPPORT}:{content_id(self.raw)}"


@dataclass(slots=True)
class Email:
    post: MailServer
    house: House
    tasks: Tasks
    port: int
    """Where the gateway takes mail from the site's own server."""
    name: str = "email"
    words: Words = WORDS
    replaces: bool = False
    _mails: list[Mailed] = field(default_factory=list[Mailed])
    _requests: dict[str, str] = field(default_factory=dict[str, str])
    _told: dict[str, list[str]] = field(default_factory=lambda: defaultdict[str, list[str]](list))
    _echoed: int = 0

    # -- what people do ----------------------------------------------------------------------------
    async def say(
        self,
        who: Who,
        text: str,
        *,
        below: Post | None = None,
        where: Where = "support",
        told: Telling = "",
    ) -> Mailed:
        sender = ADDRESSES.get(who, f"{who}@partners.example")
        mailed = self._written(sender, text, below)
        match told:
            case "":
                await self._by_imap(mailed)
            case "message first":
                await self._by_imap(mailed)
                assert await self._by_lmtp(mailed)
            case "mention first":
                assert await self._by_lmtp(mailed)
                await self._by_imap(mailed)
            case "all at once":
                async with asyncio.TaskGroup() as group:
                    for _ in range(2):
                        group.create_task(self._by_lmtp(mailed))
                        group.create_task(self._by_imap(mailed))
        return mailed

    def _written(
        self, sender: str, text: str, below: Post | None, more: dict[str, str] | None = None
    ) -> Mailed:
        draft = Draft(sender=sender, to=[SUPPORT], subject="A matter", text=text, more=more or {})
        if below is not None and (letters := self._letters(below, sender)):
            draft = reply(letters[-1], sender, text)
        elif below is not None:
            above = _of(below).message_id
            draft = Draft(
                sender=sender,
                to=[SUPPORT],
                subject="Re: A matter",
                text=text,
                in_reply_to=above,
                references=[above],
            )
        raw = draft.raw()
        own = str(email.message_from_bytes(raw)["Message-ID"])
        mailed = Mailed(raw, own, own if below is None else below.session)
        self._mails.append(mailed)
        return mailed

    async def _by_imap(self, mailed: Mailed) -> None:
        message = email.message_from_bytes(mailed.raw)
        await self.post.deliver(mailed.raw, str(message["To"]), str(message["From"]))

    async def _by_lmtp(self, mailed: Mailed) -> bool:
        """The site's server hands over the same mail by itself; whether the gateway says that it has it."""
        message = email.message_from_bytes(mailed.raw)
        sender, to = str(message["From"]), str(message["To"])
        way = Passage(
            sender=sender,
            recipient=to,
            dmarc=self.post.border.verdict(mailed.raw),
            client="out.cust.example",
            number=len(self._mails),
            at=self.post.now(),
        )
        raw = handed_on(mailed.raw, self.post.border, way)
        return await asyncio.to_thread(handed_over, self.port, sender, to, raw)

    async def chat(self, who: Who, text: str) -> Mailed:
        """To a colleague, and not to the inbox."""
        raw = Draft(sender=ADDRESSES[who], to=[ADDRESSES["lead"]], subject="Lunch", text=text).raw()
        await self.post.deliver(raw, ADDRESSES["lead"], ADDRESSES[who])
        assert self.post.mails(SUPPORT) == []
        raise NotThere("it lies in the mailbox of whom it was written to")

    async def bot_says(self, bot: str, text: str, *, below: Post | None = None) -> Mailed:
        marks = {"Auto-Submitted": "auto-generated"}
        mailed = self._written(f"{bot}@cust.example", text, below, marks)
        await self._by_imap(mailed)
        if bot == "ping":
            await self.rests()
            assert self._letters(mailed) == []
            raise NotThere("mail that says it is a machine's is never answered")
        return mailed

    async def agent_first(self, text: str) -> Mailed:
        begun = await self.house.as_("operator").post(
            "/agents/june/sessions/digest/turn?deliver=1",
            {"message": text, "target": {"source": "email", "address": ADA}},
        )
        assert begun.status == 202, begun.raw
        await self.rests()
        (letter,) = self.post.mails(ADA)
        own = str(email.message_from_bytes(letter)["Message-ID"])
        return Mailed(letter, own, own)

    async def edit(self, post: Post, text: str) -> None:
        raise NotThere("a mail can't be changed once it is sent")

    async def delete(self, post: Post) -> None:
        raise NotThere("a mail can't be taken back once it is sent")

    async def withdraw(self, post: Post) -> None:
        """A customer asks somebody of the staff for it."""
        found = await self._turn(post)
        path = f"/agents/june/sessions/{quote(str(found['session']), safe='')}"
        turn = quote(post.turn_id, safe="")
        done = await self.house.as_("operator").post(f"{path}/turns/{turn}/cancel")
        assert done.status < 300, done.raw

    async def _turn(self, post: Post) -> JsonObject:
        rows = (await self.house.as_("operator").get("/turns?limit=500")).rows("turns")
        return next(row for row in rows if row["turn_id"] == post.turn_id)

    async def decide(self, who: Who, post: Post, label: str) -> None:
        await self._answer(who, post, {"value": label == "Approve"})

    async def deny(self, who: Who, post: Post, reason: str) -> None:
        await self._answer(who, post, {"value": False, "reason": reason})

    async def _answer(self, who: Who, post: Post, given: JsonObject) -> None:
        await self.seen(post)  # whoever decides has looked
        request = self._requests[post.turn_id]
        self._hear(who, await self.house.as_(who).post(f"/approvals/{request}", given))

    def _hear(self, who: Who, answer: Answer) -> None:
        """A refusal is told to who asked, and to nobody else."""
        if answer.status >= 400:
            by = answer.json.get("by")
            self._told[who].append(f"{answer.json['detail']}" + (f" by {by}" if by else ""))

    async def press_at_once(self, who: Who, post: Post, label: str, times: int) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(times):
                group.create_task(self.decide(who, post, label))

    async def decide_elsewhere(self, who: Who, post: Post) -> None:
        await self.decide(who, post, "Approve")

    async def stop(self, who: Who, post: Post) -> None:
        raise NotThere("a mail program has nothing to stop an answer with")

    async def reset(self, who: Who, post: Post, by: ResetBy) -> None:
        raise NotThere("a mail program has neither commands nor menus of ours")

    # -- what the platform does --------------------------------------------------------------------
    def echo(self) -> None:
        """The mailbox is set to keep a copy of what is sent from it, in its inbox."""
        sent = [one for one in self.post.journal.kept() if one.user == SUPPORT]
        for one in sent[self._echoed :]:
            self.tasks.run(self.post.deliver(one.raw, SUPPORT, SUPPORT), "a copy")
        self._echoed = len(sent)

    async def tell_again(self, post: Post, times: int = 1) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(times):
                group.create_task(self._by_imap(_of(post)))
                group.create_task(self._by_lmtp(_of(post)))
        self.post.renew(SUPPORT)

    async def say_while_store_is_shut(self, who: Who, text: str) -> Mailed:
        mailed = self._written(ADDRESSES[who], text, None)
        read = self.post.faults.add(Fault("slow", "imap:FETCH", count=None, seconds=0.0))
        async with self.house.shut():
            await self._by_imap(mailed)

            async def tried() -> bool:
                return read.seen > 0

            assert await until(tried)
            assert not await self._by_lmtp(mailed)
            assert len(self.post.mails(SUPPORT)) == 1
        return mailed

    async def restart(self) -> None:
        await self.house.restart()

    # -- what people see ---------------------------------------------------------------------------
    async def begins(self, post: Post) -> None:
        """A letter is sent whole, so nobody sees it before."""

        async def halted() -> bool:
            return self.house.halted

        assert await until(halted), "no answer is under way"

    def _letters(self, post: Post, *to: str) -> list[bytes]:
        """Those of the conversation to one person or all, the oldest first: a mail program goes by ids."""
        ids = {one.message_id for one in self._mails if one.session == post.session}
        ids.add(post.session)
        found: list[bytes] = []
        for raw in [raw for at in to or ADDRESSES.values() for raw in self.post.mails(at)]:
            message = email.message_from_bytes(raw)
            own, above = str(message["Message-ID"]), str(message["References"] or "").split()
            if own in ids or not ids.isdisjoint(above):
                ids.add(own)
                found.append(raw)
        return found

    async def seen(self, post: Post) -> Sequence[Line]:
        """The requests, and the letters."""
        found: list[Line] = []
        listed = (await self.house.as_("operator").get("/approvals?limit=500")).rows("approvals")
        self._requests |= {str(row["turn_id"]): str(row["id"]) for row in listed}
        texts = [shown(raw) for raw in self._letters(post)]
        told = sum(WAITING in text for text in texts)
        for one in self._mails:
            if one.session == post.session and one.turn_id in self._requests:
                offered = OFFERED if len(found) < told else ()
                found.append(await self._request(self._requests[one.turn_id], offered))
        return [*found, *map(Line, texts)]

    async def _request(self, request: str, offered: tuple[str, ...]) -> Line:
        """Pressable once the customer knows that somebody is asked."""
        row = (await self.house.as_("operator").get(f"/approvals/{request}")).json
        prompt, outcome = str(row["prompt"]), row["outcome"]
        if outcome is not None:
            return Line(f"{prompt} {outcome} by {row['by']}")
        quorum = cast("JsonObject", row["answerers"]).get("quorum", 1)
        return Line(f"{prompt} {row['votes']} of {quorum}", offered)

    async def private(self, who: Who) -> Sequence[str]:
        return self._told[who]

    async def pinged(self) -> Sequence[str]:
        sent = [one for one in self.post.journal.kept() if one.user == SUPPORT]
        return [to for one in sent for to in one.recipients if to != ADA]

    async def verdicts(self, post: Post) -> Sequence[Judged]:
        mails = [one.raw for one in self._mails if one.session == post.session]
        events = {f"mail-{content_id(raw)}" for raw in (*mails, *self._letters(post))}
        rows = (await self.house.as_("operator").get("/verdicts?limit=500")).rows("verdicts")
        return [
            Judged(str(row["verdict"]), str(row["rule"]))
            for row in reversed(rows)
            if row["event"] in events
        ]

    async def unjudged(self) -> Sequence[str]:
        return [one.message_id for one in self._mails if not await self.verdicts(one)]

    async def found_by(self, reference: str) -> Sequence[str]:
        found = await self.house.as_("operator").get("/turns?limit=500")
        ids = [str(row["turn_id"]) for row in found.rows("turns")]
        return [one for one in ids if reference_of(one) == reference]

    async def rests(self) -> None:
        assert await until(self._rests), "the gateway doesn't come to rest"

    async def _rests(self) -> bool:
        if self.post.mails(SUPPORT):
            return False
        operator = self.house.as_("operator")
        turns = (await operator.get("/turns?limit=500")).rows("turns")
        if any(row["state"] in OPEN for row in turns):
            return False
        rows = (await operator.get("/deliveries?limit=500")).rows("deliveries")
        shown = all(row["state"] in SETTLED and row["shown"] == row["wanted"] for row in rows)
        return shown and not self.post.mails(SUPPORT)

    # -- the agent's own ---------------------------------------------------------------------------
    @property
    def known_id(self) -> str:
        return "second"

    @property
    def ran(self) -> Sequence[str]:
        return self.house.ran

    def let_go(self) -> None:
        self.house.gate.set()


def _of(post: Post) -> Mailed:
    assert isinstance(post, Mailed)
    return post


@asynccontextmanager
async def open_email(state: Path, *, replace: Replace) -> AsyncGenerator[Email]:
    """``replace`` is nothing that mail has."""
    tasks = Tasks()
    async with post_office() as post:
        for address in ADDRESSES.values():
            if post.accounts.find(address) is None:
                post.user(address)
        port = free_port()
        env = email_settings(
            post,
            state,
            LEADS="api:lead api:second",
            EMAIL_LISTEN=f"lmtp://127.0.0.1:{port}",
            EMAIL_LISTEN_AUTHSERV_ID=post.border.id,
            EMAIL_LISTEN_BORDER_HOST=post.border.id,
            EMAIL_VOUCHING_DOMAINS="cust.example",
        )
        del env["GATEWAY_MODEL"]
        async with house(state, env, ScaledTime(SPEED)) as gateway:
            driver = Email(post, gateway, tasks, port)
            post.journal.watchers.append(driver.echo)
            try:
                yield driver
            finally:
                post.journal.watchers.remove(driver.echo)
                await tasks.close(5.0)
