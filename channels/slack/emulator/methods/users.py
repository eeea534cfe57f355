"""``users.*``, ``bots.info``, ``team.info``: people as this app may see them."""

from __future__ import annotations

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.methods.conversations import page
from channels.slack.emulator.wire import Refused
from channels.slack.emulator.world.depict import same_company, team_json, user_json
from channels.slack.emulator.world.state import User
from gateway.engine.kinds import Json, JsonObject


def _known(asking: Asking, user: User) -> bool:
    """Colleagues, and whoever shares a channel with them."""
    if same_company(asking.world, user, asking.me.team):
        return True
    return any(user.id in channel.members for channel in asking.world.channels.values())


def _shown(asking: Asking, user: User) -> JsonObject:
    shown = user_json(asking.world, user, asking.me.team)
    if "users:read.email" not in asking.install.scopes:
        profile = shown["profile"]
        if isinstance(profile, dict):
            profile.pop("email", None)
    return shown


def info(asking: Asking) -> JsonObject:
    user = asking.world.users.get(asking.args.need("user", "user_not_found"))
    if user is None:
        raise Refused("user_not_found")
    if not _known(asking, user):
        raise Refused("user_not_visible")
    return {"user": _shown(asking, user)}


def listed(asking: Asking) -> JsonObject:
    team = asking.workspace()
    found: list[Json] = [
        _shown(asking, user)
        for user in asking.world.users.values()
        if same_company(asking.world, user, team)
    ]
    items, cursor = page(found, asking.args, 1000)
    now = asking.world.now() // 1000
    return {"members": items, "cache_ts": now, "response_metadata": {"next_cursor": cursor}}


def by_email(asking: Asking) -> JsonObject:
    wanted = asking.args.need("email", "users_not_found").lower()
    for user in asking.world.users.values():
        if user.email.lower() == wanted and same_company(asking.world, user, asking.team):
            return {"user": _shown(asking, user)}
    raise Refused("users_not_found")


def bot_info(asking: Asking) -> JsonObject:
    bot = asking.args.text("bot") or asking.install.bot
    for user in asking.world.users.values():
        if user.bot == bot:
            shown: JsonObject = {
                "id": bot,
                "deleted": False,
                "name": user.name,
                "updated": asking.world.now() // 1000,
                "app_id": user.app,
                "user_id": user.id,
            }
            return {"bot": shown}
    raise Refused("bot_not_found")


def team_info(asking: Asking) -> JsonObject:
    team = asking.world.teams.get(asking.args.text("team") or asking.team)
    if team is None or not same_company(asking.world, asking.me, team.id):
        raise Refused("team_not_found")
    return {"team": team_json(asking.world, team)}


METHODS = (
    Method(name="users.info", handler=info, scopes=("users:read",), tier="4"),
    Method(name="users.list", handler=listed, scopes=("users:read",), tier="2"),
    Method(name="users.lookupByEmail", handler=by_email, scopes=("users:read.email",)),
    Method(name="bots.info", handler=bot_info, scopes=("users:read",)),
    Method(name="team.info", handler=team_info, scopes=("team:read",)),
)
