"""``gateway turns``: single turns, and what happened in each."""

from __future__ import annotations

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import (
    AGENT,
    LIMIT,
    called,
    cut,
    find_turn,
    listing,
    named,
    now,
    state_part,
)
from gateway.cli.out import Out, Part
from gateway.cli.seat import at_desk
from gateway.cli.timeline import clock, rows
from gateway.cli.told import object_of, text_of, whole
from gateway.engine.kinds import OPEN_STATES, JsonObject
from gateway.host.words.text import count, iso, one_line, span
from gateway.outbox.reference import reference_of

HANDY = 12
"""Characters up to which an id is shown to a person as it is."""
SESSION = click.option("--session", metavar="KEY", help="Only turns of this session.")


@click.group(cls=ListGroup, short_help="List, show and cancel turns.")
def turns() -> None:
    """Turns: what was asked, what was done, where each one stands."""


@turns.command("list")
@SESSION
@AGENT
@click.option(
    "--state",
    type=click.Choice(
        ["queued", "running", "suspended", "completed", "failed", "cancelled", "timed_out"]
    ),
    help="Only those in this state.",
)
@LIMIT
@pass_out
def list_turns(
    out: Out, session: str | None, agent: str | None, state: str | None, limit: int
) -> None:
    """The latest turns."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.turns(agent=agent, session=session, state=state, limit=limit))
    at = now()
    # What was asked is cut on a terminal; a pipe gets all of it.
    room = max(20, out.width - 60) if out.terminal else 1000

    def cells(row: JsonObject) -> list[Part]:
        return [
            _handle(row, out),
            named(row, "session", out),
            state_part(text_of(row.get("state")), out),
            out.when(whole(row.get("queued_at")), at),
            one_line(text_of(row.get("opening")), room),
            named(row, "speaker", out),
        ]

    columns = ("TURN", "SESSION", "STATE", "WHEN", "ASKED", "BY")
    none = 'no turns here. start one: gateway ask "hello"'
    if listing(out, found, columns, cells, empty=none):
        cut(out, found, limit)


def _handle(row: JsonObject, out: Out) -> str:
    """What names the turn to every command: on a terminal its reference, where that is shorter."""
    turn = text_of(row.get("turn_id"))
    return reference_of(turn) if out.terminal and len(turn) > HANDY else turn


@turns.command("show")
@click.argument("turn_id", metavar="TURN")
@SESSION
@AGENT
@pass_out
def show(out: Out, turn_id: str, session: str | None, agent: str | None) -> None:
    """A turn's timeline, from its event log. The beginning of an id is enough."""
    with at_desk(out) as (portal, desk):
        row = portal.call(find_turn(desk, turn_id, session, agent))
        address = (text_of(row.get("agent")), text_of(row.get("session")), text_of(row["turn_id"]))
        snapshot = portal.call(desk.snapshot(*address))
        events = portal.call(desk.logged(*address))
    if out.json:
        out.data({**row, **snapshot, "events": [*events]})
        return
    _head(out, row, snapshot)
    out.say()
    # In the order things happened; a line's time is when its step was committed.
    for event, line in rows(events, max(40, out.width - 34)):
        seq = f"{whole(event.get('seq')):>4}"
        if event.get("type") == "turn.failed":
            label = f"{seq}  {clock(event)}  {line.mark} {line.what:<10} "
            out.block((label, line.style), line.detail)
            continue
        parts: list[Part] = [(f"{seq}  {clock(event)}  ", "dim"), (f"{line.mark} ", line.style)]
        parts += [(f"{line.what:<10} ", line.style if line.what != "says" else "bold"), line.detail]
        out.say(*parts)
    _tail(out, row, snapshot)


def _head(out: Out, row: JsonObject, snapshot: JsonObject) -> None:
    usage = object_of(snapshot.get("usage"))
    tokens = f"{whole(usage.get('input'))} in, {whole(usage.get('output'))} out"
    calls = whole(usage.get("calls"))
    cost = text_of(snapshot.get("cost"))
    told: list[tuple[str, Part]] = [
        ("turn", text_of(row.get("turn_id"))),
        ("session", f"{called(row, 'session')}, agent {text_of(row.get('agent'))}"),
        ("state", state_part(text_of(snapshot.get("state")), out)),
        ("asked", one_line(text_of(row.get("opening")), max(20, out.width - 12))),
        *((("by", called(row, "speaker")),) if row.get("speaker") else ()),
        ("queued", iso(whole(snapshot.get("queued_at")))),
    ]
    started, ended = snapshot.get("started_at"), snapshot.get("ended_at")
    if started and ended:
        told.append(("took", span(max(0, whole(ended) - whole(started)))))
    told.append(("model", f"{count(calls, 'call')}, {tokens}" + (f", ${cost}" if cost else "")))
    if whole(row.get("attempts")) > 1:
        told.append(("attempts", str(whole(row.get("attempts")))))
    out.fields(told)


def _tail(out: Out, row: JsonObject, snapshot: JsonObject) -> None:
    request = object_of(snapshot.get("request"))
    if request and snapshot.get("state") == "suspended":
        out.say()
        out.say(("⏸ waits for a person: ", "yellow"), text_of(request.get("prompt")))
        out.say(f"  gateway approvals show {text_of(request.get('id'))}")


@turns.command("cancel")
@click.argument("turn_id", metavar="TURN")
@SESSION
@AGENT
@pass_out
def cancel(out: Out, turn_id: str, session: str | None, agent: str | None) -> None:
    """Ask that a turn end. What it has committed stays; a call under way finishes first."""
    with at_desk(out, works=True) as (portal, desk):
        row = portal.call(find_turn(desk, turn_id, session, agent))
        address = (text_of(row.get("agent")), text_of(row.get("session")), text_of(row["turn_id"]))
        before = text_of(portal.call(desk.snapshot(*address)).get("state"))
        portal.call(desk.cancel(*address))
        snapshot = portal.call(desk.snapshot(*address))
    if out.json:
        out.data(snapshot)
        return
    state = text_of(snapshot.get("state"))
    if before not in OPEN_STATES:
        out.say(("–", "dim"), f" {address[2]} had already ended: {before}")
        return
    told = "is cancelled" if state == "cancelled" else f"was asked to end; it is {state}"
    out.say(("✓", "green"), f" {address[2]} {told}")
