"""Which token opens which workspace, and who we are there.

Two ways to run: with ``SLACK_BOT_TOKEN`` for one workspace, or with ``SLACK_CLIENT_ID`` and
``SLACK_CLIENT_SECRET`` for those that install the app, whose tokens lie encrypted in the ledger.

Sources: "tokens_revoked event", "app_uninstalled event", "Token rotation" in Slack's docs (docs.slack.dev).
The first names persons, not tokens, and either may come late: what Slack says of our token decides.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Literal

from channels.contract import RetryLater
from channels.slack.calls import Ok, Outcome, Refused
from channels.slack.installs.alone import Alone
from channels.slack.installs.bare import Bare
from channels.slack.installs.ground import Ground
from channels.slack.installs.held import Held
from channels.slack.installs.left import tell_of_workspaces
from channels.slack.installs.rotation import Renewal, Rotation
from channels.slack.installs.vault import Vault
from channels.slack.parsing.envelope import slack_id
from channels.slack.parsing.identity import Installed, installed
from channels.slack.settings import SlackSettings
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Installation
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import replace

__all__ = ["Tokens"]

log = logging.getLogger("gateway.slack")

AHEAD = Millis(2 * 3600 * 1000)
"""A token that lives no longer than this is renewed beside the work."""
START_SECONDS = 3.0
PATIENCE = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds, as the two above."""
ASK_AGAIN = Millis(30_000)
TRIES = 5
"""How often a row is written over that others write at the same time."""


