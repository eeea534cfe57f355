"""The command: a temporary state directory, the scenes in order, an exit code that can be trusted."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

import gateway
from gateway.cli.base import Command, pass_out
from gateway.cli.demo.hosting import HostProcess
from gateway.cli.demo.stage import Stage
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import quieten

if TYPE_CHECKING:
    from gateway.playground.mail.dovecot import Choice

PAYMENT_SECONDS = 0.6
"""How long the payments provider takes to answer: time enough to die in."""


@click.command(cls=Command, short_help="See it survive: half a minute, no key, no network.")
@click.option("--keep", is_flag=True, help="Keep the state directory, to look around in it.")
@click.option(
    "--mail",
    type=click.Choice(["embedded", "dovecot"]),
    default="embedded",
    help="Who has the support inbox: the embedded server, which is always there, or Dovecot.",
)
@pass_out
def demo(out: Out, keep: bool, mail: Choice) -> None:
    """Slack, with a question in a thread and a refund that a button approves, over three kill -9; a
    denial by way of the API; many conversations at once; a digest on Monday at nine; and a customer's
    mail.

    Always scripted, whatever keys are set. Each line marked ✓ was checked, not assumed; the exit
    code is 0 only if all of them held.
    """
    from gateway.release import version

    quieten(out)
    agent = Path(gateway.__file__).parents[1] / "agent"
    if not (agent / "agent.py").is_file():
        raise Problem("demo", f"the demo agent isn't at {agent}", fix="pip install june-gateway")
    state = Path(tempfile.mkdtemp(prefix="gateway-demo-"))
    stage = Stage(out)
    stage.open(version(), str(state))
    failed = True
    try:
        failed = not asyncio.run(_run(stage, state, agent, mail))
    except KeyboardInterrupt:
        failed = False  # nothing went wrong that would be worth looking at
        raise
    finally:
        if keep or failed:
            out.note(f"kept: {state}   (GATEWAY_STATE={state} gateway turns)")
        else:
            shutil.rmtree(state, ignore_errors=True)
    if failed:
        raise Finished(Exit.FAILURE)


async def _run(stage: Stage, state: Path, agent: Path, mail: Choice) -> bool:
    extra = {"PAYMENTS_STUB_SECONDS": str(PAYMENT_SECONDS)}
    host = HostProcess(state, state / "agent", secrets.token_urlsafe(24), extra)
    await host.prepare()
    # While another process imports what hosts are made of, this one does so with the scenes.
    from gateway.cli.demo.digest import moved_in
    from gateway.cli.demo.office import open_office
    from gateway.cli.demo.post import open_post
    from gateway.cli.demo.scenes import play

    async with open_office() as office, open_post(office, mail) as post:
        approvers = ",".join(("demo:leads:", *office.leads))
        host.lend({"REFUND_APPROVERS": approvers, **office.settings})
        await asyncio.to_thread(moved_in, agent, state, office.ops.id, post.approvals.id)
        try:
            await play(stage, host, office, post, state)
        finally:
            await host.stop()
        return stage.close(host.kills)
