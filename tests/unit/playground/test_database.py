"""Whose database it is: a playground takes an empty one or its own, and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config import Settings
from gateway.engine.errors import ConfigError
from gateway.engine.outcomes import TurnInput
from gateway.host.compose import open_host
from gateway.playground.database import claim
from gateway.playground.running import own_settings
from tests.support.cli import ROOT, Shell


def settings(tmp_path: Path, **more: str) -> Settings:
    read = {
        "GATEWAY_STATE": str(tmp_path),
        "GATEWAY_AGENT": str(ROOT / "agent"),
        "GATEWAY_MODEL": "scripted",
    }
    return Settings.load({**read, **more}, toml_path=None)


async def say_something(settings: Settings) -> None:
    async with open_host(settings) as host:
        session = host.runtime.session("june", "s1")
        await session.result((await session.start(TurnInput(message="hello"))).turn_id)


async def test_an_empty_database_is_marked_and_stays_its_own(tmp_path: Path) -> None:
    mine = own_settings(settings(tmp_path))
    assert mine.database_url.endswith("/dev.db")
    await claim(mine)
    await say_something(mine)
    await claim(mine)


async def test_an_empty_postgres_is_marked(tmp_path: Path, postgres_url: str) -> None:
    mine = settings(tmp_path, DATABASE_URL=postgres_url)
    assert own_settings(mine).database_url == postgres_url
    await claim(mine)
    await claim(mine)


@pytest.mark.timeout(60)  # starts two processes
async def test_somebodys_conversations_are_no_place_to_play(tmp_path: Path) -> None:
    theirs = f"sqlite:///{tmp_path / 'theirs.db'}"
    found = settings(tmp_path, DATABASE_URL=theirs)
    await say_something(found)
    with pytest.raises(ConfigError, match="isn't a playground's"):
        await claim(found)
    shell = Shell(tmp_path, DATABASE_URL=theirs, GATEWAY_AGENT=str(ROOT / "agent"))
    for command in (("dev", "--port", "0"), ("fakes", "start", "slack")):
        ran = shell.run("--json", *command)
        assert ran.code == 3, ran
        assert "isn't a playground's" in str(ran.error["message"])
        assert "unset DATABASE_URL" in str(ran.error["fix"])


@pytest.mark.timeout(60)  # starts a process
@pytest.mark.parametrize("name", ["SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET"])
def test_a_real_workspace_is_no_place_to_play(tmp_path: Path, name: str) -> None:
    shell = Shell(tmp_path, GATEWAY_AGENT=str(ROOT / "agent"), **{name: "xoxb-1-2-real"})
    ran = shell.run("--json", "dev", "--port", "0")
    assert ran.code == 3, ran
    assert name in str(ran.error["message"])
    assert "xoxb-1-2-real" not in ran.out + ran.err
    assert not (tmp_path / ".gateway").exists()
