"""How often somebody may be wrong: failures are counted per user and per address.

A try is counted before it is looked at and given back when it was right, so that a hundred at the
same moment are no more than one after the other. Names that don't exist are counted alike: a lock
tells nobody who has an account.
"""

from __future__ import annotations

from typing import Literal

from gateway.engine.errors import BusyError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.limits import Clock
from gateway.engine.struct import replace
from gateway.host.console.access.tokens import digest

KIND = "sign_in_tries"
WINDOW = Millis(15 * 60_000)
"""Failures count together for so long, and a lock lasts for so long after the last of them."""
PER_USER = 5
PER_ADDRESS = 20
PATIENCE = 50
"""Times that a count is written anew because somebody else wrote it first."""

Whose = Literal["user", "address"]
LIMITS: dict[Whose, int] = {"user": PER_USER, "address": PER_ADDRESS}


class LockedError(BusyError):
    """Too many failures. It says nothing of whether this try would have been right."""

    def __init__(self, wait: Millis) -> None:
        minutes = max(1, -(-wait // 60_000))
        super().__init__(
            "there were too many failed sign-ins",
            fix=f"wait {minutes} minute{'' if minutes == 1 else 's'}, and try again",
        )
        self.wait = wait


class Tries:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def take(self, whose: Whose, name: str) -> bool:
        """Count a try; ``True`` if it is the last before the lock. Raises ``LockedError``."""
        limit = LIMITS[whose]
        for _ in range(PATIENCE):
            now = self._clock.now()
            row = await self._ledger.document(KIND, _key(whose, name))
            fresh = row is None or row.expires is None or row.expires <= now
            count = 0 if row is None or fresh else _count(row)
            ends = Millis(now + WINDOW) if row is None or fresh else row.expires
            if count >= limit:
                raise LockedError(Millis((ends or now) - now))
            if count + 1 == limit:
                ends = Millis(now + WINDOW)
            made = Document(
                kind=KIND, key=_key(whose, name), body={"count": count + 1}, expires=ends
            )
            if await self._ledger.put_document(made, None if row is None else row.version):
                return count + 1 == limit
        raise LockedError(WINDOW)

    async def forgive(self, name: str) -> None:
        """The user was right: what went wrong before is forgotten."""
        await self._ledger.drop_document(KIND, _key("user", name))

    async def give_back(self, address: str) -> None:
        """The address was right this once. Its other failures stay: they were for other names."""
        for _ in range(PATIENCE):
            row = await self._ledger.document(KIND, _key("address", address))
            if row is None or (count := _count(row)) < 1:
                return
            if await self._ledger.put_document(
                replace(row, body={"count": count - 1}), row.version
            ):
                return


def _key(whose: Whose, name: str) -> str:
    """A digest: people type a password where their name belongs."""
    return f"{whose}:{digest(name)}"


def _count(row: Document) -> int:
    found = row.body.get("count")
    return found if isinstance(found, int) else 0
