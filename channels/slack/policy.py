"""What the operator allows on Slack: whose words start turns, and what a newer message does.

Options of ``slack_channel(…)``, checked once; everything later only reads them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal, cast

from channels.contract import Follow, Replace
from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct

__all__ = ["ReplaceInFlight", "SlackRules", "follow", "may_talk", "replaces", "rules"]

ReplaceInFlight = Literal[False, "speaker", "thread"]

OTHERWISE = "*"
"""The entry of ``follow`` for channels that have none of their own."""

_CHANNEL = re.compile(r"[CDG][A-Z0-9]+")
_BOT = re.compile(r"[ABUW][A-Z0-9]+")


@struct(frozen=True, slots=True, kw_only=True)
class SlackRules:
    """``bots`` are the app, bot or user ids of bots that may speak to us by name; ``external`` the
    channels in which people of other organisations may."""

    follow: Mapping[str, Follow]
    replace: ReplaceInFlight = False
    bots: frozenset[str] = frozenset()
    external: frozenset[str] = frozenset()
    agent_view: bool = True


def rules(
    *,
    follow: Follow | Mapping[str, Follow] = "thread",
    replace_in_flight: ReplaceInFlight = False,
    bots: Collection[str] = (),
    external: Collection[str] = (),
    agent_view: bool = True,
) -> SlackRules:
    """The options, checked. Raises ``ConfigError`` that names the one that is wrong."""
    if replace_in_flight not in (False, "speaker", "thread"):
        raise ConfigError(
            f"replace_in_flight={replace_in_flight!r} isn't one of its values",
            fix='write replace_in_flight=False, "speaker" or "thread"',
        )
    if not isinstance(cast("object", agent_view), bool):
        raise ConfigError(
            f"agent_view={agent_view!r} is neither yes nor no",
            fix="write agent_view=True or agent_view=False",
        )
    return SlackRules(
        follow=_follows({OTHERWISE: follow} if isinstance(follow, str) else follow),
        replace=replace_in_flight,
        bots=_ids("bots", bots, _BOT, "ids of bots, apps or bot users, such as B0123ABCD"),
        external=_ids("external", external, _CHANNEL, "ids of channels, such as C0123ABCD"),
        agent_view=agent_view,
    )


def follow(of: SlackRules, *channel: str) -> Follow:
    """Whether replies in this channel's threads need to name us once we take part. All of its ids are
    its own, the latest goes first."""
    for name in (*channel, OTHERWISE):
        if name in of.follow:
            return of.follow[name]
    return "thread"


def may_talk(of: SlackRules, *channel: str) -> bool:
    """Whether somebody of another organisation may start turns here."""
    return not of.external.isdisjoint(channel)


def replaces(of: SlackRules) -> Replace:
    """The option in the engine's words: a thread is a session."""
    return True if of.replace == "thread" else of.replace


def _follows(given: Mapping[str, Follow]) -> Mapping[str, Follow]:
    if not isinstance(cast("object", given), Mapping):
        raise ConfigError(
            f"follow={given!r} isn't one of its values",
            fix='write "thread" or "mention", or a mapping of these by channel id',
        )
    for channel, rule in given.items():
        if channel != OTHERWISE and not _CHANNEL.fullmatch(str(channel)):
            raise ConfigError(
                f"follow has a rule for {channel!r}, which is no channel's id",
                fix='use the id such as "C0123ABCD" (in Slack: View channel details), or "*" for'
                " all others",
            )
        if rule not in ("thread", "mention"):
            raise ConfigError(
                f"follow={rule!r} isn't one of its values", fix='write "thread" or "mention"'
            )
    return dict(given)


def _ids(option: str, given: Collection[str], form: re.Pattern[str], what: str) -> frozenset[str]:
    if isinstance(given, str):
        raise ConfigError(
            f"{option} is one text, where a list of {what} belongs",
            fix=f"write {option}=[{given!r}]",
        )
    if not isinstance(cast("object", given), Collection):
        raise ConfigError(f"{option}={given!r} is no list", fix=f"write {option}=[…] with {what}")
    for one in cast("Collection[object]", given):
        if not isinstance(one, str) or not form.fullmatch(one):
            raise ConfigError(
                f"{option} holds {one!r}: it takes {what}",
                fix="copy the id in Slack, from the details of the channel or app",
            )
    return frozenset(given)
