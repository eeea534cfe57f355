"""``gateway deliveries``: what is shown where, what couldn't be, and trying that again."""

from __future__ import annotations

from collections.abc import Awaitable

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import LIMIT, called, cut, listing, now
from gateway.cli.out import Out, Part
from gateway.cli.problem import Problem
from gateway.cli.seat import at_desk
from gateway.cli.text import Style, arguments
from gateway.cli.told import object_of, objects_of, text_of, whole
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import iso, one_line

STATES: dict[str, tuple[str, Style]] = {
    "due": ("·", "cyan"),
    "sending": ("▸", "cyan"),
    "resting": ("⏸", "yellow"),
    "done": ("✓", "green"),
    "dead": ("✗", "red"),
    "silent": ("–", "dim"),
}
ID = click.argument("id", metavar="DELIVERY", type=click.IntRange(1, 10**18 - 1))


@click.group(cls=ListGroup, short_help="List, show and retry deliveries.")
def deliveries() -> None:
    """What is shown where: a turn's answer in its thread, a request's card, a note."""


@deliveries.command("list")
@click.option("--state", type=click.Choice([*STATES]), help="Only those in this state.")
@click.option("--turn", metavar="TURN", help="Only those of the turn with this whole id.")
@LIMIT
@pass_out
def list_deliveries(out: Out, state: str | None, turn: str | None, limit: int) -> None:
    """The latest deliveries."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.deliveries(state=state, turn_id=turn, limit=limit))
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        return [
            str(whole(row.get("id"))),
            (text_of(row.get("target_name")) if out.terminal else "") or text_of(row.get("source")),
            text_of(row.get("turn_id")),
            text_of(row.get("part")),
            _state(row, out),
            out.when(whole(row.get("at")), at),
            one_line(text_of(row.get("error")), 200),
        ]

    columns = ("DELIVERY", "CHANNEL", "TURN", "SHOWS", "STATE", "SINCE", "TROUBLE")
    none = "nothing was to be delivered." if state is None else f"no delivery is {state}."
    if listing(out, found, columns, cells, empty=none):
        cut(out, found, limit)


@deliveries.command("show")
@ID
@pass_out
def show(out: Out, id: int) -> None:  # noqa: A002
    """One delivery: where it goes, how far it came, and what stands in its way."""
    with at_desk(out) as (portal, desk):
        row = portal.call(_asked(desk.delivery(id), id))
    if out.json:
        out.data(row)
        return
    _tell(out, row)


@deliveries.command("retry")
@ID
@pass_out
def retry(out: Out, id: int) -> None:  # noqa: A002
    """Try a dead delivery again. It shows the state of then, not of when it died."""
    with at_desk(out) as (portal, desk):
        row = portal.call(_asked(desk.retry_delivery(id), id))
    if out.json:
        out.data(row)
        return
    out.say(("✓", "green"), f" delivery {id} is due again")


async def _asked(work: Awaitable[JsonObject], id: int) -> JsonObject:  # noqa: A002
    """A host tells the way out in its own terms, a route; here it is a command."""
    fixes = {"not_found": "gateway deliveries list", "not_dead": f"gateway deliveries show {id}"}
    try:
        return await work
    except (Problem, GatewayError) as error:
        if error.code not in fixes:
            raise
        status = 404 if error.code == "not_found" else 409
        raise Problem(error.code, str(error), fix=fixes[error.code], status=status) from error


def _state(row: JsonObject, out: Out) -> Part:
    state = text_of(row.get("state"))
    mark, style = STATES.get(state, (" ", ""))
    return (f"{mark} {state}" if out.terminal else state), style


def _place(target: JsonObject) -> str:
    """``C0123/1700000000.000100 in T0123``, or all that the target says where it names no channel."""
    channel, home = text_of(target.get("channel")), text_of(target.get("installation"))
    if not channel:
        return one_line(text_of(target.get("address")), 300) or arguments(target, 300)
    thread = text_of(target.get("thread_ts")) or text_of(target.get("thread"))
    place = f"{channel}/{thread}" if thread else channel
    return one_line(f"{place} in {home}" if home else place, 300)


def _tell(out: Out, row: JsonObject) -> None:
    told: list[tuple[str, Part]] = [
        ("delivery", str(whole(row.get("id")))),
        ("shows", f"{text_of(row.get('part'))} of turn {text_of(row.get('turn_id'))}"),
        ("session", f"{called(row, 'session')}, agent {text_of(row.get('agent'))}"),
        (
            "goes to",
            f"{text_of(row.get('source'))}: {_place(object_of(row.get('target')))}",
        ),
        ("state", _state(row, out)),
        ("up to date", "yes" if row.get("shown") == row.get("wanted") else "no"),
        ("since", iso(whole(row.get("at")))),
    ]
    if where := text_of(row.get("target_name")):
        told.insert(4, ("that is", where))
    if ref := text_of(row.get("ref")):
        told.append(("message", ref))
    if row.get("state") == "due":
        told.append(("next try", iso(whole(row.get("next_try")))))
    if trouble := text_of(row.get("error")):
        told.append(("trouble", one_line(trouble, 500)))
    if revive := text_of(row.get("revive_on")):
        told.append(("waits for", revive))
    out.fields(told)
    for part in objects_of(row.get("parts")):
        if part.get("state") == "gone" and not part.get("ref"):
            continue  # it never came to be
        ref = text_of(part.get("ref")) or "-"
        out.say(f"  {text_of(part.get('kind'))} {ref} ", (text_of(part.get("state")), "dim"))
    if row.get("state") == "dead":
        out.say()
        out.say(f"  gateway deliveries retry {whole(row.get('id'))}")
