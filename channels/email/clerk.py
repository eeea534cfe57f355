"""What an operator does with mail that was kept: look, let in, hand back. Needs the books and no connection."""

from __future__ import annotations

import asyncio
import logging

from channels.contract import Ignored, Inbound, Parsed, Verdict
from channels.email.mailroom import PATIENCE, TAKES_OVER, Looked, Mailroom
from channels.email.parse import event_id
from channels.email.reading.desk import Desk
from channels.email.threads import places
from channels.email.threads.conversation import Conversation
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.ledger import Ledger
from gateway.engine.limits import Clock
from gateway.engine.records import DeliveryMark

__all__ = ["MailClerk"]

log = logging.getLogger("gateway.email")

PREFIX = event_id("")
MOST_SUBJECT = 300
MOST_TEXT = 100_000
MOST_RESTING = 1_000
"""Views that rest or are sent, the latest, among which those of a conversation are looked for."""


class MailClerk:
    """A ``Clerk``."""

    def __init__(self, desk: Desk, ledger: Ledger, clock: Clock) -> None:
        self.ledger = ledger
        self.clock = clock
        self._desk = desk
        self._room = Mailroom(desk, self)

    async def receive(self, parsed: Parsed) -> Verdict:
        raise AssertionError("a clerk takes no mail")

    # -- mail ----------------------------------------------------------------------------------------
    async def read(self, event: str, *, whole: bool = True) -> JsonObject | None:
        looked = await self._look(event)
        return None if looked is None else _read(event, looked, whole=whole)

    async def raw(self, event: str) -> bytes | None:
        content = _content(event)
        handed = None if content is None else await self._room.shelf.find(content)
        return None if handed is None else handed.raw

    async def replay(self, event: str) -> JsonObject | None:
        looked = await self._look(event)
        if looked is None:
            return None
        verdict, rule, why = _judged(looked)
        told = _read(event, looked, whole=True)
        return {**told, "verdict": verdict, "rule": rule, "why": why}

    async def admitted(self, event: str) -> Inbound | None:
        content = _content(event)
        if content is None:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._room.admitted(content)
        except TimeoutError:
            log.error("email: mail %s isn't read within %s s", content, PATIENCE)  # noqa: TRY400
            return None

    async def _look(self, event: str) -> Looked | None:
        content = _content(event)
        return None if content is None else await self._room.look(content)

    # -- conversations -------------------------------------------------------------------------------
    async def conversation(self, key: str) -> JsonObject | None:
        found = await self._room.book.find(_conversation(key))
        return None if found is None else _told(found)

    async def hand_back(self, key: str) -> JsonObject | None:
        """What the agent had to say meanwhile is sent, and the cards of open requests say so no more."""
        conversation, now = _conversation(key), self.clock.now()
        await self._room.book.take_over(conversation, "")
        found = await self._room.book.find(conversation)
        if found is None:
            return None
        # First those that are being looked at: what is withheld only now would wait for nobody.
        sending = await self.ledger.deliveries(state="sending", limit=MOST_RESTING)
        resting = await self.ledger.deliveries(state="resting", limit=MOST_RESTING)
        turns = {row.turn for row in (*sending, *resting) if row.session == found.session}
        if turns:
            await self.ledger.note([DeliveryMark(turn=turn, at=now) for turn in sorted(turns)])
        talk = places.session(self._desk.mailbox, conversation)
        await self.ledger.retry(revive_on=talk, now=now)
        return _told(found)


def _content(event: str) -> str | None:
    """The mail that an event is about, also after it was let in."""
    content = event.partition(":")[0].removeprefix(PREFIX)
    return content if event.startswith(PREFIX) and content.isalnum() else None


def _conversation(key: str) -> str:
    return key.rpartition(":")[2]


def _told(found: Conversation) -> JsonObject:
    return {
        "conversation": found.id,
        "session": found.session,
        "people": [*found.people],
        "taken_over": found.taken_over,
    }


def _judged(looked: Looked) -> tuple[str, str, str]:
    """The verdict that would be written, its rule, and why in words where the rule alone doesn't tell. A
    budget isn't spent, and so not asked."""
    if looked.bounce_rule:
        return "automated_mail", looked.bounce_rule, ""
    if looked.colleague:
        return "not_addressed", TAKES_OVER, ""
    parsed = looked.parsed
    if isinstance(parsed, Ignored):
        return parsed.verdict, parsed.rule, parsed.reason
    if isinstance(parsed, Inbound) and parsed.doubt:
        return "held", parsed.doubt, ""
    return "accepted", "direct", ""


def _read(event: str, looked: Looked, *, whole: bool) -> JsonObject:
    opened, joined = looked.opened, looked.joined
    known, mail = opened.attestation, opened.mail
    reasons: list[Json] = [[word, why] for word, why in known.reasons]
    told: JsonObject = {
        "event": event,
        "from": known.shown,
        "address": "" if known.author is None else known.author.address,
        "domain": "" if known.author is None else known.author.domain,
        "level": known.level,
        "reasons": reasons,
        "subject": " ".join(mail.subject.split())[:MOST_SUBJECT],
        "at": looked.handed.at,
        "conversation": joined.conversation,
        "session": places.session(opened.mailbox, joined.conversation),
        "taken_over": joined.taken_over,
    }
    if not whole:
        return told
    extract, handed = opened.extract, looked.handed
    files: list[Json] = [
        {"name": one.name, "media_type": one.media_type, "size": one.size, "unread": one.unread}
        for one in mail.attachments
    ]
    told |= {
        "disowned": known.disowned,
        "method": known.method,
        "by": known.by,
        "date": mail.date,
        "way": handed.way,
        "size": len(handed.raw) if handed.whole is None else handed.whole,
        "envelope_from": handed.envelope_from,
        "message_id": mail.message_id,
        "link": joined.link,
        "joins": joined.how,
        "text": extract.new[:MOST_TEXT],
        "quoted": extract.rest[:MOST_TEXT],
        "hidden": len(mail.hidden.strip()),
        "attachments": files,
        "notes": [*mail.notes],
        "over": mail.over,
        "bounce": None,
    }
    if (report := looked.bounce) is not None:
        told["bounce"] = {
            "recipient": report.recipient,
            "status": report.status,
            "action": report.action,
            "said": report.said,
        }
    return told
