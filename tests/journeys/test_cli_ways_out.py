"""What a person is told to do next fits what lies before them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Serving, Shell

pytestmark = pytest.mark.timeout(120)  # starts one process after another

NUMBER = '''
from gateway import ToolContext, tool

@tool
async def how_many(ctx: ToolContext) -> str:
    """Ask a person for a number."""
    return f"got {await ctx.request_input(id='n', prompt='How many?', schema=int)}"
'''
OFFLINE = """
from gateway import FatalToolError, ModelReply, ModelRequest

def reply(request: ModelRequest) -> ModelReply:
    if request.messages[-1].results:
        return ModelReply.say(f"Done: {request.messages[-1].results[0].output}")
    if "how many" in request.text:
        return ModelReply.call("how_many")
    if "fail" in request.text:
        return ModelReply.call("fails")
    return ModelReply.say("hello")
"""
REASON = " ".join(f"word{number}" for number in range(60))
FAILS = f'''
from gateway import FatalToolError, tool

@tool
async def fails() -> str:
    """Fail."""
    raise FatalToolError("{REASON}")
'''


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    Shell(tmp_path).ok("new", "shop")
    agent = tmp_path / "shop/agent"
    (agent / "tools/how_many.py").write_text(NUMBER)
    (agent / "tools/fails.py").write_text(FAILS)
    (agent / "offline.py").write_text(OFFLINE)
    return Shell(tmp_path / "shop")


def test_a_question_for_more_than_yes_or_no_names_the_command_that_answers(shell: Shell) -> None:
    parked = shell.run("ask", "how many?", "--session", "s1")
    assert parked.code == 10
    command = parked.out.splitlines()[-1].split()
    assert command[:3] == ["gateway", "approvals", "answer"]
    assert command[4] == "--value"
    assert "Done: got 7" in shell.ok(*command[1:5], "7").out

    body = shell.run("ask", "how many?", "--session", "s2", "--json").object
    assert str(body["answer"]).startswith("gateway approvals answer req_")
    assert "approve" not in body
    left = shell.run("chat", "--session", "s2", stdin="\n")
    assert left.code == 10
    assert str(body["answer"]) in left.err


def test_what_waits_in_memory_only_is_told_so(shell: Shell) -> None:
    memory = {"DATABASE_URL": "memory://"}
    parked = shell.run("ask", "how many?", env=memory)
    assert parked.code == 10
    assert "gone when this command ends" in parked.out
    assert "gateway approvals" not in parked.out
    body = shell.run("ask", "how many?", "--json", env=memory).object
    assert not {"approve", "answer"} & set(body)
    left = shell.run("chat", stdin="how many?\n", env=memory)
    assert "gone when this command ends" in left.err


def test_why_a_turn_failed_is_told_whole(shell: Shell) -> None:
    asked = shell.run("ask", "fail", "--turn-id", "broken")
    assert asked.code == 1
    assert REASON in asked.err
    assert REASON in shell.ok("chat", stdin="fail\n").out
    assert REASON in shell.ok("turns", "show", "broken").out


def test_several_turns_that_begin_alike_are_named(shell: Shell) -> None:
    for name in ("visit-1", "visit-2"):
        shell.ok("ask", "hi", "--session", "s1", "--turn-id", name)
    ran = shell.run("turns", "show", "visit", "--json")
    assert (ran.code, ran.error["code"]) == (2, "ambiguous")
    assert ran.error["fix"] == "the whole id, one of: visit-1, visit-2"
    shell.ok("ask", "hi", "--session", "s2", "--turn-id", "visit-1")
    ran = shell.run("turns", "show", "visit-1", "--json")
    assert ran.error["fix"] == "--session <one of: s1, s2>"


def test_a_turn_that_has_ended_cannot_be_cancelled_and_is_told_so(shell: Shell) -> None:
    shell.ok("ask", "hi", "--turn-id", "t1")
    assert "t1 had already ended: completed" in shell.ok("turns", "cancel", "t1").out
    assert shell.run("ask", "how many?", "--turn-id", "t2").code == 10
    assert "t2 is cancelled" in shell.ok("turns", "cancel", "t2").out


def test_what_a_reset_archived_can_be_read(shell: Shell) -> None:
    shell.ok("ask", "hi", "--session", "s1")
    shell.ok("sessions", "reset", "s1")
    shown = shell.ok("sessions", "show", "s1#g0").out
    assert "hello" in shown
    body = shell.ok("sessions", "show", "s1#g0", "--json").object
    assert body["session"] == "s1#g0"
    assert shell.run("sessions", "show", "s1#g7").code == 4
    assert shell.run("sessions", "show", "nobody#g0").code == 4
    with Serving(shell):
        assert shell.ok("sessions", "show", "s1#g0").out == shown
        ran = shell.run("approvals", "approve", "req_zzz", "--json")
        assert (ran.code, ran.error["fix"]) == (4, "gateway approvals list")
