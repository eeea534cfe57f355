"""What the how-tos show, done."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from gateway.definition import Target, load_agent
from gateway.schedules.words import told
from tests.support.blocks import blocks
from tests.support.cli import Serving, Shell
from tests.support.http import connect, on_socket
from tests.support.pasted import do
from tests.unit.definition.directories import write as write_agent

pytestmark = pytest.mark.timeout(120)  # starts processes


def write(folder: Path, code: str) -> str:
    """A Python block is a file, and says which in its first line."""
    name = re.match(r"# (\S+\.py)\n", code)
    assert name, f"a Python block must begin with the name of its file:\n{code}"
    (folder / name[1]).write_text(code)
    return name[1]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    Shell(tmp_path).ok("new", "shop")
    return tmp_path / "shop"


async def test_the_gateway_inside_an_application(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block, approvals = blocks("docs/howto/embed.md", "python")
    monkeypatch.chdir(made)
    monkeypatch.setenv("MODEL", "scripted")
    names: dict[str, Any] = {"__name__": "app"}
    exec(compile(block.code, write(made, block.code), "exec"), names)  # noqa: S102
    app = cast("web.Application", await names["make_app"]())
    exec(compile(approvals.code, write(made, approvals.code), "exec"), names)  # noqa: S102
    runtime = app[names["GATEWAY"]].api.runtime
    names["add_approvals"](app, runtime, lambda request: request.headers["Who"])
    async with on_socket(app) as url, connect(url) as client:
        assert (await client.get("/")).raw == b"the shop"
        body = {"message": "open on sunday?", "session": "s1"}
        assert (await client.post("/message", body)).json["text"] == "On sunday: closed."
        for _ in range(2):  # told twice, the agent hears it once
            told = await client.post("/orders/17/lost")
            assert (told.status, told.json["turn_id"]) == (202, "lost-17")
        session = app[names["GATEWAY"]].ctx.session("order-17")
        assert (await session.result("lost-17")).status == "completed"
        assert sum(message.role == "user" for message in await session.transcript()) == 1

        who = {"Who": "shop:robin"}
        body = {"message": "book me for friday", "session": "s2"}
        opened = await client.post("/message", body)
        (asked,) = json.loads((await client.get("/approvals", headers=who)).raw)
        assert (asked["session"], asked["prompt"]) == ("s2", "Book the visitor for friday?")
        path = f"/approvals/{asked['id']}"
        stale = {"value": True, "digest": "another"}
        assert (await client.post(path, stale, headers=who)).status == 409
        answer = {"value": True, "digest": asked["digest"]}
        told = await client.post(path, answer, headers=who)
        assert (told.status, told.json) == (200, {"decided": True, "outcome": "approved"})
        again = await client.post(path, answer, headers=who)
        assert (again.status, again.json["code"]) == (409, "already_answered")
        assert (await client.post("/approvals/req_none", answer, headers=who)).status == 404
        result = await runtime.session("shop", "s2").result(str(opened.json["turn_id"]))
        assert result.text.startswith("Booked for friday")
        assert (await client.get("/approvals", headers=who)).raw == b"[]"


def test_curl_asks_follows_and_approves(tmp_path: Path) -> None:
    do("docs/howto/http.md", tmp_path)


async def test_a_backup_and_a_look_at_unknown_outcomes(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(made)
    shell.ok("ask", "open on sunday?", "--session", "s1")
    store = sqlite3.connect(made / ".gateway" / "gateway.db")
    with closing(store), store:
        store.execute(
            "insert into gw_audit (at, kind, agent, session, turn_id, subject, outcome)"
            " values (1, 'outcome_unknown', 'shop', 's1', 't1', 'tool:1:call', 'unknown')"
        )
    monkeypatch.chdir(made)
    alone = shell.ok("audit", "--json").list
    with Serving(shell):
        for _ in range(2):  # a backup is made every night, not once
            for block in blocks("docs/operations.md", "python"):
                exec(compile(block.code, write(made, block.code), "exec"), {})  # noqa: S102
        through_the_host = shell.ok("audit", "--json", "--session", "s1", "--turn", "t1").list
        assert shell.ok("audit", "--json", "--session", "s2").list == []
        assert shell.ok("audit", "--json", "--before", "1").list == []
        (line,) = shell.ok("audit", "--limit", "1").out.splitlines()
    assert alone == through_the_host == [
        {
            "number": 1, "at": 1, "kind": "outcome_unknown", "agent": "shop", "session": "s1",
            "turn_id": "t1", "subject": "tool:1:call", "by": None, "digest": None,
            "outcome": "unknown",
        }
    ]  # fmt: skip
    assert line.split("\t")[2:] == ["outcome_unknown", "s1", "t1", "tool:1:call", "unknown", ""]
    copies = sorted(path.name for path in made.glob("backup-*.db"))
    assert len(copies) == 2
    for copy in copies:
        assert (made / copy).stat().st_mode & 0o777 == 0o600
        shown = shell.run("sessions", "--json", env={"DATABASE_URL": f"sqlite:///{copy}"})
        assert [row["session"] for row in shown.list] == ["s1"]


async def test_the_tests_that_an_author_may_write(made: Path) -> None:
    shown = blocks("docs/howto/test-an-agent.md", "python")
    names = [write(made, block.code) for block in shown]
    done = await asyncio.to_thread(
        subprocess.run,
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:asyncio",
            "-W",
            "error",
            *names,
        ],
        cwd=made,
        env=Shell(made).environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "16 passed" in done.stdout


def test_the_schedules_on_the_page_run_when_it_says(tmp_path: Path) -> None:
    (morning,) = blocks("docs/howto/schedules.md", "markdown")
    (month_end,) = blocks("docs/howto/schedules.md", "python")
    assert month_end.code.startswith("# agent/schedules/month_end.py\n")
    files: dict[str, str | None] = {
        "channels/slack.py": "def channel(env): ...\n",
        "schedules/morning.md": morning.code,
        "schedules/month_end.py": month_end.code,
    }
    loaded = load_agent(write_agent(tmp_path / "agent", files), env={})
    first = loaded.schedules["morning"]
    assert (told(first.cron), first.timezone) == ("weekdays at 09:00", "Europe/Paris")
    assert first.target == Target("slack", "C0123ABCD")
    seed = loaded.schedules["month_end"].seed
    assert callable(seed)
    assert seed(at=datetime.fromisoformat("2027-02-27T18:00+01:00"), services=None) is None
    asked = seed(at=datetime.fromisoformat("2027-02-28T18:00+01:00"), services=None)
    assert asked == "Close the books of February."


def test_the_inbox_on_the_page_is_made(tmp_path: Path) -> None:
    (block,) = blocks("docs/howto/email.md", "python")
    assert block.code.startswith("# agent/channels/email.py\n")
    files: dict[str, str | None] = {"channels/email.py": block.code}
    loaded = load_agent(write_agent(tmp_path / "agent", files), env={}, run_channels=True)
    made = loaded.channels["email"](
        {
            "EMAIL_ADDRESS": "support@shop.example",
            "EMAIL_LISTEN": "lmtp://127.0.0.1:2400",
            "EMAIL_SMTP_URL": "smtps://support%40shop.example:secret@smtp.shop.example",
            "GATEWAY_SECRET_KEYS": "a-key-for-tests-only-and-nothing-else",
        }
    )
    assert made.source == "email"
