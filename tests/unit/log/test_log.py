"""What a log line looks like, and what never stands in one."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
from collections.abc import Iterator

import pytest
from typing_extensions import override

from gateway.log import JsonFormatter, Redactor, Style, bound, configure
from gateway.values import Setting

SECRET = "xoxb-1234-secret"
log = logging.getLogger("gateway.engine")


class Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def written(style: Style = "json", stream: io.StringIO | None = None) -> io.StringIO:
    stream = stream or io.StringIO()
    configure(style=style, secrets=[SECRET, "on"], stream=stream)
    return stream


def test_people_on_a_terminal_machines_elsewhere() -> None:
    machine, person = written("auto"), Terminal()
    log.info("hello")
    assert json.loads(machine.getvalue())["message"] == "hello"
    written("auto", person)
    log.info("hello")
    assert re.fullmatch(r"\d\d:\d\d:\d\d info    engine  hello\n", person.getvalue())


@pytest.mark.parametrize("style", ["human", "json"])
def test_every_line_is_greppable(style: Style) -> None:
    out = written(style)
    log.warning("step failed", extra={"turn_id": "t_1", "session": "slack:T1:C1", "delivery": "d9"})
    with bound(turn_id="t_2", session="s2"):
        log.info("inside")
    log.info("outside")
    first, inside, outside = out.getvalue().splitlines()
    for line, turn, session in ((first, "t_1", "slack:T1:C1"), (inside, "t_2", "s2")):
        if style == "human":
            assert f"turn={turn}" in line
            assert f"session={session}" in line
        else:
            assert (json.loads(line)["turn"], json.loads(line)["session"]) == (turn, session)
    assert "d9" in first
    assert "turn" not in outside


async def test_a_task_started_inside_is_named_too() -> None:
    out = written()

    async def work() -> None:
        log.info("in the task")

    async with asyncio.TaskGroup() as tasks:
        with bound(turn_id="t_3"):
            tasks.create_task(work())
    assert json.loads(out.getvalue())["turn"] == "t_3"


@pytest.mark.parametrize("style", ["human", "json"])
def test_secrets_are_cut_out_wherever_they_come_from(style: Style) -> None:
    out = written(style)
    log.info("token %s on", SECRET, extra={"session": SECRET})
    log.info("dsn postgresql://june:pa:ss@db.example/x, Authorization: Bearer abc.DEF-123")
    try:
        raise ValueError(f"bad token {SECRET}")
    except ValueError:
        log.exception("failed")
    text = out.getvalue()
    assert SECRET not in text
    assert "pa:ss" not in text
    assert "abc.DEF" not in text
    assert "ValueError: bad token ***" in text
    assert "postgresql://june:***@db.example/x" in text
    assert "on" in text, "a value too short to be a secret stays"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("postgresql://u:a@pass@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:pass/2@h/d for x@y", "postgresql://u:***@h/d for x@y"),
        ("redis://h:6379,redis://:pass@two", "redis://h:6379,redis://:***@two"),
        ("db.example/d?user=u&password=pass, again", "db.example/d?user=u&password=***, again"),
        ("at http://127.0.0.1:8787/sessions/a@b", "at http://127.0.0.1:8787/sessions/a@b"),
    ],
)
def test_passwords_of_urls_are_left_out_as_in_the_settings(said: str, told: str) -> None:
    out = written("json")
    log.info("%s", said)
    assert json.loads(out.getvalue())["message"] == told
    assert Setting("f", "F", str, "password").show(said) == told


def test_a_line_made_to_be_searched_for_long_is_not() -> None:
    redact = Redactor(())
    line = "@ " + "//a:" * 50_000
    assert redact(line) == line


def test_a_line_stays_one_line() -> None:
    out = written("human")
    log.info("one\nFAKE 10:00 line\x1b[31m", extra={"session": "a b\n"})
    (line,) = out.getvalue().splitlines()
    assert "\\n" in line
    assert "\x1b" not in line
    assert 'session="a b\\n"' in line


def test_a_broken_format_string_still_makes_a_line() -> None:
    record = logging.makeLogRecord({"msg": "%s and %s", "args": ("one",)})
    line = json.loads(JsonFormatter(Redactor(())).format(record))
    assert "can't be formatted" in line["message"]


def test_text_that_cannot_be_encoded_still_makes_a_line() -> None:
    out = written()
    log.info("lone surrogate \ud800")
    assert json.loads(out.getvalue())["message"] == "lone surrogate ?"


def test_configuring_again_replaces_the_handler() -> None:
    first, second = written(), io.StringIO()
    configure(style="json", stream=second)
    log.info("once")
    assert first.getvalue() == ""
    assert len(second.getvalue().splitlines()) == 1
