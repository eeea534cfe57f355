"""Links for one use: into the pages of ``gateway dev``, and to set up a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.limits import Clock
from gateway.host.console.access.tokens import digest, new_token

KIND = "once"
SIGN_IN_LIFE = Millis(5 * 60_000)
SET_UP_LIFE = Millis(24 * 3_600_000)

Purpose = Literal["sign-in", "set-up"]


@dataclass(frozen=True, slots=True)
class Link:
    """What a link is for. ``epoch`` is the user's of then: a later link makes it void."""

    user: str
    epoch: int


class Links:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def make(self, purpose: Purpose, link: Link) -> str:
        """The word of a new link, which is kept nowhere."""
        token = new_token()
        life = SIGN_IN_LIFE if purpose == "sign-in" else SET_UP_LIFE
        row = Document(
            kind=KIND,
            key=digest(token),
            body={"for": purpose, "user": link.user, "epoch": link.epoch},
            expires=Millis(self._clock.now() + life),
        )
        await self._ledger.put_document(row, None)
        return token

    async def look(self, token: str, purpose: Purpose) -> Link | None:
        """What the link is for, without using it up: whoever scans mail opens links, too."""
        row = await self._ledger.document(KIND, digest(token))
        if row is None or row.body.get("for") != purpose or _over(row, self._clock.now()):
            return None
        epoch = row.body.get("epoch")
        return Link(str(row.body.get("user")), epoch if isinstance(epoch, int) else -1)

    async def use(self, token: str, purpose: Purpose) -> Link | None:
        """The same, once: of two who come at the same moment one alone gets it."""
        link = await self.look(token, purpose)
        if link is None or not await self._ledger.drop_document(KIND, digest(token)):
            return None
        return link


def _over(row: Document, now: Millis) -> bool:
    return row.expires is None or row.expires <= now
