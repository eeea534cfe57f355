"""Schedules: the host has each of them, and the last tick of each came to something."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Seen
from gateway.cli.told import items_of, object_of, text_of, whole
from gateway.host.words.text import distance

ENDED_BADLY = frozenset({"failed", "timed_out"})


def failing(seen: Seen) -> Iterator[Finding]:
    for row in () if seen.kept is None else seen.kept.schedules:
        name, last = text_of(row.get("name")), object_of(row.get("last"))
        if problem := text_of(row.get("problem")):
            yield error(
                "state.schedule",
                f"the schedule {name} fails, so nothing comes of it",
                f"{distance(whole(row.get('problem_at')), seen.now)}: {problem}",
                Fix(
                    text="Mend that, then have it run once",
                    command=f"gateway schedules run {name}",
                ),
            )
        elif text_of(last.get("state")) in ENDED_BADLY:
            turn = text_of(last.get("turn_id"))
            yield error(
                "state.schedule",
                f"the last turn of the schedule {name} came to nothing",
                f"{turn} {text_of(last.get('state')).replace('_', ' ')}",
                Fix(
                    text=f"Look why, then have it run once: gateway schedules run {name}",
                    command=f"gateway turns show {turn}",
                ),
            )


def unknown(seen: Seen) -> Iterator[Finding]:
    """Declared after the host started: it would never fire, and nobody would say so."""
    if seen.kept is None or seen.kept.host is None or seen.defined is None:
        return
    loaded = seen.defined.loaded
    if loaded.agent.name not in _agents(seen):
        return
    there = {text_of(row.get("name")) for row in seen.kept.schedules}
    for name in sorted(loaded.schedules.keys() - there):
        yield error(
            "state.schedule",
            f"the running host doesn't have the schedule {name}",
            f"it stands in the agent's directory; the host at {seen.kept.host} started without it",
            Fix(text="Restart the host", command="gateway serve"),
        )


def _agents(seen: Seen) -> list[str]:
    found = {} if seen.kept is None else seen.kept.status
    return [str(name) for name in items_of(found.get("agents"))]
