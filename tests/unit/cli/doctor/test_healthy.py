"""Where nothing is wrong, nothing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.cli.doctor.examine import examine
from tests.unit.cli.doctor.clinic import clinic, running
from tests.unit.cli.doctor.test_state_faults import ROUTELESS


@pytest.mark.parametrize("socket", [False, True])
async def test_nothing_is_said_of_a_host_that_is_well(tmp_path: Path, socket: bool) -> None:
    async with running(tmp_path, socket=socket) as well:
        assert await well.look() == {}
        assert await well.look("slack") == {}
        assert await well.look(online=False) == {}


async def test_nor_before_the_first_start(tmp_path: Path) -> None:
    async with clinic(tmp_path) as well:
        assert await well.look(online=False) == {}
        assert not (tmp_path / "state").exists()


async def test_nor_of_an_agent_that_isnt_to_be_in_slack(tmp_path: Path) -> None:
    async with clinic(tmp_path) as well:
        nothing = dict.fromkeys(well.place.settings, "")
        well.agent({"channels/slack.py": None, "schedules/daily.md": None, "agent.py": ROUTELESS})
        assert await examine(well.settings(**nothing), online=True) == []


async def test_looking_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as well:
        before = len(well.slack.journal.calls)
        await well.look()
        asked = {call.method for call in well.slack.journal.calls[before:]}
        assert asked == {"auth.test", "conversations.info"}
        assert well.slack.journal.trouble == []
