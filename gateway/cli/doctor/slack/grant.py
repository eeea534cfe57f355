"""What Slack has granted: a token that it takes, and the permissions that the agent's features need.

Source: docs.slack.dev, "Installing with OAuth": permissions are granted when the app is installed, so what is
added to its manifest later takes another installation. No method tells them; the header of every answer does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from channels.slack.calls import FOR_GOOD
from gateway.cli.doctor.calls import Answer
from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Seen
from gateway.cli.doctor.slack.tokens import OAUTH, kind_of
from gateway.cli.operate.manifest import needs
from gateway.cli.told import object_of

REINSTALL = "On the app's page, Install App, press Reinstall to Workspace"
NEW_MANIFEST = (
    "Write the manifest anew, paste it on the app's page under App Manifest, and press Reinstall to"
    " Workspace under Install App"
)


def token(seen: Seen) -> Iterator[Finding]:
    me = None if seen.asked is None else seen.asked.me
    if me is None or me.ok:
        return
    if me.lost:
        yield silent(seen, me)
        return
    bot = seen.settings.slack_bot_token
    if bot is not None and kind_of(bot.value) != "a bot's token":
        return  # which is told already, and is why
    yield error(
        "slack.token",
        "Slack doesn't accept SLACK_BOT_TOKEN",
        f"auth.test answers {me.error}: {FOR_GOOD.get(me.error, 'it refuses the token')}",
        Fix(text=f"{OAUTH}; if it was revoked, install the app again", url=seen.page("oauth")),
    )


def silent(seen: Seen, answer: Answer) -> Finding:
    url = seen.settings.slack_api_url
    return error(
        "slack.unreachable",
        "Slack can't be reached from this machine",
        f"{url}: {answer.error}",
        Fix(
            text="Let this machine out to Slack (a firewall or proxy may be between)",
            command=f"curl -sS {url}/api.test",
        ),
    )


def scopes(seen: Seen) -> Iterator[Finding]:
    me = None if seen.asked is None else seen.asked.me
    if me is None or not me.ok or seen.app is None:
        return
    missing = {scope: why for scope, why in needs(seen.app).items() if scope not in me.scopes}
    listed = _listed(seen)
    asked_for = {scope: why for scope, why in missing.items() if scope in listed}
    unasked = {scope: why for scope, why in missing.items() if scope not in listed}
    if asked_for:
        yield error(
            "slack.reinstall",
            "the manifest's permissions aren't granted: install the app again",
            f"missing {_told(asked_for)}",
            Fix(text=REINSTALL, url=seen.page("install-on-team")),
        )
    if unasked:
        yield error(
            "slack.scopes",
            "the app lacks permissions that the agent needs",
            f"missing {_told(unasked)}",
            Fix(
                text=NEW_MANIFEST,
                command="gateway slack manifest > manifest.yml",
                url=seen.page("app-manifest"),
            ),
        )


def _listed(seen: Seen) -> frozenset[str]:
    """The permissions that ``manifest.yml`` asks for."""
    oauth = object_of((seen.manifest or {}).get("oauth_config"))
    found = object_of(oauth.get("scopes")).get("bot")
    return frozenset(str(scope) for scope in found) if isinstance(found, list) else frozenset()


def _told(scopes: Mapping[str, str]) -> str:
    return ", ".join(f"{scope} (to {why})" for scope, why in sorted(scopes.items()))


def line(seen: Seen) -> Iterator[Finding]:
    """Whether Slack would open a line for Socket Mode."""
    opened = None if seen.asked is None else seen.asked.line
    if opened is None or opened.ok:
        return
    if opened.lost:
        if seen.asked is not None and seen.asked.me is None:
            yield silent(seen, opened)
        return
    off = opened.error in {"socket_mode_not_enabled", "forbidden_team"}
    yield error(
        "slack.socket",
        "Slack opens no line for Socket Mode",
        f"apps.connections.open answers {opened.error}",
        Fix(
            text="On the app's page, Socket Mode, switch it on"
            if off
            else "On the app's page, Basic Information, make an App-Level Token with"
            " connections:write and set SLACK_APP_TOKEN to it",
            url=seen.page("socket-mode" if off else "general"),
        ),
    )
