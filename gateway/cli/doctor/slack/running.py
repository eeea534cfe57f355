"""What the running host says of Slack: whom it refuses, how its line is."""

from __future__ import annotations

from collections.abc import Iterator

from channels.slack.ingress import MUTE, OURS, REFUSED, STRANGER
from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Seen
from gateway.cli.doctor.slack.clock import SYNC
from gateway.cli.doctor.slack.tokens import APP, OAUTH, SIGNING


def running(seen: Seen) -> Iterator[Finding]:
    said = seen.channel_problem()
    if not said:
        return
    for mark, name, title, fix in _known(seen):
        if mark in said:
            yield error(name, title, f"the host says: {said}", fix)
            return
    yield error(
        "slack.down",
        "Slack doesn't work on the running host",
        f"the host says: {said}",
        Fix(text="Mend what it names; the host tries again by itself", command="gateway status"),
    )


def _known(seen: Seen) -> Iterator[tuple[str, str, str, Fix]]:
    again = ", then restart the gateway"
    yield (
        OURS["signature"],
        "slack.secret",
        "requests are refused: SLACK_SIGNING_SECRET isn't that of the app that sends them",
        Fix(text=f"{SIGNING}{again}", command="gateway serve", url=seen.page("general")),
    )
    yield (
        OURS["no_secret"],
        "slack.secret",
        "requests are refused: SLACK_SIGNING_SECRET isn't set",
        Fix(text=f"{SIGNING}{again}", command="gateway serve", url=seen.page("general")),
    )
    yield (
        OURS["stale"],
        "slack.clock",
        "requests are refused as too old: this machine's clock is off",
        SYNC,
    )
    yield (
        "Slack doesn't accept SLACK_BOT_TOKEN",
        "slack.token",
        "Slack doesn't accept the token that the host runs with",
        Fix(text=f"{OAUTH}{again}", command="gateway serve", url=seen.page("oauth")),
    )
    yield (
        "the app was removed or its token revoked",
        "slack.token",
        "the app was removed from the workspace, or its token revoked",
        Fix(
            text="On the app's page, Install App, install it again, set SLACK_BOT_TOKEN to the new"
            f" token{again}",
            command="gateway serve",
            url=seen.page("install-on-team"),
        ),
    )
    yield (
        REFUSED,
        "slack.socket",
        "Slack refuses the host's line for Socket Mode",
        Fix(
            text=f"{APP}, switch Socket Mode on{again}",
            command="gateway serve",
            url=seen.page("socket-mode"),
        ),
    )
    yield (
        MUTE,
        "slack.mute",
        "the line to Slack opens and then nothing is heard on it",
        Fix(
            text="Let WebSockets (wss) to Slack through the firewall or proxy, with pings and without"
            " a time limit"
        ),
    )
    yield (
        STRANGER,
        "slack.second",
        "another process listens with the same SLACK_APP_TOKEN, and takes some of the events",
        Fix(
            text="Stop the other one, or make an app of its own for it: gateway slack manifest",
            url=seen.page("socket-mode"),
        ),
    )
