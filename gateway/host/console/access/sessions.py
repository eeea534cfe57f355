"""Web sessions: a random cookie, kept as its digest, for twelve hours or until an hour of silence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.limits import Clock
from gateway.engine.struct import replace
from gateway.host.console.access.tokens import digest, new_token

KIND = "web_session"
LIFE = Millis(12 * 3_600_000)
IDLE = Millis(60 * 60_000)
STEP = Millis(60_000)
"""A session that is in use is written at most this often."""

Way = Literal["link", "password", "oidc"]
"""How somebody signed in. A session of one way is none where another one is set up."""


@dataclass(frozen=True, slots=True)
class Held:
    """A session that is alive. ``epoch`` is the user's of when it began."""

    user: str
    way: Way
    epoch: int


class WebSessions:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def begin(self, held: Held) -> str:
        """A new session's token; never one that somebody brought along."""
        now = self._clock.now()
        token = new_token()
        row = Document(
            kind=KIND,
            key=digest(token),
            body={
                "user": held.user,
                "way": held.way,
                "epoch": held.epoch,
                "ends": now + LIFE,
            },
            expires=Millis(now + IDLE),
        )
        await self._ledger.put_document(row, None)
        return token

    async def find(self, token: str) -> Held | None:
        """The session of a cookie, which stays alive by being asked for."""
        now = self._clock.now()
        row = await self._ledger.document(KIND, digest(token))
        if row is None or row.expires is None or row.expires <= now:
            return None
        match row.body:
            case {
                "user": str(user),
                "way": "link" | "password" | "oidc" as way,
                "epoch": int(epoch),
                "ends": int(ends),
            }:
                longer = Millis(min(now + IDLE, ends))
                if longer - row.expires >= STEP:
                    # Lost to another request that did the same, or to a sign-out, which stays.
                    await self._ledger.put_document(replace(row, expires=longer), row.version)
                return Held(user, way, epoch)
            case _:
                return None

    async def end(self, token: str) -> None:
        await self._ledger.drop_document(KIND, digest(token))
