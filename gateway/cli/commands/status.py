"""``gateway status``: one screen for whoever is on call."""

from __future__ import annotations

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.common import now
from gateway.cli.out import Out, Part
from gateway.cli.seat import at_desk
from gateway.cli.text import ago, count
from gateway.cli.timeline import object_of, text_of, whole
from gateway.engine.kinds import Json, JsonObject


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
    rows += [
        (text_of(channel.get("name")), _channel(channel))
        for channel in map(object_of, _items(found.get("channels")))
    ]
    return rows


def _turns(found: JsonObject) -> str:
    return f"{whole(found.get('running'))} running, {whole(found.get('queued'))} queued"


def _approvals(found: JsonObject) -> Part:
    waiting = whole(found.get("approvals"))
    if not waiting:
        return "none waiting"
    oldest = ago(whole(found.get("oldest_approval")), now())
    return (
        f"⏸ {count(waiting, 'request')} waiting, the oldest from {oldest} → gateway approvals list",
        "yellow",
    )


def _channel(channel: JsonObject) -> Part:
    if channel.get("on"):
        return "✓ on", "green"
    missing = ", ".join(_texts(channel.get("missing")))
    return f"off · set {missing}" if missing else "off", "dim"


def _items(found: Json) -> list[Json]:
    return found if isinstance(found, list) else []


def _texts(found: Json) -> list[str]:
    return [text_of(item) for item in _items(found)]
