"""The outer parts of what an app is sent, and the signature around it.

Source: Slack docs "The Events API" (outer event, ``authorizations``, retries), "Verifying requests from
Slack", "app_rate_limited".
"""

from __future__ import annotations

import hashlib
import hmac

from channels.slack.emulator.wire import a_text
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.state import App, Install
from gateway.engine.kinds import JsonObject

GOODBYES = frozenset({"tokens_revoked", "app_uninstalled"})
"""Nobody is authorized any more when these are sent, so they name no authorization."""


def authorization(install: Install) -> JsonObject:
    return {
        "enterprise_id": install.enterprise,
        "team_id": install.team,
        "user_id": install.user,
        "is_bot": True,
        "is_enterprise_install": install.org,
    }


def callback(
    world: World, app: App, install: Install, event: JsonObject, channel: str | None
) -> JsonObject:
    """An event as it is sent. ``team_id`` is where it happened, which may be another company's: in a
    shared channel a message comes from its author's. A mention has no context."""
    where = world.channels.get(channel or "")
    team = world.users[install.user].team if install.team is None else install.team
    outer = where.team if where is not None else team
    author = world.users.get(a_text(event.get("user")))
    if where is not None and where.external and event.get("type") == "message" and author:
        outer, team = author.team, where.team
    enterprise = world.teams[outer].enterprise
    name = world.new_id("Ev")
    context: JsonObject = {
        "context_team_id": team,
        "context_enterprise_id": world.teams[team].enterprise,
    }
    about: JsonObject = {
        "authorizations": [authorization(install)],
        "is_ext_shared_channel": where is not None and where.external,
        "event_context": f"4-{name}",
    }
    if event.get("type") in GOODBYES:
        about = {}
    return {
        "token": app.verification_token,
        "team_id": outer,
        **({} if event.get("type") == "app_mention" else context),
        **({"enterprise_id": enterprise} if enterprise else {}),
        "api_app_id": app.id,
        "event": event,
        "type": "event_callback",
        "event_id": name,
        "event_time": world.now() // 1000,
        **about,
    }


def challenge(app: App, secret: str) -> JsonObject:
    return {"token": app.verification_token, "challenge": secret, "type": "url_verification"}


def too_many(world: World, app: App, team: str) -> JsonObject:
    """Sent instead of events, once a minute, while there are too many of them."""
    return {
        "token": app.verification_token,
        "type": "app_rate_limited",
        "team_id": team,
        "minute_rate_limited": world.now() // 60_000 * 60,
        "api_app_id": app.id,
    }


def signed(secret: str, body: bytes, at: int) -> dict[str, str]:
    base = b"v0:" + str(at).encode() + b":" + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(at), "X-Slack-Signature": f"v0={digest}"}
