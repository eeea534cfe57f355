"""``gateway ask``: one turn, asked and answered."""

from __future__ import annotations

import secrets
import sys

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.common import AGENT, SEARCHED, the_agent
from gateway.cli.desk import Desk
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import at_desk
from gateway.cli.talk.card import FORGOTTEN, boolean, card, command
from gateway.cli.talk.follow import Address, Follower
from gateway.cli.talk.keys import new_session
from gateway.cli.told import object_of, text_of
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject


@click.command(cls=Command, short_help="Ask once and print the answer.")
@click.argument("message")
@AGENT
@click.option("--session", metavar="KEY", help="Continue this conversation; a new one otherwise.")
@click.option("--turn-id", metavar="ID", help="Name the turn: the same id never runs twice.")
@pass_out
def ask(
    out: Out, message: str, agent: str | None, session: str | None, turn_id: str | None
) -> None:
    """Ask MESSAGE (``-`` reads it from stdin) and wait for the answer.

    The answer is on stdout, everything else on stderr. Exit code 10 means that the turn waits for a
    person; the command that answers it is printed.
    """
    text = sys.stdin.read() if message == "-" else message
    if not text.strip():
        raise Problem("usage", "there is nothing to ask", fix='gateway ask "hello"')
    key = session or new_session()
    name = turn_id or f"turn_{secrets.token_hex(12)}"
    with at_desk(out, works=True) as (portal, desk):
        chosen = portal.call(the_agent(desk, agent))
        portal.call(_start(desk, (chosen, key, name), text))
        follower = Follower(out, portal, desk, (chosen, key, name), aside=True)
        interrupted = follower.run()
        snapshot = portal.call(desk.snapshot(chosen, key, name))
    if out.json:
        out.data(_result(chosen, key, snapshot, kept=desk.keeps))
    elif snapshot.get("state") == "suspended":
        request = object_of(snapshot.get("request"))
        card(out, request)
        out.say(f"  {command(request) if desk.keeps else FORGOTTEN}")
    if interrupted:
        raise Finished(Exit.INTERRUPTED)
    match snapshot.get("state"):
        case "completed":
            return
        case "suspended":
            raise Finished(Exit.PARKED)
        case _:
            raise Finished(Exit.FAILURE)


async def _start(desk: Desk, turn: Address, text: str) -> None:
    agent, session, turn_id = turn
    try:
        await desk.start(agent, session, text, turn_id=turn_id)
    except (Problem, GatewayError) as error:
        if error.code != "session_suspended":
            raise
        waiting = await desk.approvals(limit=SEARCHED)
        for row in waiting:
            if (row.get("agent"), row.get("session")) == (agent, session):
                raise Problem(
                    error.code,
                    f"{session} waits for a person first: {text_of(row.get('prompt'))}",
                    fix=f"gateway approvals show {text_of(row.get('id'))}",
                    exit_code=Exit.CONFLICT,
                ) from error
        raise


def _result(agent: str, session: str, snapshot: JsonObject, *, kept: bool) -> JsonObject:
    """With the command that answers, unless there will be nothing left to answer."""
    told: JsonObject = {"agent": agent, "session": session, **snapshot}
    if snapshot.get("state") == "suspended" and kept:
        request = object_of(snapshot.get("request"))
        told["approve" if boolean(request) else "answer"] = command(request)
    return told
