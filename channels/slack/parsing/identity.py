"""Who is who: one canonical identity for one person, whichever payload names them.

``slack:<home>:<user>``, where home is the installation's key for everybody of its own organisation,
else the organisation or, where none is named, the workspace that Slack says the person is from.

Wire: a user's id is unique within a workspace, on Enterprise Grid within the organisation. A message
names the author's side as ``user_team``, ``source_team`` or ``team`` (@slack/types
``events/app.d.ts``); in a mention from a shared channel ``team`` may be ours although the author
isn't, and ``user_team`` an organisation (slack_bolt ``request/internals.py``, bolt-python
``tests/slack_bolt/request/test_internals.py``). A click names ``user.team_id``: the organisation, or
any workspace of it that the person belongs to, with ``team`` null for an org-wide installation
(docs.slack.dev "block_actions payload"; bolt-python #23, bolt-js #1875, java-slack-sdk #1041).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from channels.slack.parsing.envelope import Envelope, obj, slack_id, text
from gateway.engine.kinds import JsonObject, Level, Speaker
from gateway.engine.ledger.rows import Installation
from gateway.engine.struct import replace, struct

__all__ = [
    "Homes",
    "Installed",
    "Person",
    "Renamed",
    "as_stated",
    "author",
    "clicker",
    "commander",
    "installed",
    "looked_up",
    "named",
]

NOWHERE = "unknown"
"""The home of somebody in a shared channel of whom Slack doesn't say where they belong."""


@struct(frozen=True, slots=True)
class Renamed:
    """A channel has another id since ``at``, a timestamp as messages have one."""

    old: str
    new: str
    at: str


@struct(frozen=True, slots=True, kw_only=True)
class Installed:
    """Ourselves in one workspace or organisation. ``teams`` are the organisation's workspaces as far
    as they are known; without them the members of its other workspaces count as outsiders until
    Slack is asked (``looked_up``). ``renamed`` in the order in which it happened."""

    key: str
    app: str = ""
    team: str = ""
    enterprise: str = ""
    org: bool = False
    bot_user: str = ""
    bot_id: str = ""
    teams: frozenset[str] = frozenset()
    active: bool = True
    renamed: tuple[Renamed, ...] = ()

    def owns(self, home: str) -> bool:
        return bool(home) and home in {self.key, self.team, self.enterprise, *self.teams}

    def then(self, channel: str, ts: str) -> str:
        """The id that the channel had when this was written: by that it is known here, for good."""
        for one in reversed(self.renamed):
            if one.new == channel and float(ts) < float(one.at):
                channel = one.old
        return channel

    def names(self, channel: str) -> tuple[str, ...]:
        """The channel's id, and those that it had before."""
        found = [channel]
        found += [one.old for one in reversed(self.renamed) if one.new == found[-1]]
        return tuple(found)


class Homes(Protocol):
    """Where the app is installed."""

    async def installed(self, key: str) -> Installed | None:
        """Ourselves there, without asking Slack. Raises ``StoreUnavailableError``."""
        ...


@struct(frozen=True, slots=True, kw_only=True)
class Person:
    """``external`` and ``guest`` are ``None`` where the payload doesn't say. ``team`` is the id that
    Slack wants back where it asks for the team of a recipient."""

    speaker: Speaker
    user: str
    team: str
    external: bool | None
    guest: bool | None = None


def installed(row: Installation, teams: Collection[str] = ()) -> Installed:
    return Installed(
        key=row.key,
        app=row.app,
        team=row.team or "",
        enterprise=row.enterprise or "",
        org=row.org,
        bot_user=row.bot_user or "",
        bot_id=row.bot_id or "",
        teams=frozenset(teams),
        active=row.state == "active",
    )


def as_stated(envelope: Envelope) -> Installed:
    """The installation as its own event describes it, for a single token that wasn't asked yet."""
    return Installed(
        key=envelope.installation,
        app=envelope.app,
        team=envelope.team,
        enterprise=envelope.enterprise,
        org=envelope.org,
        bot_user=envelope.bot_user,
    )


