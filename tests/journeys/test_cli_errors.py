"""What goes wrong at a shell: one line, the way out, a stable exit code, never a stack trace."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.cli import COMMAND, Shell

pytestmark = pytest.mark.timeout(120)  # starts one process after another

AGENT = Path(__file__).parents[2] / "agent"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, GATEWAY_AGENT=str(AGENT))


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["no-such"], 2, "fix: gateway --help"),
        (["chta"], 2, "fix: gateway chat"),
        (["sessions", "shwo"], 2, "fix: gateway sessions show"),
        (["ask"], 2, "fix: gateway ask --help"),
        (["slack"], 2, "gateway slack needs one of: verify, manifest. fix: gateway slack --help"),
        (["fakes", "start"], 2, "Choose from: model, slack, mail."),
        (["deliveries", "show", "nope"], 2, "'nope' is not a whole number"),
        (["turns", "--limit", "0"], 2, "0 is not in the range"),
        (["turns", "show", "nope"], 4, "no turn 'nope'"),
        (["approvals", "show", "nope"], 4, "no request 'nope'"),
        (["approvals", "approve", "req_zzz"], 4, "fix: gateway approvals list"),
        (["serve"], 3, "fix: export GATEWAY_API_TOKEN="),
        (["ask", "hi", "--agent", "nobody"], 4, "fix: --agent june"),
        (["ask", "hi", "--session", "a b\n"], 2, "a session key must"),
        (["ask", "hi", "--session", ".."], 2, "a session key must"),
        (["ask", "hi", "--session", "s1#g0"], 2, "marks archived history"),
    ],
)
def test_each_mistake_has_its_line_and_its_code(
    shell: Shell, args: list[str], code: int, says: str
) -> None:
    ran = shell.run(*args)
    assert ran.code == code, ran
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("error[")
    assert says in ran.err


def test_serve_says_what_stands_only_where_it_doesnt_look(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("GATEWAY_API_TOKEN=only-here-and-long-enough\n")
    ran = shell.run("serve")
    assert (ran.code, ran.out) == (3, "")
    assert "stands in .env, which serve doesn't read" in ran.err
    assert "fix: set -a; . ./.env; set +a; gateway serve" in ran.err
    assert "only-here" not in ran.err


def test_with_json_an_error_is_json_too(shell: Shell) -> None:
    ran = shell.run("--json", "turns", "show", "nope")
    assert ran.out == ""
    assert ran.error["code"] == "not_found"
    assert ran.error["exit"] == ran.code == 4
    assert shell.run("ask", "--no-such", "--json").error["code"] == "usage"


def test_looking_leaves_nothing_behind(shell: Shell, tmp_path: Path) -> None:
    assert "no sessions yet" in shell.ok("sessions").err
    assert shell.ok("db", "status", "--json").object["state"] == "empty"
    assert shell.ok("db", "--json").object["state"] == "empty"
    assert list(tmp_path.iterdir()) == []


def test_check_tells_every_mistake_with_file_and_line(shell: Shell, tmp_path: Path) -> None:
    shell.ok("new", "shop")
    assert shell.ok("check", "shop", "--json").object["ok"] is True
    (tmp_path / "shop/agent/tools/broken.py").write_text("def broken(:\n")
    (tmp_path / "shop/agent/tools/opening_hours.py").write_text("x = 1\n")
    ran = shell.run("check", "shop", "--json")
    assert ran.code == 3
    errors = ran.object["errors"]
    assert isinstance(errors, list)
    files = [str(e["file"]) for e in errors if isinstance(e, dict)]
    assert len({name for name in files if name.endswith(("broken.py", "opening_hours.py"))}) == 2
    assert any(
        str(e["file"]).endswith("broken.py") and e["line"] == 1
        for e in errors
        if isinstance(e, dict)
    )


def test_new_never_writes_over_anything(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/mine.txt").write_text("mine")
    ran = shell.run("new", "shop")
    assert ran.code == 7
    assert [path.name for path in (tmp_path / "shop").iterdir()] == ["mine.txt"]


def test_all_wrong_settings_are_told_at_once_and_no_secret_is(shell: Shell) -> None:
    wrong = {
        "GATEWAY_PORT": "1",
        "PORT": "many",
        "GATEWAY_MODLE": "x",
        "ANTHROPIC_API_KEY": "sk-very-secret",
    }
    ran = shell.run("config", "show", "--origin", env=wrong)
    assert ran.code == 3
    assert "PORT" in ran.err
    assert "did you mean GATEWAY_MODEL" in ran.err
    assert "GATEWAY_PORT (environment): no such setting. did you mean PORT?" in ran.err
    assert "sk-very-secret" not in ran.err
    fine = shell.run("config", "show", "--json", env={"ANTHROPIC_API_KEY": "sk-very-secret"})
    assert fine.code == 0
    assert "sk-very-secret" not in fine.out
    origins = {str(row["name"]): row["origin"] for row in fine.list}
    assert origins["ANTHROPIC_API_KEY"] == "environment"


def test_a_store_of_a_newer_release_is_refused_with_its_own_code(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell.ok("db", "migrate", "--json").object["was"] == 0
    path = tmp_path / ".gateway/gateway.db"
    with closing(sqlite3.connect(path)) as db, db:
        (table,) = db.execute(
            "select name from sqlite_master where type = 'table' and name like '%schema%'"
        ).fetchone()
        columns = [row[1] for row in db.execute(f"pragma table_info({table})")]
        values = [999 if name == "version" else 0 for name in columns]
        db.execute(f"insert into {table} values ({','.join('?' * len(columns))})", values)
    assert shell.run("db", "status").code == 6
    ran = shell.run("turns")
    assert ran.code == 6
    assert "999" in ran.err


def test_a_held_store_is_named_with_its_holder(shell: Shell, tmp_path: Path) -> None:
    shell.ok("db", "migrate")
    state = tmp_path / ".gateway"
    lock = os.open(state / "gateway.db.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        ran = shell.run("turns", "--json")
        assert (ran.code, ran.error["code"]) == (7, "store_in_use")
        assert str(os.getpid()) in str(ran.error["message"])
        # A host that is named there but doesn't answer is another thing.
        (state / "host.token").write_text("t\n")
        told = {
            "pid": os.getpid(),
            "url": "http://127.0.0.1:9",
            "token_file": "host.token",
            "store": "",
        }
        (state / "host.json").write_text(json.dumps(told))
        ran = shell.run("turns", "--json")
        assert (ran.code, ran.error["code"]) == (8, "unreachable")
    finally:
        os.close(lock)
    # A leftover host file that names a living process is no obstacle once the store is free.
    assert shell.ok("turns", "--json").json == []


HOSTILE = [
    "\x1b]0;owned\x07 where is \x1b[31m1042\x1b[0m",
    "order 1042 \u202etxt.exe",
    "'; drop table turns; -- 1042",
    "a" * 200_000,
    "%s {0} ${HOME} [bold]1042[/bold] :smile:",
]


def test_hostile_messages_are_answered_and_steer_no_terminal(shell: Shell) -> None:
    ran = shell.run("chat", "--session", "s1", stdin="\n".join(HOSTILE) + "\n/history\n")
    assert ran.code == 0, ran.err[-500:]
    shown = ran.out + ran.err + shell.ok("turns").out + shell.ok("sessions", "show", "s1").out
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert "\\x1b[31m1042" in shown
    assert "[bold]1042[/bold] :smile:" in shown
    assert shown.count("── turn_") == 2 * len(HOSTILE)


def test_bytes_that_are_no_text_are_refused_or_carried_but_never_a_crash(shell: Shell) -> None:
    for args in (
        [b"ask", b"\xff\xfe"],
        [b"ask", b"hi", b"--session", b"\xff"],
        [b"turns", b"show", b"\xff"],
    ):
        ran = shell.run(*args)
        assert ran.code in {0, 2, 4}, ran
        assert "error[internal]" not in ran.err


def test_a_reader_that_leaves_is_nothing_to_talk_about(shell: Shell) -> None:
    process = subprocess.Popen(
        [*COMMAND, "config", "show", "--all"],
        cwd=shell.folder,
        env=shell.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=30)
    assert process.returncode == 141
    assert err == b""


@pytest.mark.parametrize("closed", ["1", "2", "1,2"])
def test_a_closed_output_is_nobody_who_reads(shell: Shell, closed: str) -> None:
    away = " ".join(f"{number}>&-" for number in closed.split(","))
    for args, code in ((("config", "show"), 0), (("turns", "show", "nope"), 4)):
        ran = subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {away}', "sh", *COMMAND, *args],
            cwd=shell.folder,
            env=shell.environ,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == code
        assert b"Traceback" not in ran.stderr


def test_an_old_terminal_gets_words_it_can_show(shell: Shell) -> None:
    ran = shell.run("new", "shop", env={"PYTHONIOENCODING": "ascii"})
    assert ran.code == 0
    assert ran.out.isascii()
    assert ran.out.startswith("ok made shop")
