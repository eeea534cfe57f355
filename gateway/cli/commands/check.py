"""``gateway check``: every mistake in an agent directory, all at once, before anything starts."""

from __future__ import annotations

from pathlib import Path

import click

from channels.protocol import Channel
from gateway.cli.base import Command, pass_out
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished
from gateway.cli.seat import settings
from gateway.config import Settings
from gateway.definition import DefinitionError, Loaded, Problem, load_agent
from gateway.engine.errors import ConfigError
from gateway.engine.kinds import JsonObject
from gateway.host.words.text import count
from gateway.needs import STAND_INS
from gateway.values import needed


@click.command(cls=Command, short_help="Check an agent directory.")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@pass_out
def check(out: Out, directory: Path | None, strict: bool) -> None:
    """Read DIRECTORY (by default the configured one) and say what is wrong with it.

    Its channels are made with the settings there are; nothing is started and nobody is called. Exit
    code 3 when there is a mistake.
    """
    chosen = settings(out)
    place = agent_directory(directory or chosen.agent)
    loaded: Loaded | None = None
    errors: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    try:
        loaded = load_agent(place, env=chosen.environ, run_channels=True)
        warnings = loaded.warnings
        errors, notes = _made(loaded, chosen)
    except DefinitionError as error:
        errors, warnings = error.problems, error.warnings
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
        _show(out, errors, warnings, notes)
        _sum_up(out, None if errors else loaded, len(errors), place)
    if failed:
        raise Finished(Exit.CHECK)


def _made(loaded: Loaded, chosen: Settings) -> tuple[tuple[Problem, ...], tuple[Problem, ...]]:
    """What is wrong with the options of the channels and what they are to do, as a start would find
    it, and what keeps which of them off here."""
    from gateway.host.channels.equipping import with_tools

    errors: list[Problem] = []
    made: dict[str, Channel] = {}
    notes: list[Problem] = []
    for name, factory in loaded.channels.items():
        environ = chosen.environ
        if missing := chosen.missing(name):
            off = Problem(factory.place, None, "is off", f"set {needed(missing)}")
            notes.append(off)
            environ = {**STAND_INS.get(name, {}), **{k: v for k, v in environ.items() if v}}
        try:
            made[name] = factory(environ)
        except DefinitionError as error:
            errors += error.problems
        except ConfigError as error:
            notes.append(Problem(factory.place, factory.line, str(error), error.fix))
    errors += loaded.misaddressed(made)
    for name, channel in made.items():
        try:
            with_tools(loaded.definition, {name: channel})
        except ConfigError as error:
            errors.append(Problem(loaded.channels[name].place, None, str(error), error.fix))
    return tuple(errors), tuple(notes)


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
    errors: tuple[Problem, ...],
    warnings: tuple[Problem, ...],
    notes: tuple[Problem, ...],
) -> None:
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


def _sum_up(out: Out, loaded: Loaded | None, mistakes: int, place: Path) -> None:
    if loaded is None:
        out.say((f"{count(mistakes, 'mistake')} in {place}", "red"))
        return
    told = [count(len(loaded.definition.tools), "tool")]
    for what, found in (
        ("skill", loaded.skills),
        ("schedule", loaded.schedules),
        ("channel", loaded.channels),
    ):
        if found:
            told.append(count(len(found), what))
    out.say(("✓ ", "green"), f"{loaded.agent.name}: {', '.join(told)}; {place} holds together")
