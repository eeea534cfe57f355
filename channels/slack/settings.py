"""What an operator sets for Slack: the settings of the environment, the options of ``slack_channel``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import cast

from channels.contract import Follow
from channels.slack.policy import ReplaceInFlight, SlackRules, rules
from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct

API_URL = "https://slack.com/api/"


@struct(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """Of the environment. With ``bot_token`` the app serves one workspace; with ``client_id`` and
    ``client_secret`` those that install it."""

    api_url: str = API_URL
    bot_token: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    signing_secret: str | None = field(default=None, repr=False)
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)


@struct(frozen=True, slots=True, kw_only=True)
class SlackOptions:
    """``policy_words`` says per policy who decides (``"@support-leads"``); ``outsiders_decide`` names the
    policies that guests and people of other organisations may decide on; ``task_titles`` gives a tool's
    line in the timeline (``"Looking up order {order_id}"``). Reminders are in seconds."""

    rules: SlackRules
    policy_words: Mapping[str, str] = field(default_factory=dict[str, str])
    outsiders_decide: frozenset[str] = frozenset()
    task_titles: Mapping[str, str] = field(default_factory=dict[str, str])
    remind_after: float | None = None
    remind_every: float | None = None


def read_settings(env: Mapping[str, str]) -> SlackSettings:
    """The ``SLACK_*`` names of a mapping; an empty value is none."""
    url = env.get("SLACK_API_URL") or API_URL
    return SlackSettings(
        api_url=url if url.endswith("/") else f"{url}/",
        bot_token=env.get("SLACK_BOT_TOKEN") or None,
        app_token=env.get("SLACK_APP_TOKEN") or None,
        signing_secret=env.get("SLACK_SIGNING_SECRET") or None,
        client_id=env.get("SLACK_CLIENT_ID") or None,
        client_secret=env.get("SLACK_CLIENT_SECRET") or None,
    )


def read_options(  # noqa: PLR0913 - each is an option of slack_channel
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
) -> SlackOptions:
    """The options, checked. Raises ``ConfigError`` that names the one that is wrong."""
    _check_texts("policy_words", policy_words, '{"refunds": "@support-leads"}')
    _check_texts("task_titles", task_titles, '{"find_order": "Looking up order {order_id}"}')
    if not isinstance(cast("object", outsiders_decide), Collection):
        raise ConfigError(
            f"outsiders_decide={outsiders_decide!r} is no list of policies",
            fix='write outsiders_decide=["refunds"]',
        )
    _check_seconds("remind_after", remind_after)
    _check_seconds("remind_every", remind_every)
    if remind_every is not None and remind_after is None:
        raise ConfigError(
            "remind_every says how often to remind again, but nothing reminds a first time",
            fix="set remind_after, too",
        )
    if isinstance(outsiders_decide, str):
        raise ConfigError(
            "outsiders_decide is one text, where a list of policies belongs",
            fix=f"write outsiders_decide=[{outsiders_decide!r}]",
        )
    return SlackOptions(
        rules=rules(
            follow=follow,
            replace_in_flight=replace_in_flight,
            bots=bots,
            external=external,
            agent_view=agent_view,
        ),
        policy_words=dict(policy_words or {}),
        outsiders_decide=frozenset(outsiders_decide),
        task_titles=dict(task_titles or {}),
        remind_after=remind_after,
        remind_every=remind_every,
    )


def _check_texts(name: str, given: object, example: str) -> None:
    """That an option which is a mapping holds a text for each name."""
    if given is None:
        return
    fits = isinstance(given, Mapping) and all(
        isinstance(one, str)
        for item in cast("Mapping[object, object]", given).items()
        for one in item
    )
    if not fits:
        raise ConfigError(
            f"{name}={given!r} doesn't give a text for each name", fix=f"write {name}={example}"
        )


def _check_seconds(name: str, given: object) -> None:
    if given is None:
        return
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise ConfigError(
            f"{name}={given!r} is no number of seconds", fix=f"write {name}=3600 for an hour"
        )
    if not given >= 60:
        raise ConfigError(
            f"{name}={given!r} would remind people all the time",
            fix=f"set {name} to 60 seconds or more, or leave it out",
        )
