"""One way for Slack's events, and the same one here and in the app: by HTTP or by socket."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.cli.told import object_of

REWRITE = "gateway slack manifest > manifest.yml"


def one_way(seen: Seen) -> Iterator[Finding]:
    s = seen.settings
    if s.slack_app_token is not None and s.slack_signing_secret is not None:
        yield warning(
            "slack.mode",
            "both ways for events are set up, and Slack uses one",
            "SLACK_APP_TOKEN (Socket Mode) and SLACK_SIGNING_SECRET (HTTP) are set",
            Fix(
                text="Leave out SLACK_SIGNING_SECRET for Socket Mode, or SLACK_APP_TOKEN for HTTP;"
                " then write the manifest anew",
                command=REWRITE,
            ),
        )


def as_in_the_app(seen: Seen) -> Iterator[Finding]:
    if seen.manifest is None or not seen.slack_on:
        return
    told = object_of(seen.manifest.get("settings")).get("socket_mode_enabled") is True
    if told == seen.by_socket:
        return
    here, there = ("Socket Mode", "HTTP") if seen.by_socket else ("HTTP", "Socket Mode")
    yield error(
        "slack.mode",
        f"the gateway waits for events by {here}, and the app sends them by {there}",
        f"manifest.yml has socket_mode_enabled: {str(told).lower()}",
        Fix(
            text="Write the manifest anew and paste it on the app's page under App Manifest",
            command=REWRITE,
            url=seen.page("app-manifest"),
        ),
    )
