"""Who takes part in a conversation, and which of us speaks in it: kept outside the model's transcript, which
says what was said and not who may."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from channels.email.threads import places
from channels.email.threads.conversation import Conversation
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.limits import Clock
from gateway.engine.struct import replace

__all__ = ["Book"]

KEPT = Millis(400 * 86_400_000)
MOST_PEOPLE = 50


class Book:
    """The conversations of one mailbox. Everything raises ``StoreUnavailableError``."""

    def __init__(self, ledger: Ledger, mailbox: str, clock: Clock) -> None:
        self._ledger = ledger
        self._mailbox = mailbox
        self._clock = clock

    async def find(self, conversation: str) -> Conversation | None:
        row = await self._ledger.document(places.STANDING, self._key(conversation))
        return None if row is None else _read(conversation, row)

    async def add(self, conversation: str, session: str, address: str) -> None:
        """From now on this address takes part."""

        def added(found: Conversation) -> Conversation:
            if address in found.people or len(found.people) >= MOST_PEOPLE:
                return found
            return replace(found, people=(*found.people, address))

        await self._change(Conversation(id=conversation, session=session), added)

    async def take_over(self, conversation: str, by: str) -> None:
        """A colleague speaks now; nobody (``""``): the agent does again."""
        found = await self.find(conversation)
        if found is not None:
            once = int(bool(by))
            await self._change(
                found, lambda held: replace(held, taken_over=by, times=held.times + once)
            )

    async def speaks(self, conversation: str, despite: int | None) -> str:
        """The colleague behind whose back a letter would go; nobody where the agent speaks, or where somebody
        let in the mail that it answers after that takeover (``despite``)."""
        found = await self.find(conversation)
        return "" if found is None or found.times == despite else found.taken_over

    async def _change(
        self, fresh: Conversation, change: Callable[[Conversation], Conversation]
    ) -> None:
        key = self._key(fresh.id)
        while True:
            row = await self._ledger.document(places.STANDING, key)
            before = fresh if row is None else _read(fresh.id, row)
            after = change(before)
            if row is not None and after == before:
                return
            made = Document(
                kind=places.STANDING,
                key=key,
                body=_body(after),
                expires=Millis(self._clock.now() + KEPT),
            )
            if await self._ledger.put_document(made, None if row is None else row.version):
                return

    def _key(self, conversation: str) -> str:
        return places.standing(self._mailbox, conversation)


def _body(held: Conversation) -> JsonObject:
    return {
        "session": held.session,
        "people": [*held.people],
        "taken_over": held.taken_over,
        "times": held.times,
    }


def _read(conversation: str, row: Document) -> Conversation:
    body = row.body
    return Conversation(
        id=conversation,
        session=str(body["session"]),
        people=tuple(str(one) for one in cast("list[object]", body["people"])),
        taken_over=str(body.get("taken_over", "")),
        times=cast("int", body.get("times", 0)),
    )
