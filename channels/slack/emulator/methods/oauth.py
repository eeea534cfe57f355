"""``oauth.v2.access``: a code becomes a token, and a refresh token the next one.

Source: Slack docs "oauth.v2.access", "Token rotation".
"""

from __future__ import annotations

import hmac

from channels.slack.emulator.calling import ANYBODY, Asking, Method
from channels.slack.emulator.wire import Args, Refused
from channels.slack.emulator.world import tenancy
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.state import App, Grant, Token
from gateway.engine.kinds import JsonObject


def _app(asking: Asking) -> App:
    name, secret = asking.args.text("client_id"), asking.args.text("client_secret")
    for app in asking.world.apps.values():
        if app.client_id == name:
            if not hmac.compare_digest(app.client_secret.encode(), secret.encode()):
                raise Refused("bad_client_secret")
            return app
    raise Refused("invalid_client_id")


def access(asking: Asking) -> JsonObject:
    world, args, app = asking.world, asking.args, _app(asking)
    kind = args.text("grant_type") or "authorization_code"
    if kind == "refresh_token":
        token = tenancy.refresh(world, app, args.text("refresh_token"))
        return _told(world, app, token)
    if kind != "authorization_code":
        raise Refused("invalid_grant_type")
    grant = _grant(world, app, args)
    grant.used = True
    into = world.teams[grant.team] if grant.team else world.enterprises[grant.enterprise or ""]
    made = tenancy.install(world, app, into, grant.scopes)
    return _told(world, app, world.tokens[made.token], grant.user)


def _grant(world: World, app: App, args: Args) -> Grant:
    grant = world.grants.get(args.text("code"))
    if grant is None or grant.app != app.id:
        raise Refused("invalid_code")
    if grant.used:
        raise Refused("code_already_used")
    if world.monotonic() >= grant.until:
        raise Refused("code_expired")
    if grant.redirect and args.text("redirect_uri") != grant.redirect:
        raise Refused("bad_redirect_uri")
    return grant


def _told(world: World, app: App, token: Token, user: str | None = None) -> JsonObject:
    made = token.install
    if made is None:
        raise Refused("invalid_code")
    team = world.teams.get(made.team or "")
    enterprise = world.enterprises.get(made.enterprise or "")
    body: JsonObject = {
        "app_id": app.id,
        "access_token": token.value,
        "token_type": "bot",
        "scope": ",".join(made.scopes),
        "bot_user_id": made.user,
        "team": {"id": team.id, "name": team.name} if team else None,
        "enterprise": {"id": enterprise.id, "name": enterprise.name} if enterprise else None,
        "is_enterprise_install": made.org,
    }
    if user:
        body["authed_user"] = {"id": user}
    if token.refresh is not None and token.expires is not None:
        left = (token.expires - world.now()) // 1000
        body.update(refresh_token=token.refresh, expires_in=left)
    return body


METHODS = (Method(name="oauth.v2.access", handler=access, tier="4", kinds=ANYBODY),)
