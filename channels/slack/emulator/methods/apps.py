"""``apps.*``: a socket to listen on, and who may hear an event.

Source: Slack docs "apps.connections.open", "apps.event.authorizations.list", "Using Socket Mode".
"""

from __future__ import annotations

from channels.slack.emulator.calling import APP_LEVEL, Asking, Method
from channels.slack.emulator.events.envelope import authorization
from channels.slack.emulator.wire import Refused
from gateway.engine.kinds import JsonObject


def connect(asking: Asking) -> JsonObject:
    world, app = asking.world, asking.app
    if not app.socket:
        raise Refused("socket_mode_not_enabled")
    ticket = world.secret()
    world.tickets[ticket] = app.id
    url = world.base_url.replace("http://", "ws://", 1)
    return {"url": f"{url}/socket/?ticket={ticket}&app_id={app.id}"}


def authorizations(asking: Asking) -> JsonObject:
    asking.args.need("event_context")
    found = [authorization(install) for install in asking.world.installs_of(asking.app.id)]
    return {"authorizations": [*found], "response_metadata": {"next_cursor": ""}}


METHODS = (
    Method(
        name="apps.connections.open",
        handler=connect,
        scopes=("connections:write",),
        tier="free",
        kinds=APP_LEVEL,
    ),
    Method(
        name="apps.event.authorizations.list", handler=authorizations, tier="4", kinds=APP_LEVEL
    ),
)
