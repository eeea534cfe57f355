"""Fixtures for tests of an agent; pytest finds them by itself, and nothing runs unless a test names one.

``agent`` is the agent directory, ``clock`` its time, ``slack`` a workspace that it is in, ``mail`` an inbox that
it answers. What they are made from is a fixture each, to be replaced in ``conftest.py``.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import asyncio

    from gateway.testing.agents import AgentUnderTest
    from gateway.testing.inbox import MailUnderTest
    from gateway.testing.time import FakeClock
    from gateway.testing.workspace import SlackUnderTest

BESIDE = ("slack", "mail")
"""Fixtures that an agent is set up to use where a test names them."""


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
def mail(agent_loop: asyncio.Runner, clock: FakeClock) -> Generator[MailUnderTest]:
    from gateway.testing.inbox import MailUnderTest
    from gateway.testing.mail import MailServer

    server = MailServer(now=clock.now)
    agent_loop.run(server.start())
    yield MailUnderTest(server, agent_loop)
    agent_loop.run(server.stop())


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
    from gateway.testing.beside import Beside

    named = [request.getfixturevalue(one) for one in BESIDE if one in request.fixturenames]
    beside = [one for one in named if isinstance(one, Beside)]
    running = AgentUnderTest(
        agent_directory,
        tmp_path / ".gateway",
        loop=agent_loop,
        clock=clock,
        env={name: value for one in beside for name, value in one.settings.items()} | agent_env,
        database=agent_database,
    )
    for one in beside:
        one.agent = running
    yield running
    running.close()
