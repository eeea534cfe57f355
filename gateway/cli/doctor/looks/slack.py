"""What Slack says when it is asked: only by methods that change nothing."""

from __future__ import annotations

from gateway.cli.doctor.calls import Answer, Caller
from gateway.cli.doctor.seen import Asked
from gateway.config import Settings
from gateway.definition import Loaded

MOST_PLACES = 20
HOOK = "/channels/slack"


async def look(settings: Settings, loaded: Loaded | None) -> Asked:
    async with Caller(settings.slack_api_url) as slack:
        bot, app = settings.slack_bot_token, settings.slack_app_token
        me = None if bot is None else await slack.ask("auth.test", bot.value)
        # An address for a line is handed out, and left unused: the host's own line goes on.
        line = None if app is None else await slack.ask("apps.connections.open", app.value)
        places: dict[str, Answer] = {}
        if bot is not None and me is not None and me.ok:
            for channel in _channels(loaded):
                places[channel] = await slack.ask("conversations.info", bot.value, channel=channel)
        return Asked(me=me, line=line, places=places, reached=await _reached(slack, settings))


def _channels(loaded: Loaded | None) -> list[str]:
    """Channels that the agent posts into by itself; direct messages need no membership."""
    if loaded is None:
        return []
    named = (one.target for one in loaded.addresses if one.target.channel == "slack")
    ids = (target.address.rpartition(":")[2] for target in named)
    return list(dict.fromkeys(one for one in ids if one[:1] in {"C", "G"}))[:MOST_PLACES]


async def _reached(slack: Caller, settings: Settings) -> tuple[int | str, int | str] | None:
    if settings.public_url is None or settings.slack_app_token is not None:
        return None
    health = await slack.status(f"{settings.public_url}/healthz")
    return health, await slack.status(f"{settings.public_url}{HOOK}")
