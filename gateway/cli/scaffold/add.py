"""``gateway add``: one more tool, schedule or channel, each with a test that it passes."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import available_timezones

import click

from gateway.cli.base import Command, Group, pass_out
from gateway.cli.commands.check import agent_directory
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Problem
from gateway.cli.scaffold.files import rendered, write
from gateway.cli.seat import settings
from gateway.definition import Schedule
from gateway.definition.problems import Findings
from gateway.definition.schedules import Place, check, near_zone
from gateway.definition.skills import TOOL as READ_SKILL
from gateway.values import needed

CHANNELS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "slack": (
        (
            "gateway dev  # talk to it in a Slack of its own, without an account",
            "gateway slack manifest > manifest.yml  # for a workspace: make an app of it",
        ),
        ("gateway doctor slack",),
    ),
    "email": (
        ("gateway dev  # write to it from mailboxes of its own, without an account",),
        ("gateway doctor email --online  # docs/howto/email.md has it step by step",),
    ),
}
"""What comes next, before and after its settings are set."""


@click.group(cls=Group, short_help="Add a tool, a schedule or a channel.")
def add() -> None:
    """Add to the agent of this folder. Nothing that is there is written over."""


@add.command(cls=Command, short_help="Add a tool.")
@click.argument("name")
@click.option("--approval", is_flag=True, help="A person agrees before it does anything.")
@pass_out
def tool(out: Out, name: str, approval: bool) -> None:
    """Add the tool NAME: agent/tools/NAME.py, and its test."""
    agent = _agent(out)
    _check_name(name, "tool")
    if name == READ_SKILL:
        raise Problem(
            "usage", f"{READ_SKILL} is a tool of the gateway's own", fix="gateway add tool <name>"
        )
    kind = "tool_approval" if approval else "tool"
    templates = {
        agent / "tools" / f"{name}.py": f"{kind}.py",
        agent.parent / "tests" / f"test_{name}.py": f"test_{kind}.py",
    }
    _make(
        out,
        templates,
        {"name": name},
        f"gateway add tool {name}_2",
        [f"pytest tests/test_{name}.py", f"write what it does into {agent}/tools/{name}.py"],
    )


@add.command(cls=Command, short_help="Add a schedule.")
@click.argument("name")
@click.option("--cron", default="0 9 * * 1-5", show_default=True, help="When it runs.")
@click.option("--timezone", default="UTC", show_default=True, help="Whose clock it goes by.")
@click.option(
    "--target", metavar="CHANNEL:PLACE", help="Where its answer is posted: slack:C0123ABCD."
)
@pass_out
def schedule(out: Out, name: str, cron: str, timezone: str, target: str | None) -> None:
    """Add the schedule NAME, by default at nine on weekdays: agent/schedules/NAME.md, and its test."""
    agent = _agent(out)
    _check_name(name, "schedule")
    if timezone not in available_timezones():
        near = near_zone(timezone) or "Europe/Paris"
        raise Problem(
            "usage",
            f"no time zone {timezone!r}",
            fix=f"gateway add schedule {name} --timezone {near}",
        )
    _check_schedule(Schedule(cron=cron, seed=name, target=target, timezone=timezone), agent)
    in_slack = target is not None and target.startswith("slack:")
    templates = {
        agent / "schedules" / f"{name}.md": "schedule.md",
        agent.parent / "tests" / f"test_{name}.py": "test_schedule.py",
    }
    _make(
        out,
        templates,
        {
            "name": name,
            "cron": cron,
            "zone": timezone,
            "target": f"target: {target}\n" if target else "",
            # Where it speaks in Slack, its test has a workspace to speak in.
            "workspace": ", SlackUnderTest" if in_slack else "",
            "slack": ", slack: SlackUnderTest" if in_slack else "",
        },
        f"gateway add schedule {name}_2",
        [
            f"pytest tests/test_{name}.py",
            f"say when and what for in {agent}/schedules/{name}.md",
            "gateway dev",
            f"gateway schedules run {name}  # from another terminal",
        ],
    )


@add.command(cls=Command, short_help="Add a channel.")
@click.argument("name", type=click.Choice([*CHANNELS]))
@pass_out
def channel(out: Out, name: str) -> None:
    """Let the agent be talked to by way of NAME, and test it on an emulator."""
    agent = _agent(out)
    templates = {
        agent / "channels" / f"{name}.py": f"channel_{name}.py",
        agent / f"instructions.{name}.md": f"instructions.{name}.md",
        agent.parent / "tests" / f"test_{name}.py": f"test_{name}.py",
    }
    lacking = needed(settings(out).missing(name))
    before, after = CHANNELS[name]
    _make(
        out,
        templates,
        {},
        f"look at {agent}/channels/{name}.py, which may be all you need",
        [
            f"pytest tests/test_{name}.py",
            *before,
            *([f"set {lacking}"] if lacking else []),
            *after,
        ],
    )


def _agent(out: Out) -> Path:
    found = agent_directory(settings(out).agent)
    if not (found / "agent.py").is_file():
        raise Problem(
            "not_found",
            f"no agent in {found}: it has no agent.py",
            fix="cd into the folder that `gateway new` made, set GATEWAY_AGENT, or: gateway new my-agent",
            exit_code=Exit.NOT_FOUND,
        )
    return found


def _check_schedule(given: Schedule, agent: Path) -> None:
    """As a start would, before anything is written."""
    findings = Findings()
    channels = {path.stem for path in (agent / "channels").glob("[!_]*.py")}
    check(given, Place("", {}), channels, findings)
    for wrong in findings.errors:
        raise Problem("usage", f"it {wrong.message}", fix=wrong.fix)


def _check_name(name: str, kind: str) -> None:
    """It is a file's name, a function's name, and part of a test's."""
    if re.fullmatch(r"[a-z][a-z0-9_]{0,63}", name) and not keyword.iskeyword(name):
        return
    better = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")[:60]
    if not re.match(r"[a-z]", better) or keyword.iskeyword(better):
        better = f"{kind}_{better}".rstrip("_")
    raise Problem(
        "usage",
        f"{name!r} can't name a {kind}: small letters, digits and _, a letter first",
        fix=f"gateway add {kind} {better}",
    )


def _make(
    out: Out, templates: Mapping[Path, str], names: Mapping[str, str], fix: str, then: Sequence[str]
) -> None:
    write(rendered(templates, names), fix=fix)
    if out.json:
        out.data({"files": [str(path) for path in templates], "next": [*then]})
        return
    for path in templates:
        out.say(("✓ ", "green"), str(path))
    out.say("Next:")
    for line in then:
        out.say(f"    {line}")