# -- from payloads -----------------------------------------------------------------------------------
def author(envelope: Envelope, me: Installed, message: JsonObject) -> Person:
    """Who wrote a message, or did what another event tells."""
    outer, profile = envelope.payload, obj(message.get("user_profile"))
    grid = _grid(envelope, me)
    home = (
        slack_id(message, "user_team")
        or slack_id(message, "source_team")
        or slack_id(profile, "team")
        or slack_id(message, "team")
    )
    owners = {
        slack_id(outer, "team_id"): slack_id(outer, "enterprise_id"),
        slack_id(outer, "context_team_id"): slack_id(outer, "context_enterprise_id"),
    }
    shared = outer.get("is_ext_shared_channel")
    if not home:
        home = "" if shared is True else me.key
    elif shared is False and grid:
        # Nobody from outside is in here, whichever of the organisation's workspaces they came by.
        owners[home] = grid
    user = slack_id(message, "user") or slack_id(message, "user_id")
    claim = _Claim(user=user, home=home, owner=owners.get(home, "") if home else "")
    return _person(me, grid, claim, named(profile), _guest(profile))


def clicker(envelope: Envelope, me: Installed) -> Person:
    """Who pressed, submitted or chose something. Nothing here says whether they are a guest."""
    user, team = obj(envelope.payload.get("user")), obj(envelope.payload.get("team"))
    home = slack_id(user, "team_id")
    owner = slack_id(team, "enterprise_id") if home == slack_id(team, "id") else ""
    claim = _Claim(user=slack_id(user, "id"), home=home, owner=owner)
    return _person(me, _grid(envelope, me), claim, named(user))


def commander(envelope: Envelope, me: Installed) -> Person:
    """Who typed a command. Slack offers an app's commands to members only, so the team it was typed
    in is the person's own."""
    fields = envelope.payload
    claim = _Claim(
        user=slack_id(fields, "user_id"),
        home=slack_id(fields, "team_id"),
        owner=slack_id(fields, "enterprise_id"),
    )
    return _person(me, _grid(envelope, me), claim, _label(text(fields, "user_name")))


def looked_up(
    me: Installed,
    user: str,
    *,
    team: str,
    enterprise: str,
    name: str = "",
    guest: bool | None = None,
) -> Person:
    """Somebody of whom Slack was asked (``users.info``) where they belong: settles those whose event
    named no workspace, or one that couldn't be told to be of our organisation."""
    claim = _Claim(user=user, home=team, owner=enterprise)
    found = _person(me, me.enterprise, claim, name, guest)
    return replace(found, external=found.external is not False)


def named(holder: JsonObject) -> str:
    """What to call somebody. A label: they chose it themselves."""
    for field in ("display_name", "real_name", "name", "username"):
        if found := _label(text(holder, field)):
            return found
    return ""


# -- the one rule --------------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What a payload says of a person: the workspace or organisation they are from, and of which
    organisation that workspace is."""

    user: str
    home: str
    owner: str


def _person(
    me: Installed, grid: str, claim: _Claim, name: str = "", guest: bool | None = None
) -> Person:
    own = me.owns(claim.home) or (bool(grid) and grid in {claim.home, claim.owner})
    home = me.key if own else claim.owner or claim.home or NOWHERE
    # Another workspace may be of our organisation; another organisation can't.
    unsure = bool(grid) and claim.home.startswith("T") and not claim.owner
    external = False if own else None if unsure else True
    level: Level = "none" if not claim.home else "provider" if own and not guest else "sender"
    speaker = Speaker(id=f"slack:{home}:{claim.user}", name=name, tenant=home, level=level)
    return Person(speaker=speaker, user=claim.user, team=claim.home, external=external, guest=guest)


def _grid(envelope: Envelope, me: Installed) -> str:
    """Our organisation, if we are in one."""
    return me.enterprise or (envelope.enterprise if envelope.installation == me.key else "")


def _guest(profile: JsonObject) -> bool | None:
    """Mentions carry a short profile of their author; messages mostly don't."""
    marks = [profile.get(name) for name in ("is_restricted", "is_ultra_restricted", "is_stranger")]
    if True in marks:
        return True
    return False if False in marks else None


def _label(name: str) -> str:
    return "".join(c for c in name if c.isprintable()).strip()[:80]
