"""``gateway ask``: one turn, asked and answered."""

from __future__ import annotations

import secrets
import sys

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.common import AGENT, the_agent
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import at_desk
from gateway.cli.talk.card import card
from gateway.cli.talk.follow import Follower
from gateway.cli.talk.keys import new_session
from gateway.cli.timeline import object_of, text_of
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
    person; the command that approves it is printed.
    """
    text = sys.stdin.read() if message == "-" else message
    if not text.strip():
        raise Problem("usage", "there is nothing to ask", fix='gateway ask "hello"')
    key = session or new_session()
    name = turn_id or f"turn_{secrets.token_hex(12)}"
    with at_desk(out, works=True) as (portal, desk):
        chosen = portal.call(the_agent(desk, agent))
        portal.call(desk.start(chosen, key, text, turn_id=name))
        follower = Follower(out, portal, desk, (chosen, key, name), aside=True)
        interrupted = follower.run()
        snapshot = portal.call(desk.snapshot(chosen, key, name))
    if out.json:
        out.data(_result(chosen, key, snapshot))
    elif snapshot.get("state") == "suspended":
        _parked(out, snapshot)
    if interrupted:
        raise Finished(Exit.INTERRUPTED)
    match snapshot.get("state"):
        case "completed":
            return
        case "suspended":
            raise Finished(Exit.PARKED)
        case _:
            raise Finished(Exit.FAILURE)


def _result(agent: str, session: str, snapshot: JsonObject) -> JsonObject:
    told: JsonObject = {"agent": agent, "session": session, **snapshot}
    if snapshot.get("state") == "suspended":
        told["approve"] = f"gateway approvals approve {_request_id(snapshot)}"
    return told


def _request_id(snapshot: JsonObject) -> str:
    return text_of(object_of(snapshot.get("request")).get("id"))


def _parked(out: Out, snapshot: JsonObject) -> None:
    card(out, object_of(snapshot.get("request")))
    out.say(f"  gateway approvals approve {_request_id(snapshot)}")
