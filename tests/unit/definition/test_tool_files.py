"""What is read off a tool's file beyond what its decorator sees."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from textwrap import indent

import pytest

from gateway.definition import DefinitionError, Problem, load_agent
from tests.unit.definition.directories import agent_py, write


def mistake(root: Path) -> Problem:
    with pytest.raises(DefinitionError) as told:
        load_agent(root, env={})
    (problem,) = told.value.problems
    return problem


def test_a_tool_that_isnt_named_like_its_file_is_told_with_both_names(tmp_path: Path) -> None:
    text = "from gateway import tool\n\n@tool\ndef refund() -> None:\n    'Refund.'\n"
    problem = mistake(write(tmp_path, {"tools/give_back.py": text}))
    assert (problem.file, problem.line) == (f"{tmp_path}/tools/give_back.py", 3)
    assert "refund" in problem.message
    assert "give_back" in problem.message
    assert problem.fix == "rename the function to give_back, or the file to refund.py"


def test_a_tool_that_only_calls_another_one_isnt_that_one(tmp_path: Path) -> None:
    refund = "from gateway import tool\n\n@tool\ndef refund() -> None:\n    'Refund.'\n"
    forgot = "from .refund import refund\n\ndef cancel() -> None:\n    refund.run()\n"
    files = {"tools/refund.py": refund, "tools/cancel.py": forgot}
    problem = mistake(write(tmp_path, files))
    assert problem.file == f"{tmp_path}/tools/cancel.py"
    assert problem.message == "defines no tool"


def test_a_decorator_of_the_file_beside_takes_no_tool_away(tmp_path: Path) -> None:
    cancel = (
        "import functools\nfrom gateway import tool\n\ndef audited(function):\n"
        "    @functools.wraps(function)\n    async def run():\n        return await function()\n"
        "    return run\n\n@tool\n@audited\nasync def cancel() -> None:\n    'Cancel.'\n"
    )
    refund = (
        "from gateway import tool\nfrom .cancel import audited, cancel\n\n"
        "@tool\n@audited\nasync def refund() -> None:\n    'Refund.'\n    await cancel.run()\n"
    )
    files = {"tools/cancel.py": cancel, "tools/refund.py": refund}
    tools = load_agent(write(tmp_path, files), env={}).definition.tools
    assert tools["refund"].description == "Refund."


@pytest.mark.parametrize("terms", [1500, 20_000])
def test_code_without_end_is_no_crash(terms: int, tmp_path: Path) -> None:
    body = f"    return {' + '.join(['1'] * terms)}\n"
    tool = f"from gateway import tool\n\n@tool\nasync def x() -> int:\n    'X.'\n{body}"
    root = write(tmp_path, {"tools/x.py": tool})
    with suppress(DefinitionError):  # where Python itself can't, it is told
        assert "x" in load_agent(root, env={}).definition.tools


LONG = " + ".join(["1"] * 1500)
ELSE = "".join(f"    elif n == {n}:\n        pass\n" for n in range(700))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"return {LONG} + ctx.request_input(id='a', prompt='?')", "is called and never awaited"),
        (f"return {LONG} + time.sleep(1)", "calls time.sleep in async def x"),
        (
            (
                f"try:\n    await ctx.request_input(id='a', prompt='?')\n"
                f"finally:\n    if n == -1:\n        pass\n{ELSE}    else:\n        return 1"
            ),
            "return in a finally around request_input",
        ),
    ],
    ids=["forgotten", "waits", "finally"],
)
def test_code_that_goes_deep_is_looked_at_like_any_other(
    body: str, message: str, tmp_path: Path
) -> None:
    text = (
        "import time\nfrom gateway import ToolContext, tool\n\n@tool\n"
        "async def x(ctx: ToolContext, n: int) -> int:\n    'X.'\n" + indent(body, "    ")
    )
    root = write(tmp_path, {"tools/x.py": text})
    try:
        told = load_agent(root, env={}).warnings
    except DefinitionError as error:
        told = error.problems
    assert [one.message for one in told if message in one.message]


@pytest.mark.parametrize(
    ("files", "fix"),
    [
        (
            {"tools/x.py": "from gateway import tool\n\n@tool(efect='read')\ndef x(): ...\n"},
            "tool takes effect, key, timeout, parallel, untrusted_output, answerers (did you mean",
        ),
        (
            {"agent.py": agent_py("    tools=[],")},
            "Agent takes name, model, surfaces, approvals, authorize_answer, services, on_turn",
        ),
        ({"agent.py": agent_py('    surfaces={"web": Surface(colour="red")},')}, "Surface takes "),
        ({"agent.py": "def mine(): ...\nmine(a=1)\n"}, ""),
    ],
)
def test_an_unknown_option_is_told_with_the_known_ones(
    files: dict[str, str | None], fix: str, tmp_path: Path
) -> None:
    problem = mistake(write(tmp_path, files))
    assert "unexpected keyword argument" in problem.message
    assert problem.fix.startswith(fix)
    assert bool(problem.fix) is bool(fix)


@pytest.mark.parametrize(
    ("head", "call", "name"),
    [
        ("import time", "time.sleep(1)", "time.sleep"),
        ("import time as clock", "clock.sleep(1)", "time.sleep"),
        ("from time import sleep as nap", "nap(1)", "time.sleep"),
        # Inside a branch that isn't run: whether it is installed is nothing that this reads.
        ("if False:\n    import requests", "requests.get('http://127.0.0.1')", "requests.get"),
    ],
)
def test_what_would_stop_every_turn_is_warned_of(
    head: str, call: str, name: str, tmp_path: Path
) -> None:
    tool = f"from gateway import tool\n\n@tool\nasync def x() -> None:\n    'X.'\n    {call}\n"
    root = write(tmp_path, {"tools/x.py": f"{head}\n{tool}"})
    (warning,) = load_agent(root, env={}).warnings
    assert warning.message.startswith(f"calls {name} in async def x")
    assert "asyncio.to_thread(" in warning.fix


@pytest.mark.parametrize(
    "body",
    [
        "@tool\nasync def x() -> None:\n    'X.'\n    await asyncio.to_thread(time.sleep, 1)\n",
        "@tool\ndef x() -> None:\n    'X.'\n    time.sleep(1)\n",
        "@tool\nasync def x() -> None:\n    'X.'\n    await asyncio.sleep(1)\n",
        "@tool\nasync def x() -> None:\n    'X.'\n    requests = []\n    requests.append(1)\n",
        (
            "@tool\nasync def x() -> None:\n    'X.'\n    def wait() -> None:\n"
            "        time.sleep(1)\n    await asyncio.to_thread(wait)\n"
        ),
    ],
)
def test_what_waits_where_it_may_is_no_warning(body: str, tmp_path: Path) -> None:
    text = f"import asyncio, time\nfrom gateway import tool\n\n{body}"
    assert load_agent(write(tmp_path, {"tools/x.py": text}), env={}).warnings == ()
