"""``gateway why``: what became of something that came in, and by which rule."""

from __future__ import annotations

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.common import LIMIT, SEARCHED, called, cut, find_turn, now
from gateway.cli.desk import Desk
from gateway.cli.out import Out, Part
from gateway.cli.problem import Problem
from gateway.cli.seat import at_desk
from gateway.cli.told import text_of, whole
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import count
from gateway.intake.rules import meaning
from gateway.outbox.reference import reference_of

STYLE = {
    "accepted": ("✓", "green"),
    "queued": ("·", "cyan"),
    "held": ("⏸", "yellow"),
    "duplicate": ("–", "dim"),
    "loop": ("✗", "red"),
    "policy": ("✗", "yellow"),
}
_SHORTEST = 4
"""Characters that the beginning of an id needs."""


@click.command(cls=Command, short_help="Why an event did or didn't start a turn.")
@click.argument("what", metavar="EVENT|PLACE|TURN")
@click.option("--all", "every", is_flag=True, help="Also what came back of our own posts.")
@LIMIT
@pass_out
def why(out: Out, what: str, every: bool, limit: int) -> None:
    """The verdict on an event, by its id; or all of a place (a thread, also as <channel>:<ts>) or of a
    turn, by its id or by the reference that a person was given. It shows no message text. Of a place,
    what came back of our own posts is left out."""
    with at_desk(out) as (portal, desk):
        found = portal.call(verdicts_of(desk, what, limit, every=every))
        where = desk.where
        turn = "" if found else portal.call(_turn(desk, what))
    if turn:
        raise Problem(
            "not_found",
            f"{what} is the turn {turn}, and no event began it",
            fix=f"gateway turns show {turn}",
            status=404,
        )
    if not found:
        raise Problem(
            "not_found",
            f"no event, place or turn {what!r} is known at {where}",
            fix="gateway turns list",
            status=404,
        )
    if out.json:
        out.data([*found])
        return
    for place, row in enumerate(found):
        if place:
            out.say()
        _show(out, row)
    cut(out, found, limit)


async def verdicts_of(
    desk: Desk, what: str, limit: int, *, every: bool = False
) -> list[JsonObject]:
    """Whatever of the three it names, else what ends or begins so among the latest."""
    if named := await desk.verdicts(event=what, limit=limit):
        return named
    for named in (
        await desk.verdicts(place=what, limit=SEARCHED),
        await desk.verdicts(turn_id=what, limit=SEARCHED),
    ):
        if named:
            return _said(named, every)[:limit]
    latest = await desk.verdicts(limit=SEARCHED)
    found = [row for row in latest if _means(row, what)]
    return _said(found, every or any(_begins(row, what) for row in found))[:limit]


async def _turn(desk: Desk, what: str) -> str:
    """The turn that is named so, though nothing that came in began it: a schedule did, or a program."""
    try:
        return text_of((await find_turn(desk, what)).get("turn_id"))
    except (Problem, GatewayError):
        return ""


def _said(rows: list[JsonObject], every: bool) -> list[JsonObject]:
    """Without the echoes of our own posts, unless there is nothing else."""
    others = [row for row in rows if row.get("verdict") != "own_echo"]
    return rows if every else others or rows


def _begins(row: JsonObject, what: str) -> bool:
    return text_of(row.get("event")).startswith(what)


def _means(row: JsonObject, what: str) -> bool:
    place, turn = text_of(row.get("place")), text_of(row.get("turn_id"))
    if turn and reference_of(turn) == what:
        return True
    if len(what) < _SHORTEST:
        return False
    ending = f":{what}"
    return _begins(row, what) or place.endswith(ending) or turn.endswith(ending)


def _show(out: Out, row: JsonObject) -> None:
    word, rule = text_of(row.get("verdict")), text_of(row.get("rule"))
    mark, style = STYLE.get(word, ("–", ""))
    told = meaning(rule)
    because = f": {told}" + (f" ({rule})" if told != rule else "")
    copies = whole(row.get("copies"))
    rows: list[tuple[str, Part]] = [
        ("event", f"{text_of(row.get('event'))} from {text_of(row.get('source'))}"),
        ("verdict", (f"{mark} {word.replace('_', ' ')}{because}", style)),
    ]
    rows += [(n, called(row, n)) for n in ("place", "speaker", "session") if row.get(n)]
    if turn := text_of(row.get("turn_id")):
        rows.append(("turn", f"{turn} → gateway turns show {turn}"))
    if said := text_of(row.get("said")):
        rows.append(("told", f'"{said}"'))
    when = out.when(whole(row.get("at")), now())
    rows.append(
        (
            "when",
            when + (f", and {count(copies - 1, 'copy', 'copies')} since" if copies > 1 else ""),
        )
    )
    out.fields(rows)
