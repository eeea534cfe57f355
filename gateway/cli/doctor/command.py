"""``gateway doctor``: every fault that can be seen from here, each with the exact way out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.doctor.examine import examine
from gateway.cli.doctor.finding import Area, Finding, Fix, error
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished
from gateway.cli.seat import quieten, settings
from gateway.config import SettingsError
from gateway.engine.kinds import Json
from gateway.host.words.text import count

AREAS: tuple[Area, ...] = ("agent", "slack", "email", "state")


@click.command(cls=Command, short_help="What is wrong, and how to mend it.")
@click.argument("areas", nargs=-1, type=click.Choice(AREAS), metavar="[agent|slack|email|state]…")
@click.option("--online", is_flag=True, help="Ask Slack and the mail servers, too.")
@click.option("--probe", is_flag=True, help="Send one mail to ourselves, and see whether it comes.")
@pass_out
def doctor(out: Out, areas: tuple[Area, ...], online: bool, probe: bool) -> None:
    """Look at settings, agent, store, host, Slack and the inbox, and say what is wrong. Nothing is
    changed; but for --probe, nothing is sent.

    Without an area all of them. Exit code 3 when there is an error, warnings alone are 0.
    """
    try:
        chosen = settings(out)
    except SettingsError as wrong:
        quieten(out)
        found = [_setting(one) for one in wrong.problems]
    else:
        with out.status("looking…"):
            found = asyncio.run(examine(chosen, areas, online=online, probe=probe))
    failed = any(one.severity == "error" for one in found)
    if out.json:
        told: list[Json] = [one.as_json() for one in found]
        out.data({"ok": not failed, "online": online, "findings": told})
    else:
        _show(out, found, asked=online or probe)
    if failed:
        raise Finished(Exit.CHECK)


def _setting(problem: str) -> Finding:
    how = Fix(text="Correct it where it stands", command="gateway config show --origin")
    return error("settings.wrong", "a setting is wrong, so nothing starts", problem, how)


def _show(out: Out, found: Sequence[Finding], *, asked: bool) -> None:
    for before, one in zip((None, *found), found, strict=False):
        # Of many mistakes of a kind, what holds for all of them is said with the first.
        told: tuple[str | None, ...] = ()
        if before is not None and before.id == one.id:
            told = (before.evidence, before.fix.command, before.fix.url)
        mark, style = ("✗ ", "red") if one.severity == "error" else ("! ", "yellow")
        out.say((mark, style), (f"{one.id}  ", "bold"), one.title)
        if one.evidence not in told:
            out.block("  ", one.evidence, "dim")
        out.say(("  fix: ", "dim"), one.fix.text)
        for more in (one.fix.command, one.fix.url):
            if more and more not in told:
                out.say("       ", more)
    if not found:
        out.say(("✓ ", "green"), "healthy")
    else:
        errors = sum(one.severity == "error" for one in found)
        out.note(f"{count(errors, 'error')}, {count(len(found) - errors, 'warning')}")
    if not asked:
        out.note("neither Slack nor a mail server was asked; with --online they are")
