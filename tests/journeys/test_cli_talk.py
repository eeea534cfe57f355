"""Talking to an agent from a shell: asking, parking, deciding, scripting, looking back."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.engine.kinds import JsonObject
from tests.support.cli import COMMAND, Serving, Shell

pytestmark = pytest.mark.timeout(120)  # starts one process after another


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `gateway new` makes; each test copies nothing but its state."""
    folder = tmp_path_factory.mktemp("new")
    Shell(folder).ok("new", "shop")
    return folder / "shop"


@pytest.fixture
def shell(made: Path, tmp_path: Path) -> Shell:
    return Shell(made, GATEWAY_STATE=str(tmp_path / "state"))


def request_of(body: JsonObject) -> JsonObject:
    found = body["request"]
    assert isinstance(found, dict)
    return found


def test_an_answer_is_on_stdout_and_everything_else_is_not(shell: Shell) -> None:
    ran = shell.ok("ask", "-", stdin="are you open on saturday?\n")
    assert ran.out == "On saturday: 10 to 14.\n"
    assert "opening_hours(day=saturday)" in ran.err
    refused = shell.run("ask", "-", stdin=" \n")
    assert (refused.code, refused.out) == (2, "")


def test_asking_with_json_tells_where_the_turn_stands(shell: Shell) -> None:
    body = shell.ok("ask", "hours on sunday?", "--json", "--session", "s1").object
    assert body["state"] == "completed"
    assert body["text"] == "On sunday: closed."
    assert body["agent"] == "shop"
    assert body["session"] == "s1"
    assert body["last_seq"]

    done = shell.ok("sessions", "reset", "s1", "--json").object
    assert done == {"previous_session": "s1#g0", "generation": 1}
    assert shell.ok("sessions", "show", "s1", "--json").object["messages"] == []


def test_a_parked_turn_exits_10_and_names_the_command_that_approves(shell: Shell) -> None:
    parked = shell.run("ask", "book me for friday", "--session", "s1")
    assert parked.code == 10
    command = parked.out.splitlines()[-1].strip()
    assert command.startswith("gateway approvals approve req_")
    assert '"friday"' in parked.out
    second = shell.run("ask", "and monday?", "--session", "s1")
    assert second.code == 7
    assert "waits for a person first: Book the visitor for friday?" in second.err

    done = shell.ok(*command.split()[1:], "--reason", "we are free")
    assert "Booked for friday" in done.out

    again = shell.run(*command.split()[1:], "--json")
    assert again.code == 7
    assert again.error["code"] == "already_answered"
    assert "approved by cli:" in str(again.error["message"])


def test_a_denial_is_read_by_the_agent_and_stands_in_the_timeline(shell: Shell) -> None:
    body = shell.run("ask", "book me for friday", "--json").object
    request = request_of(body)
    assert body["approve"] == f"gateway approvals approve {request['id']}"
    listed = shell.ok("approvals", "--json").list
    assert [row["id"] for row in listed] == [request["id"]]
    assert listed[0]["digest"] == request["digest"]

    answered = shell.ok("approvals", "deny", str(request["id"])[:9], "--reason", "full", "--json")
    assert answered.object["outcome"] == "denied"
    assert isinstance(answered.object["turn"], dict)
    assert "wasn't confirmed" in str(answered.object["turn"]["text"])

    lines = shell.ok("turns", "show", str(body["turn_id"])).out.splitlines()
    told = [line for line in lines if "denied" in line]
    assert len(told) == 1
    assert '"full"' in told[0]
    events = shell.ok("turns", "show", str(body["turn_id"]), "--json").object["events"]
    assert isinstance(events, list)
    assert [e["seq"] for e in events if isinstance(e, dict)] == list(range(1, len(events) + 1))


def test_chat_runs_a_script_and_looks_back_turn_by_turn(shell: Shell) -> None:
    script = (
        "open on sunday?\nbook me for friday\nn because we are full\n/history\n/quit\nnot read\n"
    )
    ran = shell.ok("chat", "--session", "s1", stdin=script)
    assert "On sunday: closed." in ran.out
    assert '"we are full"' in ran.out
    assert "not read" not in ran.out
    assert ran.out.count("── turn_") == 2


def test_a_script_that_ends_before_the_approval_exits_10(shell: Shell) -> None:
    left = shell.run("chat", "--session", "s1", stdin="book me for friday\n")
    assert left.code == 10
    # The next script finds the request waiting and answers it first.
    ran = shell.ok("chat", "--session", "s1", stdin="y\nopen on sunday?\n")
    assert "Booked for friday" in ran.out
    assert "On sunday: closed." in ran.out


def test_through_a_host_it_is_the_same(shell: Shell) -> None:
    with Serving(shell) as host:
        assert shell.ok("status", "--json").object["ready"] is True
        assert shell.ok("ask", "open on saturday?").out == "On saturday: 10 to 14.\n"
        parked = shell.run("ask", "book me for friday", "--json")
        assert parked.code == 10
        request = str(request_of(parked.object)["id"])
        host.kill()
    # The host is gone without a word; the store is free, and the request still waits in it.
    assert [row["id"] for row in shell.ok("approvals", "--json").list] == [request]
    with Serving(shell):
        done = shell.ok("approvals", "approve", request)
        assert "Booked for friday" in done.out
        listed = shell.ok("turns", "--json", "--state", "completed").list
        assert len(listed) == 2
        answerers = request_of(parked.object)["answerers"]
        assert isinstance(answerers, dict)
        assert {row["speaker"] for row in listed} == {answerers["user"]}
        script = "book me for monday\ny\n/reset\n/history\n"
        talked = shell.ok("chat", stdin=script).out
        assert "Booked for monday" in talked
        assert talked.endswith("nothing was said yet\n")


SLOW = """
import asyncio
from gateway import tool

@tool(effect="external")
async def opening_hours(day: str) -> dict[str, str]:
    \"\"\"When the workshop is open.\"\"\"
    await asyncio.sleep(1.5)
    return {"day": day, "hours": "9 to 18"}
"""


def test_who_waits_for_an_answer_gets_it_though_the_host_is_killed(
    made: Path, tmp_path: Path
) -> None:
    agent = tmp_path / "agent"
    shutil.copytree(made / "agent", agent)
    (agent / "tools/opening_hours.py").write_text(SLOW)
    shell = Shell(tmp_path)
    with Serving(shell) as host:
        waiting = subprocess.Popen(
            [*COMMAND, "ask", "open on monday?"],
            cwd=tmp_path,
            env=shell.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert waiting.stderr is not None
        assert b"opening_hours" in waiting.stderr.readline()
        host.kill()
        with Serving(shell):
            out, err = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (0, b"On monday: 9 to 18.\n"), err.decode()
    assert b"the host went away" in err


def test_the_agent_that_new_makes_passes_its_own_test(made: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=made,
        env=Shell(made).environ,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    assert b"4 passed" in done.stdout
