"""The host itself: whether it takes turns, and whether it has what the directory has by now."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.cli.dotenv import TAKE_OVER
from gateway.cli.told import items_of, objects_of


def ready(seen: Seen) -> Iterator[Finding]:
    kept = seen.kept
    if kept is None or kept.host is None or kept.status.get("ready") is not False:
        return
    said = "; ".join(map(str, items_of(kept.status.get("problems"))))
    yield error(
        "state.host",
        "the host takes no turns",
        said or "it doesn't say why",
        Fix(text="Mend what it names; its log says more", command="gateway status"),
    )


def refused(seen: Seen) -> Iterator[Finding]:
    """A host that runs has what it needs, whatever is set in this shell."""
    if seen.kept is None or seen.kept.host is None:
        yield from seen.refused


def unread(seen: Seen) -> Iterator[Finding]:
    """The doctor looks with ``.env``, as every command that a person types; a host doesn't run with it."""
    if seen.unread:
        yield warning(
            "settings.dotenv",
            "gateway serve runs without what stands only in .env",
            ", ".join(seen.unread),
            Fix(text="Where it is served, set them in the environment", command=TAKE_OVER),
        )


def channels(seen: Seen) -> Iterator[Finding]:
    """A channel that is set up here and off on the host: it was started before."""
    kept = seen.kept
    if kept is None or kept.host is None or not seen.slack_on:
        return
    rows = objects_of(kept.status.get("channels"))
    slack = [row for row in rows if row.get("name") == "slack"]
    if slack and slack[0].get("on") is not True:
        yield error(
            "slack.down",
            "Slack is set up here, and off on the running host",
            f"the host at {kept.host} started without it",
            Fix(
                text="Restart the host with the settings that this shell has",
                command="gateway serve",
            ),
        )
