"""``gateway check``: every mistake in an agent directory, all at once, before anything starts."""

from __future__ import annotations

from pathlib import Path

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished
from gateway.cli.seat import settings
from gateway.cli.text import count
from gateway.definition import DefinitionError, Loaded, Problem, load_agent
from gateway.engine.kinds import JsonObject


@click.command(cls=Command, short_help="Check an agent directory.")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@pass_out
def check(out: Out, directory: Path | None, strict: bool) -> None:
    """Read DIRECTORY (by default the configured one) and say what is wrong with it.

    Nothing is started and nothing is called. Exit code 3 when there is a mistake.
    """
    chosen = settings(out)
    place = agent_directory(directory or chosen.agent)
    loaded: Loaded | None = None
    errors: tuple[Problem, ...] = ()
    try:
        loaded = load_agent(place, env=chosen.environ, run_channels=False)
        warnings = loaded.warnings
    except DefinitionError as error:
        errors, warnings = error.problems, error.warnings
    notes = loaded.notes if loaded else ()
    failed = bool(errors) or (strict and bool(warnings))
    if out.json:
        out.data(
            {
                "ok": not failed,
                "directory": str(place),
                "agent": loaded.agent.name if loaded else None,
                "errors": [_json(problem) for problem in errors],
                "warnings": [_json(problem) for problem in warnings],
                "notes": [_json(problem) for problem in notes],
            }
        )
    else:
        _show(out, loaded, errors, warnings, place)
    if failed:
        raise Finished(Exit.CHECK)


def agent_directory(given: Path) -> Path:
    """The directory itself, or the ``agent`` in it: ``gateway check shop`` after ``new shop``."""
    inside = given / "agent"
    return inside if not (given / "agent.py").is_file() and inside.is_dir() else given


def _json(problem: Problem) -> JsonObject:
    return {
        "file": problem.file,
        "line": problem.line,
        "message": problem.message,
        "fix": problem.fix or None,
    }


def _show(
    out: Out,
    loaded: Loaded | None,
    errors: tuple[Problem, ...],
    warnings: tuple[Problem, ...],
    place: Path,
) -> None:
    notes = loaded.notes if loaded else ()
    for mark, style, problems in (
        ("✗", "red", errors),
        ("!", "yellow", warnings),
        ("·", "dim", notes),
    ):
        for problem in problems:
            where = problem.file + (f":{problem.line}" if problem.line else "")
            out.say((f"{mark} ", style), (where, "bold"), f"  {problem.message}")
            if problem.fix:
                out.say(("  fix: ", "dim"), problem.fix)
    if loaded is None:
        out.say((f"{count(len(errors), 'mistake')} in {place}", "red"))
        return
    told = [count(len(loaded.definition.tools), "tool")]
    if loaded.skills:
        told.append(count(len(loaded.skills), "skill"))
    if loaded.schedules:
        told.append(count(len(loaded.schedules), "schedule"))
    out.say(("✓ ", "green"), f"{loaded.agent.name}: {', '.join(told)}; {place} holds together")
