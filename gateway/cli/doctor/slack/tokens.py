"""The settings: all there, each of its own kind.

Source: "Tokens" in Slack's docs (docs.slack.dev): a bot's token begins with ``xoxb-`` (``xoxe.xoxb-`` where
it expires), a person's with ``xoxp-``, an app's with ``xapp-``; a signing secret is 32 hex digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.values import Secret, needed

KINDS = {
    "xoxb-": "a bot's token",
    "xoxe.xoxb-": "a bot's token",
    "xoxp-": "a person's token",
    "xoxe.xoxp-": "a person's token",
    "xoxe-": "a refresh token",
    "xapp-": "an app-level token",
}
OAUTH = "On the app's page, OAuth & Permissions, copy the Bot User OAuth Token into SLACK_BOT_TOKEN"
BASIC = "On the app's page, Basic Information, copy the"
APP = f"{BASIC} App-Level Token with connections:write into SLACK_APP_TOKEN"
SIGNING = f"{BASIC} Signing Secret into SLACK_SIGNING_SECRET"


def complete(seen: Seen) -> Iterator[Finding]:
    """What is off while the directory has the channel may be meant: that is a warning, unless Slack
    was begun to be set up, or asked for by name."""
    missing = seen.settings.missing("slack")
    mounted = seen.defined is not None and "slack" in seen.defined.loaded.channels
    wanted = seen.slack_wanted or seen.named
    if missing and (wanted or mounted) and not seen.slack_served:
        say = error if wanted else warning
        yield say(
            "slack.settings",
            "Slack is off: settings are missing",
            f"nothing is set of {'; nor of '.join(missing)}",
            Fix(text=f"Set {needed(missing)}", url="https://api.slack.com/apps"),
        )
    if seen.defined is not None and not mounted and wanted:
        name = seen.defined.loaded.agent.name
        yield error(
            "slack.channel",
            f"{name} isn't in Slack",
            "the agent's directory has no channels/slack.py",
            Fix(text="Add the channel", command="gateway add channel slack"),
        )


def kinds(seen: Seen) -> Iterator[Finding]:
    s = seen.settings
    yield from _kind(seen, "SLACK_BOT_TOKEN", s.slack_bot_token, "a bot's token", OAUTH)
    yield from _kind(seen, "SLACK_APP_TOKEN", s.slack_app_token, "an app-level token", APP)
    secret = s.slack_signing_secret
    if secret is None:
        return
    kind = kind_of(secret.value)
    if kind or (seen.real_slack and not re.fullmatch(r"[0-9a-f]{32}", secret.value)):
        yield error(
            "slack.secret",
            "SLACK_SIGNING_SECRET is no signing secret",
            f"it holds {kind or 'something that is not 32 hex digits'}",
            Fix(text=SIGNING, url=seen.page("general")),
        )


def _kind(
    seen: Seen, name: str, given: Secret | None, wanted: str, where: str
) -> Iterator[Finding]:
    if given is None:
        return
    kind = kind_of(given.value)
    if kind != wanted:
        page = "oauth" if name == "SLACK_BOT_TOKEN" else "general"
        yield error(
            "slack.token",
            f"{name} isn't {wanted}",
            f"it holds {kind or 'no token of Slack'}",
            Fix(text=where, url=seen.page(page)),
        )


def kind_of(value: str) -> str:
    return next((kind for prefix, kind in KINDS.items() if value.startswith(prefix)), "")


def installing(seen: Seen) -> Iterator[Finding]:
    """What it takes for workspaces to install the app by themselves."""
    s = seen.settings
    if s.slack_client_id is None or s.slack_bot_token is not None:
        return
    for name, value, how in (
        ("SLACK_CLIENT_SECRET", s.slack_client_secret, f"{BASIC} Client Secret into it"),
        ("GATEWAY_SECRET_KEYS", s.secret_keys or None, "Make one: openssl rand -hex 32"),
        ("GATEWAY_PUBLIC_URL", s.public_url, "Set it to the address that people reach, with https"),
    ):
        if value is None:
            yield error(
                "slack.installing",
                f"no workspace can install the app without {name}",
                "SLACK_CLIENT_ID is set, SLACK_BOT_TOKEN is not: workspaces are to install it",
                Fix(text=how, command=f"export {name}=…"),
            )
