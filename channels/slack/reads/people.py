"""Who somebody is to Slack: their name, and whether they are one of ours.

Source: "users.info", "User type" in Slack's docs (docs.slack.dev): guests are ``is_restricted`` or
``is_ultra_restricted``; ``is_stranger`` is somebody of another organisation with whom a channel is shared;
within an organisation ``enterprise_user`` says which one. Slackbot isn't marked as a bot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from channels.protocol import Person
from channels.slack.calls import Ok, SlackApi
from channels.slack.parsing.envelope import obj, slack_id, text
from channels.slack.parsing.identity import Homes, Installed, looked_up, named
from gateway.engine.kinds import JsonObject, Speaker
from gateway.engine.limits import Waits
from gateway.engine.struct import struct

__all__ = ["People", "Profile", "outsider"]

REMEMBERED = 3600.0
"""Seconds for which a name is good enough."""
FRESH = 60.0
"""Seconds for which it counts what somebody is: who was made a guest is to be one soon."""
MOST = 5000


@struct(frozen=True, slots=True, kw_only=True)
class Profile:
    name: str
    bot: bool = False
    deleted: bool = False
    guest: bool = False
    stranger: bool = False
    team: str = ""
    enterprise: str = ""


def outsider(me: Installed, stated: str, profile: Profile) -> bool:
    """Whether they are of another organisation, or may be. ``stated`` is the home that a payload
    named."""
    home = profile.team or stated
    found = looked_up(me, "", team=home, enterprise=profile.enterprise)
    return profile.stranger or found.external is not False


def read_profile(user: JsonObject) -> Profile:
    return Profile(
        name=named(obj(user.get("profile"))) or named(user),
        bot=user.get("is_bot") is True or user.get("id") == "USLACKBOT",
        deleted=user.get("deleted") is True,
        guest=user.get("is_restricted") is True or user.get("is_ultra_restricted") is True,
        stranger=user.get("is_stranger") is True,
        team=slack_id(user, "team_id"),
        enterprise=slack_id(obj(user.get("enterprise_user")), "enterprise_id"),
    )


class People:
    """What ``users.info`` says, kept for a while."""

    def __init__(self, api: SlackApi, homes: Homes, waits: Waits) -> None:
        self._api = api
        self._homes = homes
        self._waits = waits
        self._known: dict[tuple[str, str], tuple[float, Profile]] = {}

    async def look(
        self, installation: str, user: str, within: float = REMEMBERED
    ) -> Profile | None:
        """``None`` where Slack can't be asked, or doesn't say."""
        if (known := self._remembered(installation, user, within)) is not None:
            return known
        key, now = (installation, user), self._waits.monotonic()
        outcome = await self._api.call(installation, "users.info", {"user": user})
        if not isinstance(outcome, Ok):
            return None
        profile = read_profile(obj(outcome.data.get("user")))
        self._known.pop(key, None)
        self._known[key] = (now, profile)
        if len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        return profile

    def _remembered(self, installation: str, user: str, within: float) -> Profile | None:
        found = self._known.get((installation, user))
        if found is None or self._waits.monotonic() - found[0] >= within:
            return None
        return found[1]

    async def look_all(
        self, installation: str, users: Iterable[str], into: dict[str, Profile], most: int
    ) -> None:
        """Several at once, Slack being asked for ``most`` of them; what is found is there as soon as
        it is found."""

        async def look(user: str) -> None:
            if (found := await self.look(installation, user)) is not None:
                into[user] = found

        async with asyncio.TaskGroup() as group:
            for user in dict.fromkeys(users):
                known = self._remembered(installation, user, REMEMBERED)
                if known is not None:
                    into[user] = known
                elif most > 0:
                    most -= 1
                    group.create_task(look(user))

    async def person(self, by: Speaker, reply: JsonObject) -> Person | None:
        """Who somebody is, whichever of our workspaces an event named, or none: see ``Conversing``."""
        installation, user = text(reply, "installation"), slack_id(reply, "user")
        me = await self._homes.installed(installation) if installation else None
        profile = await self.look(installation, user, FRESH) if me is not None and user else None
        if me is None or profile is None:
            return None
        stated = slack_id(reply, "user_team")
        outside = profile.guest or outsider(me, stated, profile)
        found = looked_up(
            me,
            user,
            team=profile.team or stated,
            enterprise=profile.enterprise,
            name=by.name or profile.name,
            guest=outside,
        )
        if profile.bot or profile.deleted:
            return Person(speaker=found.speaker, standing="nobody")
        return Person(speaker=found.speaker, standing="outsider" if outside else "member")
