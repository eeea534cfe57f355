"""The command tree, and the one place where any exception becomes an error line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from gateway.cli.base import Group, PipeClosed
from gateway.cli.exits import Exit
from gateway.cli.out import Out, hang_up, prepare
from gateway.cli.problem import Finished, explain
from gateway.release import version

COMMANDS = {
    "demo": "gateway.cli.demo.command:demo",
    "new": "gateway.cli.scaffold.new:new",
    "add": "gateway.cli.scaffold.add:add",
    "check": "gateway.cli.commands.check:check",
    "doctor": "gateway.cli.doctor.command:doctor",
    "serve": "gateway.cli.commands.serve:serve",
    "dev": "gateway.cli.commands.dev:dev",
    "chat": "gateway.cli.commands.chat:chat",
    "ask": "gateway.cli.commands.ask:ask",
    "status": "gateway.cli.commands.status:status",
    "sessions": "gateway.cli.commands.sessions:sessions",
    "turns": "gateway.cli.commands.turns:turns",
    "approvals": "gateway.cli.commands.approvals:approvals",
    "schedules": "gateway.cli.operate.schedules:schedules",
    "deliveries": "gateway.cli.operate.deliveries:deliveries",
    "mail": "gateway.cli.operate.mail:mail",
    "why": "gateway.cli.operate.why:why",
    "audit": "gateway.cli.commands.status:audit",
    "slack": "gateway.cli.operate.manifest:slack",
    "users": "gateway.cli.operate.users:users",
    "db": "gateway.cli.commands.db:db",
    "config": "gateway.cli.commands.config:config",
    "fakes": "gateway.cli.commands.fakes:fakes",
}


def _version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Out).say(f"gateway {version()}")
        ctx.exit()


class Gateway(Group):
    lazy = COMMANDS


@click.group(
    cls=Gateway,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=False,
    invoke_without_command=True,
    epilog="Start with: gateway demo   (no key, no network, nothing leaves this machine)",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Print the version.",
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A durable gateway for agents: every turn outlives the process that runs it."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(args: Sequence[str]) -> int:
    out = Out()
    prepare(out.stdout, out.stderr)
    try:
        return _flushed(out, _invoke(list(args), out))
    except (PipeClosed, BrokenPipeError):
        hang_up(out.stdout)
        return Exit.PIPE
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Finished as end:
        return _flushed(out, end.code)
    except Exception as error:  # noqa: BLE001 - the last resort: no stack trace for a person
        # Flags after a mistyped option were never parsed; the error should still be JSON.
        out.json = out.json or "--json" in args
        return _fail(out, error)


def _invoke(args: list[str], out: Out) -> int:
    try:
        with cli.make_context("gateway", args, obj=out) as ctx:
            cli.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.Abort:
        return Exit.INTERRUPTED
    return Exit.OK


def _fail(out: Out, error: Exception) -> int:
    problem = explain(error)
    if out.debug:
        import logging

        logging.getLogger("gateway.cli").error("command failed", exc_info=error)
    try:
        out.stdout.flush()
        out.problem(problem)
        out.stderr.flush()
    except BrokenPipeError:
        hang_up(sys.stdout)
        hang_up(sys.stderr)
    return problem.exit_code


def _flushed(out: Out, code: int) -> int:
    try:
        out.stdout.flush()
    except BrokenPipeError:
        hang_up(out.stdout)
        return Exit.PIPE
    return code
