"""``gateway sessions``: conversations, and where each one stands."""

from __future__ import annotations

import click

from gateway.cli.base import ListGroup, pass_out
from gateway.cli.commands.common import (
    AGENT,
    LIMIT,
    cut,
    find_session,
    listing,
    now,
    show_messages,
    state_part,
)
from gateway.cli.out import Out, Part
from gateway.cli.seat import at_desk
from gateway.cli.told import text_of, whole
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import count, distance


@click.group(cls=ListGroup, short_help="List, show and reset conversations.")
def sessions() -> None:
    """Conversations, each under its key."""


@sessions.command("list")
@AGENT
@click.option(
    "--status",
    type=click.Choice(["new", "idle", "running", "suspended", "resetting"]),
    help="Only those that stand so.",
)
@LIMIT
@pass_out
def list_sessions(out: Out, agent: str | None, status: str | None, limit: int) -> None:
    """The sessions that were active last."""
    with at_desk(out) as (portal, desk):
        found = portal.call(desk.sessions(agent=agent, status=status, limit=limit))
    at = now()

    def cells(row: JsonObject) -> list[Part]:
        return [
            text_of(row.get("session")),
            text_of(row.get("agent")),
            state_part(text_of(row.get("status")), out),
            str(whole(row.get("turns"))),
            out.when(whole(row.get("active_at")), at),
            text_of(row.get("session_name")),
        ]

    columns = ("SESSION", "AGENT", "STATUS", "TURNS", "ACTIVE", "WHERE")
    none = 'no sessions yet. start one: gateway ask "hello"'
    if listing(out, found, columns, cells, empty=none):
        cut(out, found, limit)


@sessions.command("show")
@click.argument("session")
@AGENT
@pass_out
def show(out: Out, session: str, agent: str | None) -> None:
    """A conversation's transcript; what a reset archived, under ``<session>#g<number>``."""
    key = session.partition("#g")[0]
    with at_desk(out) as (portal, desk):
        row = portal.call(find_session(desk, key, agent))
        name = text_of(row.get("agent"))
        messages = portal.call(desk.transcript(name, session))
    if key != session:  # how the conversation stands now says nothing about its archive
        row = {"session": session, "agent": name}
    if out.json:
        out.data({**row, "messages": [*messages]})
        return
    told: list[tuple[str, Part]] = [("session", session), ("agent", name)]
    if where := text_of(row.get("session_name")):
        told.append(("where", where))
    if key == session:
        told += [
            ("status", state_part(text_of(row.get("status")), out)),
            ("turns", count(whole(row.get("turns")), "turn")),
            ("active", distance(whole(row.get("active_at")), now())),
        ]
    out.fields(told)
    out.say()
    show_messages(out, messages)


@sessions.command("reset")
@click.argument("session")
@AGENT
@pass_out
def reset(out: Out, session: str, agent: str | None) -> None:
    """Archive a conversation and start it anew. Whatever runs or waits in it is cancelled."""
    with at_desk(out, works=True) as (portal, desk):
        row = portal.call(find_session(desk, session, agent))
        done = portal.call(desk.reset(text_of(row.get("agent")), session))
    if out.json:
        out.data(done)
        return
    out.say(("✓", "green"), f" {session} starts anew; the history is kept under ",
            text_of(done.get("previous_session")))  # fmt: skip
