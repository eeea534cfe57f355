"""What waits for somebody: dead letters, requests that nobody answers."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.cli.told import text_of, whole
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import count, distance, one_line

LONG = 24 * 3600
"""Seconds after which a request has been forgotten by those who might answer it."""


def dead_letters(seen: Seen) -> Iterator[Finding]:
    rows = () if seen.kept is None else seen.kept.dead
    withheld = [row for row in rows if _withheld(row)]
    if withheld:
        talk = text_of(withheld[0].get("revive_on")).rpartition(":")[2]
        yield warning(
            "state.withheld",
            f"{count(len(withheld), 'answer')} withheld: a colleague speaks in the conversation",
            f"delivery {whole(withheld[0].get('id'))}: {one_line(text_of(withheld[0].get('error')), 160)}",
            Fix(
                text="Have the agent speak again, and it is sent; or leave it, if all is said",
                command=f"gateway mail handback {talk}",
            ),
        )
    dead = [row for row in rows if not _withheld(row)]
    if not dead:
        return
    first = dead[0]
    number = whole(first.get("id"))
    yield error(
        "state.dead",
        f"{count(len(dead), 'answer')} couldn't be delivered, and somebody waits for it",
        f"delivery {number}: {one_line(text_of(first.get('error')), 160)}",
        Fix(
            text="Mend the reason, then send each again; all of them: gateway deliveries list --state"
            " dead",
            command=f"gateway deliveries retry {number}",
        ),
    )


def _withheld(row: JsonObject) -> bool:
    return text_of(row.get("error")).startswith("taken_over:")


def approvals(seen: Seen) -> Iterator[Finding]:
    rows = () if seen.kept is None else seen.kept.approvals
    old = [row for row in rows if (seen.now - whole(row.get("created_at"))) / 1000 > LONG]
    if old:
        asked = distance(whole(old[0].get("created_at")), seen.now)
        yield warning(
            "state.approvals",
            f"{count(len(old), 'request')} unanswered for over a day",
            f"the oldest was asked {asked}: {one_line(text_of(old[0].get('prompt')), 120)}",
            Fix(
                text="Answer it, or see that those who may decide hear of it",
                command=f"gateway approvals show {text_of(old[0].get('id'))}",
            ),
        )
