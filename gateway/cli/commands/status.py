"""``gateway status`` and ``gateway audit``: for whoever is on call, now and afterwards."""

from __future__ import annotations

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.common import AGENT, LIMIT, listing, now
from gateway.cli.out import Out, Part
from gateway.cli.seat import at_desk
from gateway.cli.told import items_of, objects_of, text_of, whole
from gateway.engine.kinds import Json, JsonObject
from gateway.host.words.text import count, distance


@click.command(cls=Command, short_help="One screen: what runs, what waits, what is off.")
@pass_out
def status(out: Out) -> None:
    """What runs, what waits for a person, which channels are on."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.status())
        where = desk.where
    if out.json:
        out.data(found)
        return
    out.fields(_rows(found, where))


def _rows(found: JsonObject, where: str) -> list[tuple[str, Part]]:
    version = text_of(found.get("version"))
    problems = _texts(found.get("problems"))
    health: Part = ("✓ ready", "green") if found.get("ready") else ("✗ not ready", "red")
    if problems:
        health = (f"✗ {'; '.join(problems)}", "red" if found.get("version") else "yellow")
    rows: list[tuple[str, Part]] = [
        ("gateway", where + (f" · version {version}" if version else "")),
        ("health", health),
        ("store", text_of(found.get("store"))),
    ]
    if agents := _texts(found.get("agents")):
        rows.append(("agents", ", ".join(agents)))
    rows += [("turns", _turns(found)), ("approvals", _approvals(found))]
    if dead := whole(found.get("dead_deliveries")):
        more = "✗ %d dead   gateway deliveries list --state dead"
        rows.append(("deliveries", (more % dead, "red")))
    for channel in objects_of(found.get("channels")):
        rows.append((text_of(channel.get("name")), _channel(channel)))
        rows += [_standing(line) for line in objects_of(channel.get("standing"))]
    if held := whole(found.get("held_mail")):
        rows.append(("held mail", (f"⏸ {held} waiting → gateway mail list --held", "yellow")))
    return rows


def _standing(line: JsonObject) -> tuple[str, Part]:
    """How a channel is set up, below it."""
    at = line.get("at")
    heard = f" · last heard {distance(whole(at), now())}" if isinstance(at, int) else ""
    return f"  {text_of(line.get('name'))}", (f"{text_of(line.get('told'))}{heard}", "dim")


def _turns(found: JsonObject) -> str:
    return f"{whole(found.get('running'))} running, {whole(found.get('queued'))} queued"


def _approvals(found: JsonObject) -> Part:
    waiting = whole(found.get("approvals"))
    if not waiting:
        return "none waiting"
    oldest = distance(whole(found.get("oldest_approval")), now())
    return (
        f"⏸ {count(waiting, 'request')} waiting, the oldest from {oldest} → gateway approvals list",
        "yellow",
    )


def _channel(channel: JsonObject) -> Part:
    if problem := text_of(channel.get("problem")):
        return f"✗ down · {problem}", "red"
    if channel.get("on"):
        return "✓ on", "green"
    off = text_of(channel.get("off"))
    return f"off · {off}" if off else "off", "dim"


def _texts(found: Json) -> list[str]:
    return [text_of(item) for item in items_of(found)]


@click.command(cls=Command, short_help="What somebody may have to answer for.")
@click.option("--session", metavar="KEY", help="Only what concerns this session.")
@click.option("--turn", metavar="TURN", help="Only what concerns this turn.")
@AGENT
@click.option(
    "--before", type=click.IntRange(1, 10**18 - 1), metavar="NUMBER", help="Only rows below it."
)
@LIMIT
@pass_out
def audit(
    out: Out,
    session: str | None,
    turn: str | None,
    agent: str | None,
    before: int | None,
    limit: int,
) -> None:
    """The latest audit rows: calls whose outcome nobody knows, and what else was done that an
    operator may have to look into. They hold no text and outlive the conversation."""
    with at_desk(out) as (portal, desk):
        found = portal.call(
            desk.audit(agent=agent, session=session, turn=turn, before=before, limit=limit)
        )
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        return [
            str(whole(row.get("number"))),
            out.when(whole(row.get("at")), at),
            *(text_of(row.get(name)) for name in ("kind", "session", "turn_id", "subject")),
            *(text_of(row.get(name)) for name in ("outcome", "by")),
        ]

    columns = ("NUMBER", "WHEN", "KIND", "SESSION", "TURN", "SUBJECT", "OUTCOME", "BY")
    if listing(out, found, columns, cells, empty="nothing here") and len(found) >= limit:
        out.note(f"the latest {limit}; older ones with --before {whole(found[-1].get('number'))}")
