"""The manifest that was pasted, as far as it was kept, against what agent and settings need."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.cli.operate.manifest import HOOK, NOWHERE, differences, manifest
from gateway.cli.told import object_of, text_of

PASTE = "Write the manifest anew and paste it on the app's page under App Manifest"
REWRITE = "gateway slack manifest > manifest.yml"


def addresses(seen: Seen) -> Iterator[Finding]:
    """Slack sends events to the address in the app, whatever is set here."""
    url = seen.settings.public_url
    if seen.manifest is None or not seen.slack_on or seen.by_socket or url is None:
        return
    told = object_of(seen.manifest.get("settings"))
    there = {
        name.replace("_", " "): text_of(object_of(told.get(name)).get("request_url"))
        for name in ("event_subscriptions", "interactivity")
    }
    astray = [name for name, at in there.items() if at != f"{url}{HOOK}"]
    if astray:
        at = there[astray[0]] or "none"
        yield error(
            "slack.urls",
            f"the app sends its {' and '.join(astray)} to another address than this gateway's",
            f"manifest.yml says {at}, GATEWAY_PUBLIC_URL makes it {url}{HOOK}",
            Fix(text=PASTE, command=REWRITE, url=seen.page("app-manifest")),
        )


def rest(seen: Seen) -> Iterator[Finding]:
    app = seen.app
    if seen.manifest is None or app is None or not seen.slack_on:
        return
    if app.public_url == NOWHERE and not app.socket:
        return  # the address has a finding of its own, and would be the difference
    lines = differences(seen.manifest, manifest(app), "manifest.yml").splitlines()[2:]
    told = [line for line in lines if not _told_elsewhere(line)]
    if told:
        more = f" and {len(told) - 3} more" if len(told) > 3 else ""
        yield warning(
            "slack.manifest",
            "manifest.yml says something else than the agent needs",
            "; ".join(told[:3]) + more,
            Fix(text=f"{PASTE}; what differs: gateway slack manifest --diff", command=REWRITE),
        )


def _told_elsewhere(line: str) -> bool:
    """What other checks find by themselves."""
    return "url" in line.partition(": ")[0] or "socket_mode_enabled" in line
