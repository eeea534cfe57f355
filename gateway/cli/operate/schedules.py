"""``gateway schedules``: when they run next, what came of it last, and whether that arrived."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime
from zoneinfo import ZoneInfo

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import listing, named, now, state_part
from gateway.cli.out import Out, Part, plain, style
from gateway.cli.problem import Problem
from gateway.cli.seat import at_desk
from gateway.cli.told import object_of, text_of, whole
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import distance, one_line

NAME = click.argument("name", metavar="SCHEDULE")
FIXES = {
    "not_found": "gateway schedules list",
    "deliver_unsupported": "start a host that has its channel: gateway serve",
}


@click.group(cls=ListGroup, short_help="List, run, pause and resume schedules.")
def schedules() -> None:
    """What the agent does by itself: when next, what came of it last, and whether that arrived."""


@schedules.command("list")
@pass_out
def list_schedules(out: Out) -> None:
    """Each schedule with its next and its last run."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.schedules())
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        last = object_of(row.get("last"))
        return [
            text_of(row.get("name")),
            f"{text_of(row.get('told'))} {text_of(row.get('timezone'))}",
            _next(row, at, out),
            out.when(whole(last.get("due")), at) if last else "",
            came_of(row, out),
            delivered(last, out),
        ]

    columns = ("SCHEDULE", "RUNS", "NEXT", "LAST", "CAME OF IT", "DELIVERED")
    listing(out, found, columns, cells, empty="the agent has no schedules.")


@schedules.command("run")
@NAME
@pass_out
def run(out: Out, name: str) -> None:
    """Fire it now, whatever the clock says. Its next run stays as it is."""
    with at_desk(out, works=True) as (portal, desk):
        fired = portal.call(_asked(desk.run_schedule(name)))
    if out.json:
        out.data(fired)
        return
    if turn := text_of(fired.get("turn_id")):
        out.say(("✓", "green"), f" {name} runs as turn {turn}")
        out.say(("  follow it: ", "dim"), f"gateway turns show {turn}")
    else:
        out.say(("–", "dim"), f" {name} has nothing to ask now; no turn was started")


@schedules.command("pause")
@NAME
@pass_out
def pause(out: Out, name: str) -> None:
    """Pass its runs over from now on, until it is resumed."""
    with at_desk(out, keeps=True) as (portal, desk):
        row = portal.call(_asked(desk.pause_schedule(name)))
    if out.json:
        out.data(row)
        return
    out.say(("✓", "green"), f" {name} is paused; go on with: gateway schedules resume {name}")


@schedules.command("resume")
@NAME
@pass_out
def resume(out: Out, name: str) -> None:
    """Run it again, from now on. What was passed over meanwhile isn't caught up."""
    with at_desk(out, keeps=True) as (portal, desk):
        row = portal.call(_asked(desk.resume_schedule(name)))
    if out.json:
        out.data(row)
        return
    out.say(("✓", "green"), f" {name} runs next {_next(row, now(), out)}")


async def _asked(work: Awaitable[JsonObject]) -> JsonObject:
    """A host tells the way out in its own terms, a route; here it is a command."""
    try:
        return await work
    except (Problem, GatewayError) as error:
        if error.code not in FIXES:
            raise
        status = 404 if error.code == "not_found" else 501
        raise Problem(error.code, str(error), fix=FIXES[error.code], status=status) from error


# -- words -----------------------------------------------------------------------------------------
def _next(row: JsonObject, at: int, out: Out) -> str:
    """As the schedule's own clock shows it, and in how long."""
    if by := text_of(row.get("paused_by")):
        return f"paused by {by}"
    due = whole(row.get("next"))
    local = datetime.fromtimestamp(due / 1000, ZoneInfo(text_of(row.get("timezone"))))
    if not out.terminal:
        return local.isoformat(timespec="minutes")
    return f"{local:%a %d %b %H:%M} ({distance(due, at)})"


def came_of(row: JsonObject, out: Out) -> Part:
    """What came of the last run, in a few words."""
    last = object_of(row.get("last"))
    if not last:
        return "never ran", "dim"
    outcome, why = text_of(last.get("outcome")), one_line(text_of(last.get("why")), 200)
    turn = text_of(last.get("turn_id"))
    if outcome == "failed":
        return _marked(f"failed: {why}" + (f" (turn {turn})" if turn else ""), "✗", out), "red"
    if outcome == "skipped":
        return _marked(f"skipped: {why}", "–", out), "dim"
    if quiet := text_of(last.get("quiet")):
        return _marked(
            f"nothing to report: {one_line(quiet, 200)} (turn {turn})", "✓", out
        ), "green"
    state = state_part(text_of(last.get("state")), out)
    late = f", {why}" if why else ""
    return f"{plain(state)}{late} (turn {turn})", style(state)


def delivered(last: JsonObject, out: Out) -> Part:
    """Whether what it said arrived: only a message that the platform has counts. One that couldn't begin
    says that it couldn't."""
    row = object_of(last.get("delivery"))
    state, ref = text_of(row.get("state")), text_of(row.get("ref"))
    if state == "silent" or not row:
        return "", ""
    if ref and state in {"done", "resting"}:
        alert = "the alert: " if text_of(last.get("outcome")) == "failed" else ""
        return _marked(f"{alert}{named(row, 'ref', out)}", "✓", out), "green"
    if state == "dead":
        trouble = one_line(text_of(row.get("error")), 200)
        again = f"gateway deliveries retry {whole(row.get('id'))}"
        return _marked(f"no: {trouble} → {again}", "✗", out), "red"
    return _marked("not yet", "·", out), "cyan"


def _marked(text: str, mark: str, out: Out) -> str:
    return f"{mark} {text}" if out.terminal else text