class Tokens:
    """Made with the channel; whoever asks before ``start`` waits for it.

    Everything that reads the ledger raises ``StoreUnavailableError`` when that can't answer now.
    """

    def __init__(self, settings: SlackSettings) -> None:
        self._settings = settings
        self._begun = asyncio.Event()
        self._tasks = Tasks()
        self._renewals = Tasks()
        self._renewing: set[str] = set()
        self._parts: _Parts | None = None

    # -- life ------------------------------------------------------------------------------------------
    async def start(self, ground: Ground) -> None:
        """What Slack doesn't answer in time is asked in the background: nothing here fails a start."""
        parts = self._parts = _Parts(self._settings, ground)
        self._begun.set()
        if parts.alone is None:
            return
        try:
            async with ground.waits.timeout(START_SECONDS):
                settled = await parts.alone.settled()
        except TimeoutError:
            settled = False
        if not settled:
            log.warning("Slack: %s; asking on", parts.alone.problem)
            self._tasks.run(parts.alone.keep_asking(), "slack: whose token it is")

    async def stop(self) -> None:
        await self._tasks.close(PATIENCE)
        # What Slack has handed out is saved before this process goes.
        await self._renewals.ended(PATIENCE)
        await self._renewals.close(PATIENCE)
        if self._parts is not None:
            await self._parts.bare.close()

    @property
    def started(self) -> bool:
        return self._begun.is_set()

    @property
    def problem(self) -> str | None:
        """Why Slack may not be reached as things stand, for ``status``; ``None`` if nothing is known."""
        if self._parts is None:
            return "it hasn't started yet"
        if self._parts.alone is not None:
            return self._parts.alone.problem
        if self._parts.ground.sealer is None:
            return "no workspace can install: set GATEWAY_SECRET_KEYS (openssl rand -hex 32)"
        return None

    @property
    def only(self) -> str | None:
        """The one installation of an app that has a token for no other, once it is known."""
        alone = None if self._parts is None else self._parts.alone
        return None if alone is None or alone.me is None else alone.me.key

    async def ground(self) -> Ground:
        return (await self._ready()).ground

    async def _ready(self) -> _Parts:
        await self._begun.wait()
        assert self._parts is not None  # noqa: S101 - that is what has begun
        return self._parts

    # -- who and with what -----------------------------------------------------------------------------
    async def installed(self, key: str) -> Installed | None:
        """Ourselves there. Asks the ledger at most, never Slack."""
        parts = await self._ready()
        if parts.alone is not None:
            return parts.alone.installed(key)
        entry = await parts.vault.look(key)
        return None if entry is None else installed(entry.row)

    async def token(self, installation: str) -> str | None:
        """The token to call with; ``None`` where there is none (any more)."""
        parts = await self._ready()
        if parts.alone is not None:
            return parts.alone.token(installation)
        entry = await parts.vault.look(installation)
        if entry is None or entry.held is None:
            return None
        token, expires_at = entry.held.token, entry.row.expires_at
        if expires_at is None or entry.held.refresh is None:
            return token
        left = expires_at - parts.ground.clock.now()
        if left <= 0:
            return await self.renewed(installation, token) or token
        if left < AHEAD:
            self._renew_beside(parts, installation, token, 0.0)
        return token

    async def renewed(self, installation: str, stale: str) -> str | None:
        """The token in place of one that Slack calls expired; ``None`` if there is none to get. However
        many ask, Slack is asked once."""
        parts = await self._ready()
        if parts.alone is not None:
            return None
        renewal = await self._renew(parts, installation, stale)
        if renewal.again:
            self._renew_beside(parts, installation, stale, FIRST_PAUSE)
            raise StoreUnavailableError(
                f"the token of {installation} has expired and can't be renewed now", fix="ask again"
            )
        return renewal.token

    async def _renew(self, parts: _Parts, key: str, stale: str) -> Renewal:
        """To its end, whoever stops waiting: between Slack's answer and its being saved, the only good
        token is in our hands."""
        work = parts.rotation.renew(key, stale)
        return await self._renewals.to_the_end(work, f"slack: a token for {key}")

    def _renew_beside(self, parts: _Parts, key: str, stale: str, pause: float) -> None:
        if key not in self._renewing:
            self._renewing.add(key)
            work = self._until_renewed(parts, key, stale, pause)
            self._tasks.run(work, f"slack: a token for {key} in time")

    async def _until_renewed(self, parts: _Parts, key: str, stale: str, pause: float) -> None:
        try:
            while True:
                await parts.ground.waits.sleep(pause)
                try:
                    if not (await self._renew(parts, key, stale)).again:
                        return
                except StoreUnavailableError:
                    log.warning(
                        "installation %s: its token can't be renewed without the store", key
                    )
                pause = min(max(pause * 2, FIRST_PAUSE), LONGEST_PAUSE)
        finally:
            self._renewing.discard(key)

    # -- coming and going ------------------------------------------------------------------------------
    async def exchange(self, code: str, redirect: str) -> Outcome:
        """What Slack gives for the code that an installer's browser brought."""
        parts = await self._ready()
        return await parts.bare.ask(
            "oauth.v2.access",
            {
                "client_id": self._settings.client_id,
                "client_secret": self._settings.client_secret,
                "code": code,
                "redirect_uri": redirect,
            },
        )

    async def install(self, row: Installation, held: Held) -> None:
        """Keep a new installation, or one that was made again. Raises ``ConfigError`` without keys."""
        parts = await self._ready()
        who = await parts.bare.ask("auth.test", {}, held.token)
        if isinstance(who, Ok):
            row = replace(row, bot_id=slack_id(who.data, "bot_id") or row.bot_id)
        for _ in range(TRIES):
            before = await parts.vault.look(row.key, again=True)
            expected = None if before is None else before.row.version
            if await parts.vault.keep(row, held, expected):
                log.info("installation %s: the app is installed", row.key)
                if row.org:
                    await tell_of_workspaces(parts.ground.ledger, row)
                return
        raise StoreUnavailableError(
            f"the installation {row.key} is being written by others", fix="install the app again"
        )

    async def gone(self, key: str, state: Literal["revoked", "uninstalled"]) -> None:
        """The app was removed, or its token revoked: forget the token, unless Slack still takes it,
        which means that the app was installed again since. Raises ``RetryLater``."""
        parts = await self._ready()
        if parts.alone is not None:
            if _refused(await parts.alone.ask(), parts):
                parts.alone.off(key)
                log.warning("Slack: %s", parts.alone.problem)
            return
        for _ in range(TRIES):
            entry = await parts.vault.look(key, again=True)
            if entry is None or entry.row.state in {state, "uninstalled"}:
                return
            if entry.held is not None:
                who = await parts.bare.ask("auth.test", {}, entry.held.token)
                if not _refused(who, parts):
                    return
            row = replace(entry.row, state=state, expires_at=None)
            if await parts.vault.keep(row, None, entry.row.version):
                log.warning(
                    "installation %s is %s; it can be made again at /channels/slack/install",
                    key,
                    state,
                )
                return
        raise RetryLater(Millis(parts.ground.clock.now() + ASK_AGAIN), "others write the same row")


def _refused(outcome: Outcome, parts: _Parts) -> bool:
    if isinstance(outcome, Ok | Refused):
        return isinstance(outcome, Refused)
    at = Millis(parts.ground.clock.now() + ASK_AGAIN)
    raise RetryLater(at, "Slack can't be asked whether the app is still installed")


class _Parts:
    """What there is once the channel has started."""

    def __init__(self, settings: SlackSettings, ground: Ground) -> None:
        self.ground = ground
        self.bare = Bare(settings.api_url, ground.waits)
        self.vault = Vault(ground)
        self.rotation = Rotation(settings, self.vault, self.bare, ground)
        token = settings.bot_token
        self.alone = None if token is None else Alone(token, self.bare, ground)
