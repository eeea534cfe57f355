"""The one workspace of an app whose token stands in the settings.

Source: "auth.test" in Slack's docs (docs.slack.dev). Whose token it is, is asked once at the start. Until
Slack has answered, events are taken as they describe themselves, so that nothing waits for it.
"""

from __future__ import annotations

import logging

from channels.slack.calls import Ok, Outcome, Refused, revives
from channels.slack.installs.bare import Bare
from channels.slack.installs.ground import Ground
from channels.slack.installs.left import tell_of_left
from channels.slack.parsing.envelope import slack_id
from channels.slack.parsing.identity import Installed
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace

__all__ = ["Alone"]

log = logging.getLogger("gateway.slack")

LONGEST_PAUSE = 60.0
"""Seconds."""


class Alone:
    def __init__(self, token: str, bare: Bare, ground: Ground) -> None:
        self._token = token
        self._bare = bare
        self._ledger = ground.ledger
        self._clock = ground.clock
        self._waits = ground.waits
        self.me: Installed | None = None
        self.problem: str | None = "whose SLACK_BOT_TOKEN is, isn't known yet"

    def token(self, key: str) -> str | None:
        if self.me is not None and (self.me.key != key or not self.me.active):
            return None
        return self._token

    def installed(self, key: str) -> Installed | None:
        if self.me is None:
            return Installed(key=key) if key else None
        return self.me if self.me.key == key else None

    def off(self, key: str) -> None:
        me = self.me or Installed(key=key)
        if me.key == key:
            self.me = replace(me, active=False)
            self.problem = (
                "the app was removed or its token revoked: install it again, set SLACK_BOT_TOKEN to the"
                " new token, and restart"
            )

    # -- whose it is -----------------------------------------------------------------------------------
    async def ask(self) -> Outcome:
        return await self._bare.ask("auth.test", {}, self._token)

    async def settled(self) -> bool:
        """Ask Slack. ``False``: it is worth asking again."""
        outcome = await self.ask()
        if isinstance(outcome, Refused):
            self.problem = (
                f"Slack doesn't accept SLACK_BOT_TOKEN ({outcome.code}): copy it again from the app's"
                " page, OAuth & Permissions, and restart"
            )
            log.error("%s", self.problem)
            return True
        if not isinstance(outcome, Ok):
            self.problem = f"Slack can't be asked whose SLACK_BOT_TOKEN is: {outcome.why}"
            return False
        found = _read(outcome.data)
        try:
            await self._ledger.retry(revive_on=revives(found.key), now=self._clock.now())
            await tell_of_left(self._ledger, found.key)
        except StoreUnavailableError:
            return False
        self.me, self.problem = found, None
        log.info("Slack is ready for installation %s", found.key)
        return True

    async def keep_asking(self) -> None:
        pause = 1.0
        while not await self.settled():
            await self._waits.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)


def _read(data: JsonObject) -> Installed:
    org = data.get("is_enterprise_install") is True
    team, enterprise = slack_id(data, "team_id"), slack_id(data, "enterprise_id")
    return Installed(
        key=enterprise if org else team,
        team="" if org else team,
        enterprise=enterprise,
        org=org,
        bot_user=slack_id(data, "user_id"),
        bot_id=slack_id(data, "bot_id"),
    )
