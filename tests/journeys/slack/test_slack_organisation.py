"""The app's installation in a workspace is replaced by one for its whole organisation: what was begun before
doesn't go on, and nobody is left to guess.

Source: "Migrating existing apps to Enterprise Grid" in Slack's docs (docs.slack.dev).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from channels.slack.emulator.world import tenancy
from tests.journeys.slack_clerk import clerk, desk
from tests.journeys.slack_stage import Stage

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with clerk(tmp_path) as stage:
        corp = stage.slack.enterprise("corp").id
        acme = stage.slack.workspace("acme").team
        acme.enterprise = corp
        world = stage.slack.world
        for user in world.users.values():
            user.enterprise = corp
        for made in world.installs:
            made.enterprise = corp
        yield stage


async def replaced(on: Stage) -> tuple[str, str]:
    """By the organisation's installation, whose token is set; both of their keys."""
    world, app = on.slack.world, on.slack.app()
    made = tenancy.install(world, app, on.slack.enterprise("corp"), app.scopes)
    before = world.installs.pop(0)
    on.settings = {**on.settings, "SLACK_BOT_TOKEN": made.token}
    await on.redeploy()
    return before.key, made.key


async def test_nothing_of_what_doesnt_go_on_is_silent(
    on: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    asker = on.office.asker
    root = await on.ask("@june ask about leave")
    card = await on.card(root)
    await on.ask("@june hold on and count")
    await on.until(lambda: desk(on).thinking == 1)
    with caplog.at_level(logging.WARNING, "gateway.slack"):
        old, new = await replaced(on)
    said = f"answers and cards were begun by installation {old}, and SLACK_BOT_TOKEN is of {new}"
    assert [one for one in caplog.records if said in one.getMessage()]
    ledger = on.host.runtime.store.ledger
    desk(on).gate.set()
    async with asyncio.timeout(25):
        while not (dead := await ledger.deliveries(state="dead")):
            await asyncio.sleep(0.02)
    assert "mention it in the thread anew" in str(dead[0].error)

    await asker.click(card, "Approve")
    await on.until(lambda: bool(on.told(asker)))
    assert "Nothing was done" in on.told(asker)[-1]
    (request,) = await on.gateway("approvals", "list")
    assert on.office.by_june(root)[-1].ts == card.ts

    await on.ask("and more", thread=root)
    await on.ask("@june count", thread=root)
    await on.says(root, "You said: count")
    assert "leave" in str(request)
