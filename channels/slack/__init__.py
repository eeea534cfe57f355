"""Slack: the channel, and an emulator of the platform to try it on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from channels.contract import Follow
from channels.slack.policy import ReplaceInFlight
from gateway.engine.errors import ConfigError

if TYPE_CHECKING:
    from channels.slack.channel import SlackChannel

__all__ = ["slack_channel"]


def slack_channel(  # noqa: PLR0913 - each is an option
    env: Mapping[str, str],
    *,
    follow: Follow | Mapping[str, Follow] = "thread",
    replace_in_flight: ReplaceInFlight = False,
    bots: Collection[str] = (),
    external: Collection[str] = (),
    agent_view: bool = True,
    policy_words: Mapping[str, str] | None = None,
    outsiders_decide: Collection[str] = (),
    task_titles: Mapping[str, str] | None = None,
    remind_after: float | None = None,
    remind_every: float | None = None,
) -> SlackChannel:
    """A Slack channel with the ``SLACK_*`` settings in ``env``.

    - ``follow``: whether replies in a thread that the agent takes part in are meant for it
      (``"thread"``) or have to mention it (``"mention"``); for all channels, or by channel id with
      ``"*"`` for the others.
    - ``replace_in_flight``: what a newer message does to turns under way: nothing, cancel those of the
      same ``"speaker"``, or of the whole ``"thread"``.
    - ``bots``: ids of bots that are heard when they mention the agent; ``external``: channels in which
      people of other organisations are.
    - ``agent_view``: whether the app has Slack's view for agents.
    - ``policy_words``: who decides, for people, by policy (``"@support-leads"``);
      ``outsiders_decide``: policies that guests and people of other organisations may decide on.
    - ``task_titles``: a tool's line while it works (``"Looking up order {order_id}"``).
    - ``remind_after``, ``remind_every``: seconds until an open request is reminded of, and again.

    Raises ``ConfigError`` that names what is wrong.
    """
    # The emulator shares this folder; who wants only that isn't to load the channel.
    from channels.slack.channel import SlackChannel
    from channels.slack.settings import read_options, read_settings

    settings = read_settings(env)
    if settings.app_token is not None and not settings.app_token.startswith("xapp-"):
        raise ConfigError(
            "SLACK_APP_TOKEN is no app-level token: those begin with xapp-",
            fix="copy it from the app's page, Basic Information, App-Level Tokens",
        )
    if (settings.bot_token or "").startswith("xapp-"):
        raise ConfigError(
            "SLACK_BOT_TOKEN holds an app-level token, which can't post",
            fix="copy the Bot User OAuth Token (xoxb-) from the app's page, OAuth & Permissions",
        )
    options = read_options(
        follow=follow,
        replace_in_flight=replace_in_flight,
        bots=bots,
        external=external,
        agent_view=agent_view,
        policy_words=policy_words,
        outsiders_decide=outsiders_decide,
        task_titles=task_titles,
        remind_after=remind_after,
        remind_every=remind_every,
    )
    return SlackChannel(settings, options)
