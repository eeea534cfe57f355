"""Fixtures for tests of an agent; pytest finds them by itself, and nothing runs unless a test names one.

``agent`` is the agent directory, ``clock`` its time, ``slack`` a workspace that it is in. What they are made
from is a fixture each, to be replaced in ``conftest.py``.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

if TYPE_CHECKING:
    import asyncio

    from gateway.testing.agents import AgentUnderTest
    from gateway.testing.time import FakeClock
    from gateway.testing.workspace import SlackUnderTest


@pytest.fixture
def agent_directory(request: pytest.FixtureRequest) -> Path:
    """Where the agent is: ``agent/`` in the nearest folder above the test that has one."""
    for folder in request.path.parents:
        if (folder / "agent" / "agent.py").is_file():
            return folder / "agent"
    pytest.fail(f"no agent/agent.py above {request.path}; name it in a fixture agent_directory")


@pytest.fixture
def agent_env() -> dict[str, str]:
    """The environment that the agent's services and channels are built from."""
    return {}


@pytest.fixture
def agent_database(tmp_path: Path) -> str:
    """``memory://`` is quicker, outlives no crash, and has no tables for tools."""
    return f"sqlite:///{tmp_path / 'agent.db'}"


@pytest.fixture
def clock() -> FakeClock:
    from gateway.testing.time import FakeClock

    return FakeClock()


@pytest.fixture
def agent_loop() -> Generator[asyncio.Runner]:
    import asyncio

    with asyncio.Runner() as loop:
        yield loop


@pytest.fixture
def slack(agent_loop: asyncio.Runner, clock: FakeClock) -> Generator[SlackUnderTest]:
    from gateway.testing.slack import playground
    from gateway.testing.workspace import SlackUnderTest

    opened = playground(clock)
    play = agent_loop.run(opened.__aenter__())
    play.slack.app().socket = True
    yield SlackUnderTest(play, agent_loop)
    agent_loop.run(opened.__aexit__(None, None, None))


@pytest.fixture
def agent(  # noqa: PLR0913, PLR0917 - each is a fixture, to be replaced on its own
    request: pytest.FixtureRequest,
    tmp_path: Path,
    agent_directory: Path,
    agent_database: str,
    agent_env: dict[str, str],
    agent_loop: asyncio.Runner,
    clock: FakeClock,
) -> Generator[AgentUnderTest]:
    from gateway.testing.agents import AgentUnderTest

    workspace: SlackUnderTest | None = None
    settings: Mapping[str, str] = {}
    if "slack" in request.fixturenames:
        workspace = cast("SlackUnderTest", request.getfixturevalue("slack"))
        settings = workspace.play.settings
    running = AgentUnderTest(
        agent_directory,
        tmp_path / ".gateway",
        loop=agent_loop,
        clock=clock,
        env={**settings, **agent_env},
        database=agent_database,
    )
    if workspace is not None:
        workspace.agent = running
    yield running
    running.close()
