"""``api.test`` and ``auth.*``: who am I, is anybody there, and no longer."""

from __future__ import annotations

from channels.slack.emulator.calling import ANYBODY, Asking, Method
from channels.slack.emulator.wire import Refused
from channels.slack.emulator.world import tenancy
from gateway.engine.kinds import Json, JsonObject


def api_test(asking: Asking) -> JsonObject:
    if error := asking.args.text("error"):
        raise Refused(error, args=dict(asking.args.given))
    return {"args": dict(asking.args.given)}


def test(asking: Asking) -> JsonObject:
    install, world = asking.install, asking.world
    team = world.teams[asking.team]
    body: JsonObject = {
        "url": f"{world.base_url}/",
        "team": team.name,
        "team_id": team.id,
        "user": asking.me.name,
        "user_id": install.user,
        "bot_id": install.bot,
        "is_enterprise_install": install.org,
    }
    if install.enterprise:
        body["enterprise_id"] = install.enterprise
    if install.org:
        body["team_id"] = install.enterprise
        body["team"] = world.enterprises[install.enterprise or ""].name
    return body


def revoke(asking: Asking) -> JsonObject:
    testing = asking.args.flag("test")
    if asking.token is not None and not testing:
        tenancy.revoke(asking.world, asking.token)
    return {"revoked": not testing}


def teams(asking: Asking) -> JsonObject:
    install, world = asking.install, asking.world
    found: list[Json] = [
        {"id": team.id, "name": team.name}
        for team in world.teams.values()
        if team.id == install.team or (install.org and team.enterprise == install.enterprise)
    ]
    return {"teams": found, "response_metadata": {"next_cursor": ""}}


METHODS = (
    Method(name="api.test", handler=api_test, tier="4", kinds=ANYBODY),
    Method(name="auth.test", handler=test, tier="free"),
    Method(name="auth.revoke", handler=revoke),
    Method(name="auth.teams.list", handler=teams, tier="2"),
)
