"""A token that expires becomes the next one: once, whoever asks, and on whichever host.

Source: "Token rotation" in Slack's docs (docs.slack.dev): a bot's token lives twelve hours, a refresh token
is good for once. So the one who refreshes holds a lease, and what Slack answered is saved before anybody
uses it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import defaultdict

from channels.slack.calls import Ok, Outcome, Refused
from channels.slack.installs.bare import Bare
from channels.slack.installs.ground import Ground
from channels.slack.installs.held import expiry, told
from channels.slack.installs.vault import Entry, Vault
from channels.slack.settings import SlackSettings
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace, struct

__all__ = ["Renewal", "Rotation"]

log = logging.getLogger("gateway.slack")

LEASE = Millis(60_000)
"""Longer than a refresh and its save can take."""
GLANCE = 0.25
"""Seconds between two looks at what another host, which holds the lease, has done."""
LOOKS = 60


@struct(frozen=True, slots=True)
class Renewal:
    """The token that is good now, or none; ``again``: it may work in a while."""

    token: str | None
    again: bool = False


class Rotation:
    def __init__(self, settings: SlackSettings, vault: Vault, bare: Bare, ground: Ground) -> None:
        self._settings = settings
        self._vault = vault
        self._bare = bare
        self._ledger = ground.ledger
        self._clock = ground.clock
        self._waits = ground.waits
        self._owner = f"slack-{secrets.token_hex(8)}"
        self._one: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._hopeless: set[tuple[str, int]] = set()
        """Installations, by version, whose refresh Slack has refused."""

    async def renew(self, key: str, stale: str) -> Renewal:
        """The token that took the place of ``stale``; it must not be cut off on the way."""
        async with self._one[key]:
            for _ in range(LOOKS):
                entry = await self._vault.look(key, again=True)
                if (done := self._settled(entry, stale)) is not None:
                    return done
                name = f"slack:rotate:{key}"
                if await self._ledger.hold(name, self._owner, LEASE):
                    try:
                        return await self._held(key, stale)
                    finally:
                        await self._ledger.let_go(name, self._owner)
                await self._waits.sleep(GLANCE)
        return Renewal(None, again=True)

    def _settled(self, entry: Entry | None, stale: str) -> Renewal | None:
        """The end of it without Slack, if there is one."""
        if entry is None or entry.held is None:
            return Renewal(None)
        if entry.held.token != stale:
            return Renewal(entry.held.token)
        if entry.held.refresh is None or (entry.row.key, entry.row.version) in self._hopeless:
            return Renewal(None)
        return None

    async def _held(self, key: str, stale: str) -> Renewal:
        """With the lease: look once more, as whoever had it before may have done it."""
        entry = await self._vault.look(key, again=True)
        done = self._settled(entry, stale)
        if done is not None or entry is None or entry.held is None:
            return done or Renewal(None)
        outcome = await self._bare.ask(
            "oauth.v2.access",
            {
                "client_id": self._settings.client_id,
                "client_secret": self._settings.client_secret,
                "grant_type": "refresh_token",
                "refresh_token": entry.held.refresh,
            },
        )
        if not isinstance(outcome, Ok):
            return self._failed(entry, outcome)
        made = told(outcome.data)
        if made is None:
            return self._failed(entry, Refused("no_bot_token", {}))
        row = replace(entry.row, expires_at=expiry(outcome.data, self._clock.now()))
        if await self._vault.keep(row, made, entry.row.version):
            log.info("installation %s: its token was renewed", key)
            return Renewal(made.token)
        # Somebody installed or removed the app meanwhile: what they wrote is newer.
        now = await self._vault.look(key, again=True)
        return Renewal(now.held.token if now is not None and now.held is not None else None)

    def _failed(self, entry: Entry, outcome: Outcome) -> Renewal:
        key = entry.row.key
        if isinstance(outcome, Refused):
            self._hopeless.add((key, entry.row.version))
            log.error(
                "installation %s: Slack won't renew its token (%s); once it expires the app is shut out"
                " there. Check SLACK_CLIENT_ID and SLACK_CLIENT_SECRET, or install the app again at"
                " /channels/slack/install",
                key,
                outcome.code,
            )
            return Renewal(None)
        log.warning("installation %s: its token couldn't be renewed now", key)
        return Renewal(None, again=True)
