"""What tokens stand on in a test: a store, a key to seal with, time that the emulator shares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from channels.protocol import Sealer
from channels.slack.installs.tokens import Tokens
from channels.slack.settings import SlackSettings
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ledger import Delivery, Installation, Ledger, Receipt
from gateway.engine.limits import Clock, Waits
from gateway.engine.ports import SessionStore
from gateway.engine.records import NEW_TURN, DeliveryOpened
from gateway.engine.struct import replace
from gateway.sealing import make_sealer
from gateway.stores.memory import MemoryStore
from gateway.stores.sqlite import SqliteStore
from gateway.testing.slack import Install, Limits, Playground, playground
from gateway.testing.time import ScaledTime
from tests.conformance.store_kit import accept

KEY = "k" * 64
PUBLIC = "https://gateway.example"


class Time(ScaledTime):
    """Runs fast, and can be moved."""

    def ahead(self, seconds: float) -> None:
        self._began -= seconds / self.speed


@dataclass
class Ground:
    store: SessionStore
    time: Time
    sealer: Sealer | None = field(default_factory=lambda: make_sealer([KEY]))
    public_url: str | None = PUBLIC

    @property
    def ledger(self) -> Ledger:
        return self.store.ledger

    @property
    def clock(self) -> Clock:
        return self.time.clock

    @property
    def waits(self) -> Waits:
        return self.time


@dataclass
class Stand:
    """The emulator, a store, and any number of hosts."""

    play: Playground
    ground: Ground
    _hosts: list[Tokens] = field(default_factory=list[Tokens])

    @property
    def key(self) -> str:
        return self.play.acme.id

    @property
    def ledger(self) -> Ledger:
        return self.ground.ledger

    @property
    def now(self) -> Millis:
        return self.ground.time.now()

    def settings(self, *, single: bool = False) -> SlackSettings:
        app = self.play.slack.app()
        return SlackSettings(
            api_url=self.play.slack.api_url,
            bot_token=self.play.june.token if single else None,
            client_id=None if single else app.client_id,
            client_secret=None if single else app.client_secret,
        )

    async def host(self, settings: SlackSettings | None = None) -> Tokens:
        tokens = Tokens(settings or self.settings())
        self._hosts.append(tokens)
        await tokens.start(self.ground)
        return tokens

    async def stop(self) -> None:
        for tokens in self._hosts:
            await tokens.stop()

    def calls(self, method: str) -> int:
        return sum(call.method == method for call in self.play.slack.journal.calls)

    def refreshes(self) -> int:
        return self.calls("oauth.v2.access")

    async def row(self) -> Installation:
        row = await self.ledger.installation(self.key)
        assert row is not None
        return row

    async def amend(self, **changes: object) -> None:
        row = await self.row()
        assert await self.ledger.save_installation(replace(row, **changes), row.version)  # type: ignore[arg-type]

    async def expire(self, made: Install) -> str:
        """The token's twelve hours are over, for Slack and for us."""
        token = self.play.slack.world.tokens[made.token]
        token.expires = Millis(self.now - 1)
        return token.value

    async def dead(self, revive_on: str, turn_id: str = "t1") -> Delivery:
        """A delivery that died of it."""
        view = DeliveryOpened(
            turn=NEW_TURN, part="reply", source="slack", target={}, lane=turn_id, at=self.now
        )
        ref = SessionRef("june", f"slack:{turn_id}")
        await accept(self.ground.store, ref, turn_id, companions=(view,))
        (held,) = await self.ledger.claim("host", ("slack",), self.now, Millis(60_000), 1)
        receipt = Receipt(
            delivery=held.id,
            token=held.token,
            satisfied=held.wanted,
            state="dead",
            seq=0,
            error="token_revoked",
            revive_on=revive_on,
        )
        return await self.ledger.settle(receipt)


@asynccontextmanager
async def standing(path: Path | None = None, *, speed: float = 50.0) -> AsyncIterator[Stand]:
    """Everything, ready; on a database file if one is named."""
    time = Time(speed)
    store = MemoryStore() if path is None else SqliteStore(path)
    await store.open()
    try:
        async with playground(time, limits=Limits(enabled=False)) as play:
            stand = Stand(play, Ground(store, time))
            try:
                yield stand
            finally:
                await stand.stop()
    finally:
        await store.close()
