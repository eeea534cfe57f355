"""``gateway slack verify``: what it says before, and what came of it."""

from __future__ import annotations

import asyncio
import re
from contextlib import AsyncExitStack

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.check import agent_directory
from gateway.cli.desk import Desk
from gateway.cli.desk.choose import find_same
from gateway.cli.doctor.calls import Caller
from gateway.cli.doctor.verify.trial import Came, Trial, plan
from gateway.cli.exits import Exit
from gateway.cli.operate.manifest import needs, read_app
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.cli.seat import identity, settings
from gateway.config import Settings
from gateway.engine.kinds import Json

MARKS = {
    "ok": ("✓ ", "green"),
    "failed": ("✗ ", "red"),
    "skipped": ("– ", "dim"),
    "planned": ("· ", "dim"),
}


@click.command(cls=Command, short_help="Try the set-up for real, in one channel.")
@click.option("--channel", metavar="ID", required=True, help="Where: C0123ABCD; a quiet channel.")
@click.option("--post", is_flag=True, help="Do it. Without it, only say what would be done.")
@pass_out
def verify(out: Out, channel: str, post: bool) -> None:
    """Post, edit, stream and delete in a channel, and see that Slack tells the host of it.

    Without --post nothing is sent at all: it says what would be. Exit code 3 when a step fails.
    """
    if not re.fullmatch(r"[CDG][A-Z0-9]+", channel):
        raise Problem(
            "usage",
            f"{channel} is no channel's id",
            fix="copy it in Slack from the channel's details: --channel C0123ABCD",
        )
    chosen = settings(out)
    if not post:
        _show(out, [_told(out, one) for one in plan(channel)], post=False)
        out.note(f"nothing was sent; to do it: gateway slack verify --channel {channel} --post")
        return
    if chosen.slack_bot_token is None:
        raise Problem("config", "there is no token to try it with", fix="set SLACK_BOT_TOKEN")
    wanted = frozenset(needs(read_app(chosen, agent_directory(chosen.agent))))
    came = asyncio.run(_tried(out, chosen, chosen.slack_bot_token.value, channel, wanted))
    _show(out, came, post=True)
    if any(one.outcome == "failed" for one in came):
        raise Finished(Exit.CHECK)


async def _tried(
    out: Out, chosen: Settings, token: str, channel: str, wanted: frozenset[str]
) -> list[Came]:
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(Caller(chosen.slack_api_url))
        desk = await _host(chosen, stack)
        trial = Trial(slack=slack, token=token, channel=channel, needs=wanted, desk=desk)
        return [_told(out, came) async for came in trial.run()]


async def _host(chosen: Settings, stack: AsyncExitStack) -> Desk | None:
    host = await asyncio.to_thread(find_same, chosen)
    if host is None:
        return None
    from gateway.cli.desk.client import Client
    from gateway.cli.desk.remote import RemoteDesk

    client = Client(host.url, await asyncio.to_thread(host.token))
    await stack.enter_async_context(client)
    return RemoteDesk(client, identity(), lambda: find_same(chosen), patience=0.0)


def _told(out: Out, one: Came) -> Came:
    mark, style = MARKS[one.outcome]
    said = f"  {one.said}" if one.said else ""
    out.say((mark, style), (f"{one.step:<12}", "bold"), one.does, (said, "dim"))
    return one


def _show(out: Out, came: list[Came], *, post: bool) -> None:
    if out.json:
        steps: list[Json] = [one.as_json() for one in came]
        ok = not any(one.outcome == "failed" for one in came)
        out.data({"ok": ok, "posted": post, "steps": steps})
