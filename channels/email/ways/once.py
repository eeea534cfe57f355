"""Proofs that are good for one mail only: which one each was used for.

Mailgun's covers a token and no mail, so whoever has seen one request could send another mail with it, whatever
became of the first: it may well have been refused, or not answered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.limits import Clock

__all__ = ["Once", "once"]

KIND = "email-proof"
KEPT = Millis(86_400_000)
"""A signature's time is good for some minutes."""

Once = Callable[[str, bytes], Awaitable[bool]]
"""A proof and the mail that came with it: whether the proof is this mail's, now and whenever it comes again.
Raises ``StoreUnavailableError``."""


def once(ledger: Ledger, clock: Clock) -> Once:
    async def good(proof: str, raw: bytes) -> bool:
        mail = hashlib.sha256(raw).hexdigest()
        key, expires = hashlib.sha256(proof.encode()).hexdigest(), Millis(clock.now() + KEPT)
        made = Document(kind=KIND, key=key, body={"mail": mail}, expires=expires)
        if await ledger.put_document(made, None):
            return True
        kept = await ledger.document(KIND, key)
        return kept is not None and kept.body["mail"] == mail

    return good
