"""One shape for everything that can go wrong: what, under which code, and the way out.

On a terminal and in a log it is ``error[code]: what. fix: exact command``; with ``--json`` the same
as one JSON object on stderr, so that a script needs no second parser.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

import click

from gateway.cli.exits import Exit, exit_for
from gateway.engine.errors import ConfigError, GatewayError
from gateway.engine.kinds import JsonObject


class Problem(Exception):
    """An error as the person reads it. ``fix`` is a command or setting, never advice."""

    def __init__(
        self,
        code: str,
        what: str,
        *,
        fix: str = "",
        exit_code: int | None = None,
        status: int = 500,
    ) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.fix = fix
        self.exit_code = exit_for(code, status) if exit_code is None else Exit(exit_code)

    def as_json(self) -> JsonObject:
        body: JsonObject = {"code": self.code, "message": self.what, "exit": int(self.exit_code)}
        if self.fix:
            body["fix"] = self.fix
        return {"error": body}


class Finished(Exception):
    """Ends the command with an exit code and nothing more to say."""

    def __init__(self, code: Exit) -> None:
        super().__init__(code.name)
        self.code = code


class Unknown(click.UsageError):
    """A command that isn't there, next to one that is."""

    def __init__(self, name: str, meant: str, ctx: click.Context) -> None:
        super().__init__(f"No such command {name!r}.", ctx)
        self.meant = meant


def explain(error: BaseException) -> Problem:
    """Any exception as a problem. What nobody foresaw says how to see the details."""
    match error:
        case Problem():
            return error
        case GatewayError():
            return _of_ours(error)
        case Unknown():
            return Problem("usage", error.format_message(), fix=error.meant)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "gateway"
            return Problem("usage", _usage(error), fix=f"{path} --help")
        case click.ClickException():
            return Problem("usage", error.format_message(), exit_code=error.exit_code)
        case ExceptionGroup():
            return explain(error.exceptions[0])
        case OSError():
            return _of_the_system(error)
        case _:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return Problem("internal", what, fix="the same command with --debug shows where")


def _usage(error: click.UsageError) -> str:
    """On one line; of a group that was told nothing, what it can be told and not its whole help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        group = error.ctx.command
        if isinstance(group, click.Group):
            return f"{error.ctx.command_path} needs one of: {', '.join(group.list_commands(error.ctx))}"
    told = " ".join(error.format_message().split())
    return told.replace("a valid integer range", "a whole number")


def _of_ours(error: GatewayError) -> Problem:
    told, fix = sentence(error), error.fix
    if error.code == "definition":
        from gateway.definition.problems import DefinitionError

        # A single mistake is told with its own way out; of several, each stands with its own.
        if isinstance(error, DefinitionError) and len(error.problems) == 1:
            told = str(replace(error.problems[0], fix=""))
            fix = error.problems[0].fix or fix
    fallback = "gateway config show --origin" if isinstance(error, ConfigError) else ""
    return Problem(error.code, told, fix=fix or fallback, status=error.status)


def _of_the_system(error: OSError) -> Problem:
    match error:
        case PermissionError():
            place = Path(os.fsdecode(error.filename)) if error.filename else Path()
            while not place.exists() and place != place.parent:
                place = place.parent
            return Problem(
                "permission",
                sentence(error),
                fix=f"as a user who may: ls -ld {shlex.quote(str(place))} says who",
                exit_code=Exit.NOT_ALLOWED,
            )
        case FileNotFoundError():
            return Problem("not_found", sentence(error), exit_code=Exit.NOT_FOUND)
        case _:
            return Problem("system", sentence(error))


def sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror.lower()}{where}"
    return str(error) or type(error).__name__
