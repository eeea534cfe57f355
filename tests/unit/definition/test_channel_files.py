"""``channels/<name>.py``: run only to serve, made only when asked, wrong with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.definition import DefinitionError, load_agent
from gateway.engine.errors import ConfigError
from tests.unit.definition.directories import agent_py, write

ECHO = """
    class Echo:
        source = "echo"
        tools = ()

        def __init__(self, word):
            self.word = word

        def routes(self):
            return ()

        async def start(self, ctx): ...
        async def stop(self): ...
        async def deliver(self, events, delivery, ctx): ...
        async def deliver_resume(self, events, delivery, ctx): ...
        async def reconcile(self, delivery): ...

    def channel(env):
        return Echo(env["ECHO_WORD"])
"""
OPTIONS = """
    from channels.slack.policy import rules

    def channel(env):
        return rules(
            %s,
        )
"""


def refusal(root: Path, name: str) -> list[str]:
    """What is said of a channel that is loaded, and then made."""
    loaded = load_agent(root, env={}, run_channels=True)
    with pytest.raises(DefinitionError) as caught:
        loaded.channels[name]({})
    return [str(problem).replace(f"{root}/", "") for problem in caught.value.problems]


def test_a_file_runs_only_when_the_channels_are_to_run(tmp_path: Path) -> None:
    root = write(tmp_path, {"channels/echo.py": "raise RuntimeError('boom')\n"})
    assert load_agent(root, env={}).channels == {}
    with pytest.raises(DefinitionError, match=r"echo\.py:1: fails on import: RuntimeError: boom"):
        load_agent(root, env={}, run_channels=True)


def test_a_channel_is_made_of_the_environment_it_is_given(tmp_path: Path) -> None:
    root = write(tmp_path, {"channels/echo.py": ECHO, "channels/_shared.py": "x = 1\n"})
    loaded = load_agent(root, env={}, run_channels=True)
    assert list(loaded.channels) == ["echo"]
    made = loaded.channels["echo"]({"ECHO_WORD": "hey"})
    assert (made.source, getattr(made, "word", "")) == ("echo", "hey")
    with pytest.raises(ConfigError, match=r"channels/echo\.py needs ECHO_WORD, which") as caught:
        loaded.channels["echo"]({})
    assert not isinstance(caught.value, DefinitionError), (
        "it is the environment that lacks something"
    )
    assert caught.value.fix.startswith("set ECHO_WORD")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            ECHO.replace('"echo"', '"slack"'),
            ":17: makes the channel 'slack', but a channel is named",
        ),
        (ECHO.replace("async def reconcile", "async def _no"), "it has no reconcile()"),
        ("def channel(env):\n    return None\n", ":1: returns a NoneType, which is no channel"),
        ("def channel():\n    return None\n", "fails when it is called: TypeError: channel()"),
        ("def channel(env):\n    raise SystemExit(2)\n", ":2: fails when it is called: SystemExit"),
        (
            OPTIONS % "follow='never'",
            ":4: follow='never' isn't one of its values. fix: write \"thread\"",
        ),
        (OPTIONS % "folow='thread'", ":4: fails when it is called: TypeError: rules() got an un"),
        (OPTIONS % "folow='thread'", "fix: rules takes follow, replace_in_flight, bots, external,"),
        (OPTIONS % "folow='thread'", '(did you mean "follow"?)'),
    ],
)
def test_a_channel_that_cannot_be_made(code: str, said: str, tmp_path: Path) -> None:
    code = code.replace('env["ECHO_WORD"]', '"hey"')
    (problem,) = refusal(write(tmp_path, {"channels/echo.py": code}), "echo")
    assert problem.startswith("channels/echo.py:")
    assert said in problem
    assert "_agent_directory_" not in problem


def test_a_file_that_makes_none(tmp_path: Path) -> None:
    root = write(tmp_path, {"channels/echo.py": "x = 1\nchannel = 7\n"})
    with pytest.raises(DefinitionError, match=r"echo\.py:2: defines no channel\. fix: write def"):
        load_agent(root, env={}, run_channels=True)


@pytest.mark.parametrize(
    ("channels", "there"), [(("slack", "email"), "there is email, slack"), ((), "there is none")]
)
def test_approvals_on_a_channel_that_isnt_there(
    channels: tuple[str, ...], there: str, tmp_path: Path
) -> None:
    routes = '    approvals={\n        "refunds": "slak:C0123",\n    },'
    files = {f"channels/{name}.py": "def channel(env): ...\n" for name in channels}
    root = write(tmp_path, {"agent.py": agent_py(routes), **files})
    with pytest.raises(DefinitionError) as refused:
        load_agent(root, env={})
    (problem,) = refused.value.problems
    assert str(problem).replace(f"{root}/", "") == (
        f"agent.py:7: shows refunds at slak:C0123, but there is no channel slak; {there}. fix: write"
        " channels/slak.py, or name a channel that is there"
    )
    loaded = load_agent(root, env={}, sources={"slak"})
    assert loaded.agent.approvals == {"refunds": "slak:C0123"}, "an application may mount it"
