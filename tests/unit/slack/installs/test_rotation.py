"""A refresh token is good for once: whoever asks, however many, on whichever host, Slack is asked once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from channels.slack.api import SlackWeb
from channels.slack.calls import NotNow, Ok, Refused
from channels.slack.installs.tokens import Tokens
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.testing.slack import Fault
from tests.unit.slack.installs.browser import browser
from tests.unit.slack.installs.grounds import Stand, standing

HOUR = 3600.0


@pytest.fixture
async def stand() -> AsyncIterator[Stand]:
    async with standing() as found:
        found.play.slack.app().rotates = True
        await (await browser(found)).through()
        found.play.slack.journal.calls.clear()
        yield found


async def renewed(hosts: Sequence[Tokens], stand: Stand, stale: str, each: int) -> set[str | None]:
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(host.renewed(stand.key, stale)) for host in hosts for _ in range(each)
        ]
    return {task.result() for task in tasks}


async def test_twenty_callers_are_one_refresh(stand: Stand) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    (fresh,) = await renewed([host], stand, stale, 20)
    assert fresh not in {stale, None}
    assert stand.refreshes() == 1
    assert await host.token(stand.key) == fresh
    row = await stand.row()
    assert row.expires_at is not None
    assert abs(row.expires_at - stand.now - 12 * HOUR * 1000) < 60_000


async def test_two_hosts_are_one_refresh(stand: Stand) -> None:
    hosts = [await stand.host(), await stand.host()]
    stale = await stand.expire(stand.play.june)
    stand.play.slack.faults.add(Fault("slow", "oauth.v2.access", seconds=2))
    (fresh,) = await renewed(hosts, stand, stale, 10)
    assert fresh not in {stale, None}
    assert stand.refreshes() == 1
    assert {await host.token(stand.key) for host in hosts} == {fresh}


async def test_a_call_that_finds_its_token_expired_gets_through(stand: Stand) -> None:
    host = await stand.host()
    assert await host.token(stand.key) is not None
    await stand.expire(stand.play.june)
    api = SlackWeb(host, stand.play.slack.api_url, waits=stand.ground.waits)
    await api.open()
    try:
        args = {"channel": stand.play.support.id, "text": "hello"}
        outcome = await api.call(stand.key, "chat.postMessage", {**args})
        assert isinstance(outcome, NotNow), (
            "the token was renewed; nothing was done under the old one"
        )
        assert isinstance(await api.call(stand.key, "chat.postMessage", {**args}), Ok)
    finally:
        await api.close()
    assert stand.refreshes() == 1


async def test_it_is_saved_before_it_is_used(stand: Stand) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    fresh = await host.renewed(stand.key, stale)
    assert await (await stand.host()).token(stand.key) == fresh


async def test_who_stops_waiting_does_not_cost_the_token(stand: Stand) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    stand.play.slack.faults.add(Fault("slow", "oauth.v2.access", seconds=5))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await host.renewed(stand.key, stale)
    fresh = await host.renewed(stand.key, stale)
    assert fresh not in {stale, None}
    assert stand.refreshes() == 1


async def test_a_host_that_stops_saves_what_slack_has_handed_out(stand: Stand) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    stand.play.slack.faults.add(Fault("slow", "oauth.v2.access", seconds=5))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await host.renewed(stand.key, stale)
    await host.stop()
    other = await stand.host()
    assert await other.token(stand.key) not in {stale, None}
    assert stand.refreshes() == 1


async def test_two_hours_before_it_ends_it_is_renewed_beside_the_work(stand: Stand) -> None:
    host = await stand.host()
    first = await host.token(stand.key)
    stand.ground.time.ahead(9.9 * HOUR)
    assert await host.token(stand.key) == first
    assert stand.refreshes() == 0
    stand.ground.time.ahead(0.2 * HOUR)
    assert await host.token(stand.key) == first, "nobody waits for it"
    await stand.play.slack.until(lambda: stand.refreshes() == 1)
    async with asyncio.timeout(5):
        while await host.token(stand.key) == first:
            await asyncio.sleep(0.01)
    assert stand.refreshes() == 1


async def test_an_expired_one_is_renewed_before_slack_has_to_say_so(stand: Stand) -> None:
    host = await stand.host()
    first = await host.token(stand.key)
    stand.ground.time.ahead(13 * HOUR)
    assert await host.token(stand.key) not in {first, None}
    assert stand.refreshes() == 1


async def test_what_slack_refuses_is_not_asked_again_and_again(
    stand: Stand, caplog: pytest.LogCaptureFixture
) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    stand.play.slack.faults.add(Fault("not_ok", "oauth.v2.access", error="invalid_refresh_token"))
    assert await renewed([host], stand, stale, 5) == {None}
    assert stand.refreshes() == 1
    assert "/channels/slack/install" in caplog.text
    assert "emulated" not in caplog.text


async def test_a_refused_call_stays_refused_then(stand: Stand) -> None:
    host = await stand.host()
    await stand.expire(stand.play.june)
    stand.play.slack.faults.add(Fault("not_ok", "oauth.v2.access", error="invalid_refresh_token"))
    api = SlackWeb(host, stand.play.slack.api_url, waits=stand.ground.waits)
    await api.open()
    try:
        outcome = await api.call(stand.key, "auth.test", {})
        assert isinstance(outcome, Refused)
        assert outcome.code == "token_expired"
    finally:
        await api.close()


async def test_trouble_is_waited_out_and_what_died_of_it_comes_back(stand: Stand) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    died = await stand.dead(f"installation:{stand.key}")
    stand.play.slack.faults.add(Fault("rate_limited", "oauth.v2.access", count=2))
    with pytest.raises(StoreUnavailableError, match="can't be renewed now"):
        await host.renewed(stand.key, stale)
    await stand.play.slack.until(lambda: stand.refreshes() == 3)
    async with asyncio.timeout(5):
        while True:
            found = await stand.ledger.delivery(died.id)
            if found is not None and found.state == "due":
                break
            await asyncio.sleep(0.01)
    assert await host.token(stand.key) not in {stale, None}


async def test_a_reinstall_during_the_refresh_wins() -> None:
    async with standing(speed=8.0) as stand:
        stand.play.slack.app().rotates = True
        ada = await browser(stand)
        await ada.through()
        host = await stand.host()
        stale = await stand.expire(stand.play.june)
        before = stand.refreshes()
        stand.play.slack.faults.add(Fault("slow", "oauth.v2.access", seconds=8))
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(host.renewed(stand.key, stale))
            await stand.play.slack.until(lambda: stand.refreshes() > before)
            await ada.through()
            newest = await (await stand.host()).token(stand.key)
            assert not asked.done()
        assert asked.result() == newest
        assert await (await stand.host()).token(stand.key) == newest


async def test_a_host_that_dies_with_the_lease_holds_nobody_up_for_ever(stand: Stand) -> None:
    host = await stand.host()
    stale = await stand.expire(stand.play.june)
    name = f"slack:rotate:{stand.key}"
    assert await stand.ledger.hold(name, "dead host", Millis(100))
    assert await host.renewed(stand.key, stale) not in {stale, None}


async def test_a_token_that_does_not_rotate_is_left_alone(stand: Stand) -> None:
    stand.play.slack.app().rotates = False
    await (await browser(stand)).through()
    stand.play.slack.journal.calls.clear()
    host = await stand.host()
    token = await host.token(stand.key)
    assert token is not None
    stand.ground.time.ahead(100 * HOUR)
    assert await host.token(stand.key) == token
    assert await host.renewed(stand.key, token) is None
    assert stand.refreshes() == 0
