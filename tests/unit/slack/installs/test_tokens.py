"""Which token opens what: one workspace by a setting, many by what they installed, none once it is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from channels.contract import RetryLater
from channels.slack.calls import Ambiguous
from channels.slack.installs.bare import Bare
from channels.slack.installs.tokens import Tokens
from gateway.engine.struct import replace
from gateway.sealing import make_sealer
from gateway.testing.slack import Fault
from tests.unit.emulator.stage import serving
from tests.unit.slack.installs.browser import browser
from tests.unit.slack.installs.grounds import Stand, standing


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with standing() as found:
        yield found


# -- one workspace ---------------------------------------------------------------------------------
async def test_one_token_is_known_by_its_workspace(stand: Stand) -> None:
    tokens = await stand.host(stand.settings(single=True))
    me = await tokens.installed(stand.key)
    assert me is not None
    assert (me.team, me.bot_user, me.bot_id) == (
        stand.key,
        stand.play.june.user,
        stand.play.june.bot,
    )
    assert await tokens.token(stand.key) == stand.play.june.token
    assert tokens.problem is None
    assert await tokens.installed("T404") is None
    assert await tokens.token("T404") is None
    assert await tokens.renewed(stand.key, "xoxb-emulated-x") is None


async def test_a_silent_slack_delays_nothing_and_is_asked_again(stand: Stand) -> None:
    fault = stand.play.slack.faults.add(Fault("http_500", "auth.test", count=None))
    tokens = await stand.host(stand.settings(single=True))
    asked = stand.calls("auth.test")
    me = await tokens.installed("T404")
    assert me is not None
    assert me.key == "T404", "taken at its word until Slack has answered"
    assert await tokens.token("T404") == stand.play.june.token
    assert "can't be asked" in (tokens.problem or "")
    await stand.play.slack.until(lambda: fault.struck >= 3)
    assert stand.calls("auth.test") > asked
    stand.play.slack.faults.repair()
    await _until(lambda: tokens.problem is None)
    assert await tokens.installed("T404") is None


async def test_a_workspace_that_is_moved_into_an_organisation_is_asked_until_it_is_back(
    stand: Stand,
) -> None:
    moving = Fault("not_ok", "auth.test", count=None, error="org_login_required")
    stand.play.slack.faults.add(moving)
    tokens = await stand.host(stand.settings(single=True))
    assert "being moved" in (tokens.problem or "")
    with pytest.raises(RetryLater):
        await tokens.gone(stand.key, "revoked")
    stand.play.slack.faults.repair()
    await _until(lambda: tokens.problem is None)


async def test_a_slow_slack_holds_the_start_for_a_moment_only(stand: Stand) -> None:
    stand.play.slack.faults.add(Fault("slow", "auth.test", seconds=60))
    before = stand.ground.time.monotonic()
    tokens = await stand.host(stand.settings(single=True))
    assert stand.ground.time.monotonic() - before < 30
    await _until(lambda: tokens.problem is None)


async def test_a_refused_token_is_named_with_what_to_do(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    settings = replace(stand.settings(single=True), bot_token="xoxb-emulated-typo")
    tokens = await stand.host(settings)
    assert "SLACK_BOT_TOKEN (invalid_auth): copy it again" in (tokens.problem or "")
    assert "typo" not in caplog.text


async def test_a_restart_with_a_good_token_revives_what_died_of_the_old_one(stand: Stand) -> None:
    died = await stand.dead(f"installation:{stand.key}")
    await stand.host(stand.settings(single=True))
    found = await stand.ledger.delivery(died.id)
    assert found is not None
    assert found.state == "due"


async def test_one_workspace_that_removes_the_app_is_off(stand: Stand) -> None:
    tokens = await stand.host(stand.settings(single=True))
    stand.play.slack.uninstall(stand.play.june)
    await tokens.gone(stand.key, "uninstalled")
    assert await tokens.token(stand.key) is None
    me = await tokens.installed(stand.key)
    assert me is not None
    assert not me.active
    assert "SLACK_BOT_TOKEN" in (tokens.problem or "")


async def test_news_of_an_older_token_takes_nothing_away(stand: Stand) -> None:
    tokens = await stand.host(stand.settings(single=True))
    await tokens.gone(stand.key, "revoked")
    assert await tokens.token(stand.key) == stand.play.june.token


async def test_who_asks_before_the_start_waits_for_it(stand: Stand) -> None:
    tokens = Tokens(stand.settings(single=True))
    found: list[str | None] = []

    async def ask() -> None:
        found.append(await tokens.token(stand.key))

    async with asyncio.TaskGroup() as group:
        group.create_task(ask())
        await asyncio.sleep(0)
        assert not found
        await tokens.start(stand.ground)
    assert found == [stand.play.june.token]
    await tokens.stop()


# -- many --------------------------------------------------------------------------------------------
async def test_a_workspace_that_is_not_installed_has_nothing(stand: Stand) -> None:
    tokens = await stand.host()
    assert await tokens.installed(stand.key) is None
    assert await tokens.token(stand.key) is None


async def test_an_installation_is_read_once_for_many_events(stand: Stand) -> None:
    await (await browser(stand)).through()
    tokens = await stand.host()
    token = await tokens.token(stand.key)
    await stand.ground.store.close()
    assert await tokens.token(stand.key) == token
    assert await tokens.installed(stand.key) is not None
    await stand.ground.store.open()


async def test_another_hosts_news_is_heard_within_seconds(stand: Stand) -> None:
    await (await browser(stand)).through()
    here, there = await stand.host(), await stand.host()
    assert await here.token(stand.key) is not None
    stand.play.slack.uninstall(stand.play.june)
    await there.gone(stand.key, "uninstalled")
    stand.ground.time.ahead(6)
    assert await here.token(stand.key) is None


async def test_an_uninstalled_app_forgets_its_token(stand: Stand) -> None:
    await (await browser(stand)).through()
    tokens = await stand.host()
    stand.play.slack.uninstall(stand.play.june)
    await tokens.gone(stand.key, "revoked")
    row = await stand.row()
    assert (row.state, row.sealed, row.expires_at) == ("revoked", b"", None)
    await tokens.gone(stand.key, "uninstalled")
    await tokens.gone(stand.key, "revoked")
    assert (await stand.row()).state == "uninstalled"
    assert await tokens.token(stand.key) is None
    me = await tokens.installed(stand.key)
    assert me is not None
    assert not me.active
    await tokens.gone("T404", "revoked")


async def test_a_reinstall_revives_what_died_meanwhile(stand: Stand) -> None:
    ada = await browser(stand)
    await ada.through()
    tokens = await stand.host()
    stand.play.slack.uninstall(stand.play.june)
    await tokens.gone(stand.key, "uninstalled")
    ours = await stand.dead(f"installation:{stand.key}", "t1")
    other = await stand.dead("installation:T404", "t2")
    await ada.through()
    assert (await stand.row()).state == "active"
    states = [await stand.ledger.delivery(one.id) for one in (ours, other)]
    assert [one.state if one else "" for one in states] == ["due", "dead"]
    stand.ground.time.ahead(6)
    assert await tokens.token(stand.key) is not None


async def test_late_news_of_the_removal_does_not_undo_a_reinstall(stand: Stand) -> None:
    ada = await browser(stand)
    await ada.through()
    stand.play.slack.uninstall(stand.play.june)
    await ada.through()
    tokens = await stand.host()
    await tokens.gone(stand.key, "revoked")
    await tokens.gone(stand.key, "uninstalled")
    assert (await stand.row()).state == "active"


async def test_news_that_cannot_be_checked_waits(stand: Stand) -> None:
    await (await browser(stand)).through()
    tokens = await stand.host()
    stand.play.slack.faults.add(Fault("http_500", "auth.test"))
    with pytest.raises(RetryLater) as later:
        await tokens.gone(stand.key, "revoked")
    assert later.value.at > stand.now
    assert (await stand.row()).state == "active"


async def test_a_lost_key_is_complained_of_once_by_its_setting(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    await (await browser(stand)).through()
    stand.ground.sealer = make_sealer(["other" * 10])
    tokens = await stand.host()
    for _ in range(3):
        assert await tokens.token(stand.key) is None
        stand.ground.time.ahead(6)
    lines = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert len(lines) == 1
    assert "GATEWAY_SECRET_KEYS" in lines[0].getMessage()


@pytest.mark.parametrize("status", [302, 307])
async def test_a_secret_follows_no_redirect(stand: Stand, status: int) -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(await request.text())
        return web.json_response({"ok": True})

    async with serving(elsewhere) as url:

        async def away(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": url})

        async with serving(away) as home:
            bare = Bare(home.removesuffix("slack"), stand.ground.waits)
            found = await bare.ask("slack", {"client_secret": "s3"})
            await bare.close()
    assert isinstance(found, Ambiguous)
    assert seen == []


async def test_without_keys_the_status_says_so(stand: Stand) -> None:
    stand.ground.sealer = None
    assert "GATEWAY_SECRET_KEYS" in ((await stand.host()).problem or "")


async def test_a_changed_key_seals_anew_on_the_next_save(stand: Stand) -> None:
    ada = await browser(stand)
    await ada.through()
    old = stand.ground.sealer
    stand.ground.sealer = make_sealer(["new" * 12, "k" * 64])
    again = await browser(stand)
    tokens = await stand.host()
    assert await tokens.token(stand.key) is not None, "the old key still opens"
    await again.through()
    stand.ground.sealer = make_sealer(["new" * 12])
    assert await (await stand.host()).token(stand.key) is not None
    assert old is not None


async def _until(holds: object) -> None:
    assert callable(holds)
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.01)
