"""The output layer: what goes where, for a pipe, for JSON, for a terminal that can't show much."""

from __future__ import annotations

import io
import json
import os
import pty
import re
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from gateway.cli.out import Out, Part
from gateway.cli.problem import Problem, explain
from gateway.definition import DefinitionError
from gateway.definition import Problem as DefinitionProblem
from gateway.engine import errors


def piped(*, json: bool = False, quiet: bool = False) -> tuple[Out, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Out(json=json, quiet=quiet, stdout=out, stderr=err), out, err


@contextmanager
def terminal() -> Generator[tuple[io.TextIOWrapper, int]]:
    """A stream that is a terminal, and the end where a person reads it."""
    reader, writer = pty.openpty()
    stream = os.fdopen(writer, "w", encoding="utf-8")
    try:
        yield stream, reader
    finally:
        stream.close()
        os.close(reader)


def test_a_pipe_gets_one_line_a_row_without_headings() -> None:
    out, stdout, _ = piped()
    out.table(["A", "B"], [["one", ("two", "red")], ["with\ttab\nand break", "\x1b[1mx"]])
    assert stdout.getvalue() == "one\ttwo\nwith tab and break\t\\x1b[1mx\n"


def test_json_is_alone_on_stdout() -> None:
    out, stdout, stderr = piped(json=True)
    out.say("words")
    out.note("a remark")
    out.table(["A"], [["1"]])
    out.data({"text": "ü\u202e"})
    assert json.loads(stdout.getvalue()) == {"text": "ü\u202e"}
    assert stderr.getvalue() == ""


def test_quiet_leaves_out_remarks_only() -> None:
    out, stdout, stderr = piped(quiet=True)
    out.say("result")
    out.note("remark")
    assert (stdout.getvalue(), stderr.getvalue()) == ("result\n", "")


def test_a_terminal_gets_a_table_with_headings_and_colour() -> None:
    with terminal() as (stream, reader):
        Out(stdout=stream).table(["STATE"], [[("failed", "red")]])
        stream.flush()
        seen = os.read(reader, 4096).decode()
    assert "STATE" in seen
    assert "\x1b[31mfailed" in seen


def test_rows_that_a_terminal_has_no_room_for_stand_one_below_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    columns = ["SCHEDULE", "RUNS", "CAME OF IT"]
    short: list[list[Part]] = [["digest", "daily", ("✓ completed", "green"), ""]]
    long: list[list[Part]] = [
        ["digest", "weekdays at 09:00 Europe/Paris", ""],
        ["other", "daily", ("skipped: it was paused by somebody", "dim")],
    ]
    with terminal() as (stream, reader):
        out = Out(stdout=stream, color=False)
        out.table([*columns, "OF WHICH NOBODY HAS ANYTHING"], short)
        out.table(columns, long)
        stream.write("end")
        stream.flush()
        seen = ""
        while not seen.endswith("end"):
            seen += os.read(reader, 4096).decode()
    seen = re.sub(r"\x1b\[[0-9;]*m", "", seen)
    assert [line.rstrip() for line in seen.removesuffix("end").splitlines()] == [
        "SCHEDULE  RUNS   CAME OF IT",
        "digest    daily  ✓ completed",
        "digest",
        "  Runs        weekdays at 09:00",
        "              Europe/Paris",
        "",
        "other",
        "  Runs        daily",
        "  Came of it  skipped: it was paused by",
        "              somebody",
    ]


def test_no_colour_on_a_terminal_that_wants_none() -> None:
    with terminal() as (stream, reader):
        Out(stdout=stream, color=False).table(["STATE"], [[("failed", "red")]])
        stream.flush()
        seen = os.read(reader, 4096).decode()
    assert "failed" in seen
    assert "\x1b[31m" not in seen


def test_markup_and_emoji_codes_in_text_are_only_text() -> None:
    with terminal() as (stream, reader):
        Out(stdout=stream).say("[red]not red[/red] :smile: ", ("\x1b[2J", "bold"))
        stream.flush()
        seen = os.read(reader, 4096).decode()
    assert "[red]not red[/red] :smile:" in seen
    assert "\x1b[2J" not in seen


def test_an_error_is_one_line_with_the_way_out() -> None:
    out, _, stderr = piped()
    out.problem(Problem("not_found", "no turn 'x'", fix="gateway turns list", status=404))
    assert stderr.getvalue() == "error[not_found]: no turn 'x'. fix: gateway turns list\n"


def test_every_engine_error_has_its_exit_code() -> None:
    expected = {
        errors.ConfigError: 3,
        errors.InvalidInputError: 2,
        errors.NotFoundError: 4,
        errors.TurnIdConflict: 7,
        errors.SessionSuspendedError: 7,
        errors.StaleAnswerError: 7,
        errors.ResumeAuthorizationError: 5,
        errors.SchemaTooNewError: 6,
        errors.StoreUnavailableError: 1,
        errors.ModelError: 1,
        errors.BusyError: 1,
    }
    assert {kind: int(explain(kind("x")).exit_code) for kind in expected} == expected


def test_what_nobody_foresaw_says_its_class_and_how_to_see_more() -> None:
    problem = explain(ZeroDivisionError("division by zero"))
    assert problem.code == "internal"
    assert "ZeroDivisionError" in problem.what
    assert "--debug" in problem.fix


def test_the_way_out_of_several_mistakes_is_not_taken_for_the_last_ones() -> None:
    found = tuple(DefinitionProblem(f"agent/{name}.py", 1, "is wrong", "mend it") for name in "ab")
    out, _, stderr = piped()
    out.problem(explain(DefinitionError(found)))
    out.problem(explain(DefinitionError(found[:1])))
    assert stderr.getvalue().splitlines() == [
        "error[definition]: 2 mistakes in the agent directory:",
        "  agent/a.py:1: is wrong. fix: mend it",
        "  agent/b.py:1: is wrong. fix: mend it.",
        "fix: gateway check",
        "error[definition]: agent/a.py:1: is wrong. fix: mend it",
    ]


def test_who_may_not_is_told_where_to_look() -> None:
    told = explain(PermissionError(13, "Permission denied", "/proc/no such/file"))
    assert told.what == "permission denied: /proc/no such/file"
    assert told.fix == "as a user who may: ls -ld /proc says who"
