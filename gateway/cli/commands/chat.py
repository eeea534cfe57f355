"""``gateway chat``: a conversation in the terminal; a script when stdin is no terminal."""

from __future__ import annotations

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.common import AGENT, the_agent
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished
from gateway.cli.seat import at_desk
from gateway.cli.talk.conversation import Conversation
from gateway.cli.talk.keys import new_session


@click.command(cls=Command, short_help="Talk to an agent.")
@AGENT
@click.option("--session", metavar="KEY", help="Continue this conversation; a new one otherwise.")
@pass_out
def chat(out: Out, agent: str | None, session: str | None) -> None:
    """Talk to an agent. Ctrl-C cancels the turn that runs; Ctrl-D leaves.

    What needs a person's word is shown whole and asked here. Fed from a pipe, every line is a message
    (or the answer to an approval: ``y``, ``n``, ``n because …``).
    """
    with at_desk(out, works=True) as (portal, desk):
        chosen = portal.call(the_agent(desk, agent))
        key = session or new_session()
        parked = Conversation(out, portal, desk, chosen, key).run()
    if parked:
        raise Finished(Exit.PARKED)
