"""Where Slack sends to: an address that it reaches, over https, where this gateway answers."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen, host_of
from gateway.values import is_loopback

SET = "Set GATEWAY_PUBLIC_URL to the https address that leads to this gateway"
COMMAND = "export GATEWAY_PUBLIC_URL=https://gateway.example.com"


def public_url(seen: Seen) -> Iterator[Finding]:
    url = seen.settings.public_url
    if not seen.slack_on or seen.by_socket:
        return
    if url is None:
        if seen.settings.slack_bot_token is not None:  # else it is missing for installing, too
            yield warning(
                "slack.address",
                "nothing says under which address Slack finds the gateway",
                "events come by HTTP, and GATEWAY_PUBLIC_URL isn't set",
                Fix(text=SET, command=COMMAND),
            )
    elif seen.real_slack and is_loopback(host_of(url)):
        yield error(
            "slack.address",
            "Slack can't reach an address of this machine",
            f"GATEWAY_PUBLIC_URL is {url}",
            Fix(text=f"{SET}; without one, use Socket Mode: SLACK_APP_TOKEN", command=COMMAND),
        )
    elif not url.startswith("https://") and not is_loopback(host_of(url)):
        yield error(
            "slack.address",
            "Slack sends to https addresses only",
            f"GATEWAY_PUBLIC_URL is {url}",
            Fix(text=SET, command=f"export GATEWAY_PUBLIC_URL=https{url.removeprefix('http')}"),
        )


def reached(seen: Seen) -> Iterator[Finding]:
    url = seen.settings.public_url
    if not seen.slack_on or seen.asked is None or seen.asked.reached is None:
        return
    health, hook = seen.asked.reached
    if health != 200:
        said = f"it answers {health}" if isinstance(health, int) else f"no answer ({health})"
        yield error(
            "slack.reached",
            "no gateway answers at the public address, as seen from this machine",
            f"GET {url}/healthz: {said}",
            Fix(
                text="Start the gateway, and lead the address to its port",
                command=f"gateway serve --port {seen.settings.port}",
            ),
        )
    elif hook != 405:  # it is there, and takes POST
        yield error(
            "slack.reached",
            "the gateway at the public address isn't in Slack",
            f"GET {url}/channels/slack: {hook}",
            Fix(
                text="Start it again with Slack's settings, and let /channels/slack through the proxy",
                command="gateway serve",
            ),
        )
