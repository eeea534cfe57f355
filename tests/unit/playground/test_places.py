"""The channels that an agent's files name are there to be looked into."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from gateway.config import Settings
from gateway.host.compose import load
from gateway.playground.running import open_playground
from tests.support.cli import ROOT

SCHEDULE = "---\ncron: '0 9 * * *'\ntarget: slack:C0STANDUP\n---\nSum up.\n"


async def test_a_channel_that_is_named_while_it_runs_is_there_then(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    await asyncio.to_thread(
        shutil.copytree, ROOT / "agent", agent, ignore=shutil.ignore_patterns("__pycache__")
    )
    read = {
        "GATEWAY_AGENT": str(agent),
        "GATEWAY_STATE": str(tmp_path),
        "GATEWAY_MODEL": "scripted",
    }
    settings = Settings.load(read, toml_path=None)
    async with open_playground(settings) as playground:
        office = playground.office
        asker = office.personas["asker"]
        playground.places(await asyncio.to_thread(load, playground.settings))
        (agent / "schedules" / "standup.md").write_text(SCHEDULE)
        playground.places(await asyncio.to_thread(load, playground.settings))
        names = [channel.name for channel in office.channels(asker)]
        assert "ops" in names
        assert [one.id for one in office.channels(asker)].count("C0STANDUP") == 1
        assert not any(":" in name for name in names), "no channel is called that"
