"""Turns that neither ended nor wait for a person, and don't go on either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Kept, Seen
from gateway.cli.told import items_of, text_of, whole
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import count

MOMENT = 60.0
"""Seconds in which a turn that waits for its place may get it."""
NAMED = 3


def stranded(seen: Seen) -> Iterator[Finding]:
    kept = seen.kept
    if kept is None or not kept.unfinished:
        return
    if kept.host is None:
        turns = kept.unfinished
        yield error(
            "state.stranded",
            f"{count(len(turns), 'turn')} under way, and no host runs",
            _ids(turns),
            Fix(text="Start a host: it takes them up where they were", command="gateway serve"),
        )
        return
    served = {str(name) for name in items_of(kept.status.get("agents"))}
    lost = [row for row in kept.unfinished if text_of(row.get("agent")) not in served]
    yield from _unserved(lost, served)
    still = [row for row in kept.unfinished if row not in lost and _still(row, seen, kept)]
    if still:
        yield warning(
            "state.stranded",
            f"{count(len(still), 'turn')} didn't get on for over {_longest(seen):.0f} s",
            _ids(still),
            Fix(
                text="Look what it does; cancel it if it doesn't come back",
                command=f"gateway turns show {text_of(still[0].get('turn_id'))}",
            ),
        )


def unanswerable(seen: Seen) -> Iterator[Finding]:
    """Requests of an agent that the host doesn't have: whoever answers them gets nowhere."""
    kept = seen.kept
    if kept is None or kept.host is None:
        return
    served = {str(name) for name in items_of(kept.status.get("agents"))}
    lost = [row for row in kept.approvals if text_of(row.get("agent")) not in served]
    yield from _unserved(lost, served, "request")


def _unserved(
    rows: Sequence[JsonObject], served: set[str], what: str = "turn"
) -> Iterator[Finding]:
    if rows:
        name = text_of(rows[0].get("agent"))
        yield error(
            "state.stranded",
            f"{count(len(rows), what)} of the agent {name}, which this host doesn't have",
            f"{_ids(rows)}; the host has {', '.join(sorted(served)) or 'none'}",
            Fix(
                text=f"Serve the agent under the name {name} again until they are done",
                command="gateway serve",
            ),
        )


def _still(row: JsonObject, seen: Seen, kept: Kept) -> bool:
    quiet = (seen.now - whole(row.get("moved_at"))) / 1000
    if row.get("state") == "queued":
        busy = whole(kept.status.get("queued")) or _others(row, kept)
        return not busy and quiet > MOMENT
    return quiet > _longest(seen)


def _others(row: JsonObject, kept: Kept) -> bool:
    """A turn waits for the one before it in its session."""
    return any(
        other.get("state") == "running" and other.get("session") == row.get("session")
        for other in kept.unfinished
    )


def _longest(seen: Seen) -> float:
    """As long as the host lets a turn be silent, and some more to end it."""
    return seen.settings.turn_idle + MOMENT


def _ids(rows: Sequence[JsonObject]) -> str:
    shown = [text_of(row.get("turn_id")) for row in rows[:NAMED]]
    return ", ".join(shown) + (f" and {len(rows) - NAMED} more" if len(rows) > NAMED else "")
