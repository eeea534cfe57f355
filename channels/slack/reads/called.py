"""What ids of Slack are called, for whoever looks at our pages and lists. Nobody waits for it: what isn't
known by now is asked in the background, once an hour at most, and is there at the next look.

Source: "conversations.info" in Slack's docs (docs.slack.dev): a direct message has no name, and says whose it
is as ``user``.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime

from channels.slack.calls import Ok, SlackApi
from channels.slack.installs.tokens import Tokens
from channels.slack.parsing.envelope import obj, slack_id, text
from channels.slack.reads.people import People
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.limits import Waits
from gateway.engine.steps.tasks import Tasks

__all__ = ["Called"]

AGAIN = 3600.0
"""Seconds after which a name is asked for anew; until then a name that wasn't found stays unknown."""
AT_ONCE = 8
"""Questions at the same time; more have to wait for another look."""
MOST = 5000

_ID = re.compile(r"slack:(?:([TE][A-Z0-9]+):)?([UWCGD][A-Z0-9]+)(?::([0-9]{10})\.[0-9]{6})?")

Key = tuple[str, str]
"""The installation that is asked, and the id."""


class Called:
    def __init__(
        self, api: SlackApi, people: People, tokens: Tokens, waits: Waits, tasks: Tasks
    ) -> None:
        self._api = api
        self._people = people
        self._tokens = tokens
        self._waits = waits
        self._tasks = tasks
        self._known: dict[Key, tuple[float, str]] = {}
        self._asking: set[Key] = set()

    def of(self, word: str) -> str | None:
        """``slack:T1:U1`` is ``ada``, ``slack:T1:C1`` is ``#orders``; a thread or a post in it also says
        when it began, in UTC."""
        found = _ID.fullmatch(word)
        if found is None:
            return None
        home, id, since = found.groups()  # noqa: A001 - Slack's word for it
        name = self._name((home or self._tokens.only or "", id))
        if not name or since is None:
            return name or None
        return f"{name}, {datetime.fromtimestamp(int(since), UTC):%-d %b %H:%M}"

    def _name(self, key: Key) -> str:
        asked, name = self._known.get(key, (None, ""))
        stale = asked is None or self._waits.monotonic() - asked >= AGAIN
        if stale and key[0] and key not in self._asking and len(self._asking) < AT_ONCE:
            self._asking.add(key)
            self._tasks.run(self._ask(key, name), "slack-name")
        return name

    async def _ask(self, key: Key, before: str) -> None:
        name = ""
        try:
            with suppress(StoreUnavailableError):
                name = await self._told(*key)
        finally:
            self._asking.discard(key)
            self._known.pop(key, None)
            self._known[key] = (self._waits.monotonic(), name or before)
            if len(self._known) > MOST:
                del self._known[next(iter(self._known))]

    async def _told(self, home: str, id: str) -> str:  # noqa: A002
        """Somebody of another organisation is known where we share a channel with them."""
        ours = await self._tokens.installed(home) is not None
        installation = home if ours else self._tokens.only
        if not installation:
            return ""
        if id[0] in "UW":
            profile = await self._people.look(installation, id)
            return "" if profile is None else profile.name
        outcome = await self._api.call(installation, "conversations.info", {"channel": id})
        if not isinstance(outcome, Ok):
            return ""
        channel = obj(outcome.data.get("channel"))
        if user := slack_id(channel, "user"):
            profile = await self._people.look(installation, user)
            return "" if profile is None else f"direct messages with {profile.name}"
        name = text(channel, "name")
        return f"#{name}" if name else ""
