"""One shape for everything that can go wrong: what, under which code, and the way out.

On a terminal and in a log it is ``error[code]: what. fix: exact command``; with ``--json`` the same
as one JSON object on stderr, so that a script needs no second parser.
"""

from __future__ import annotations

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
            fallback = "gateway config show --origin" if isinstance(error, ConfigError) else ""
            return Problem(
                error.code, sentence(error), fix=error.fix or fallback, status=error.status
            )
        case Unknown():
            return Problem("usage", error.format_message(), fix=error.meant)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "gateway"
            return Problem("usage", error.format_message(), fix=f"{path} --help")
        case click.ClickException():
            return Problem("usage", error.format_message(), exit_code=error.exit_code)
        case ExceptionGroup():
            return explain(error.exceptions[0])
        case OSError():
            return _of_the_system(error)
        case _:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return Problem("internal", what, fix="the same command with --debug shows where")


def _of_the_system(error: OSError) -> Problem:
    match error:
        case PermissionError():
            return Problem("permission", sentence(error), exit_code=Exit.NOT_ALLOWED)
        case FileNotFoundError():
            return Problem("not_found", sentence(error), exit_code=Exit.NOT_FOUND)
        case _:
            return Problem("system", sentence(error))


def sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror.lower()}{where}"
    return str(error) or type(error).__name__
