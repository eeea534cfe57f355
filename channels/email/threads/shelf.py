"""Mail as it came, kept before anything looks into it, to be read again whenever somebody asks."""

from __future__ import annotations

from typing import cast

from channels.email.mail import RawMail, Way
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Document, FileRow, Ledger
from gateway.engine.limits import Clock

__all__ = ["Shelf"]

KIND = "email-mail"
KEPT = Millis(30 * 86_400_000)


class Shelf:
    """Everything raises ``StoreUnavailableError``."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def begun(self, content: str) -> int:
        """How often its reading was begun, since the mail was last known to be ``readable``."""
        row = await self._ledger.document(KIND, content)
        return 0 if row is None else _tries(row)

    async def keep(self, content: str, handed: RawMail) -> int:
        """Keep a mail, and count that it is about to be read; as often as ``begun`` it was before."""
        row = FileRow(
            id=_file(content),
            name=f"{content}.eml",
            media_type="message/rfc822",
            size=len(handed.raw),
            hash=content,
            at=handed.at,
        )
        await self._ledger.keep_file(row, handed.raw)
        before = await self._ledger.document(KIND, content)
        tries = 0 if before is None else _tries(before)
        # The bytes that stay are the first copy's, and so is the way that they came by.
        body = _body(handed) if before is None else before.body
        made = Document(
            kind=KIND,
            key=content,
            body={**body, "tries": tries + 1},
            expires=Millis(self._clock.now() + KEPT),
        )
        await self._ledger.put_document(made, None if before is None else before.version)
        return tries

    async def readable(self, content: str) -> None:
        """It was read to its end."""
        before = await self._ledger.document(KIND, content)
        if before is not None:
            made = Document(
                kind=KIND,
                key=content,
                body={**before.body, "tries": 0},
                expires=Millis(self._clock.now() + KEPT),
            )
            await self._ledger.put_document(made, before.version)

    async def find(self, content: str, *, most: int | None = None) -> RawMail | None:
        """``None`` also for one whose reading was begun ``most`` times, as far as is known, and not ended."""
        row = await self._ledger.document(KIND, content)
        if row is None or (most is not None and _tries(row) >= most):
            return None
        raw = await self._ledger.file(_file(content))
        return None if raw is None else _handed(raw, row.body)


def _tries(row: Document) -> int:
    return int(str(row.body["tries"]))


def _file(content: str) -> str:
    return f"mail:{content}"


def _body(handed: RawMail) -> JsonObject:
    return {
        "way": handed.way,
        "way_id": handed.way_id,
        "from": handed.envelope_from,
        "to": [*handed.envelope_to],
        "at": handed.at,
        "covered": handed.covered,
        "whole": handed.whole,
    }


def _handed(raw: bytes, body: JsonObject) -> RawMail:
    return RawMail(
        raw=raw,
        way=cast("Way", body["way"]),
        way_id=str(body["way_id"]),
        envelope_from=cast("str | None", body["from"]),
        envelope_to=tuple(str(one) for one in cast("list[object]", body["to"])),
        at=Millis(cast("int", body["at"])),
        covered=bool(body["covered"]),
        whole=cast("int | None", body["whole"]),
    )
