"""One fault each of the line for Socket Mode: found, by its own name, with the exact way out."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.testing.time import ScaledTime
from tests.unit.cli.doctor.clinic import Clinic, clinic, running

REWRITE = "gateway slack manifest > manifest.yml"


async def muted(ill: Clinic) -> None:
    """Whatever line is opened, nothing comes on it; as with a proxy that lets only the opening through."""
    while True:
        ill.slack.outlet.sockets.mute(ill.slack.app().id)
        await asyncio.sleep(0.01)


async def test_a_line_that_is_mute(tmp_path: Path) -> None:
    time = ScaledTime(10)
    async with clinic(tmp_path, time=time, socket=True) as ill:
        host = await ill.start(waits=time)
        async with asyncio.TaskGroup() as group:
            muting = group.create_task(muted(ill))
            await ill.complains("lines to Slack open and go silent")
            async with asyncio.timeout(60):
                while "slack.mute" not in (found := await ill.look("slack", online=False)):
                    pass  # a line was being opened just then
            muting.cancel()
        mute = found["slack.mute"]
        assert mute.title == "the line to Slack opens and then nothing is heard on it"
        assert mute.fix.text == (
            "Let WebSockets (wss) to Slack through the firewall or proxy, with pings and without a"
            " time limit"
        )
        await ill.slack.until(lambda: host.api.registry.problem("slack") is None, 20)


async def test_a_second_instance_on_one_token(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    async with clinic(tmp_path, socket=True) as other:
        await other.start()
        ill = Clinic(tmp_path / "two", other.place, other.leads)
        ill.agent()
        try:
            await ill.start()
            await ill.complains("another process holds a line to Slack")
            found = await ill.only("slack.second", "slack", online=False)
        finally:
            await ill.stop()
        assert found.title == (
            "another process listens with the same SLACK_APP_TOKEN, and takes some of the events"
        )
        assert found.fix.text == (
            "Stop the other one, or make an app of its own for it: gateway slack manifest"
        )


async def test_socket_mode_is_off_in_the_app(tmp_path: Path) -> None:
    async with clinic(tmp_path, socket=True) as ill:
        ill.changes.update(ill.place.settings, SLACK_SIGNING_SECRET="")
        ill.slack.app().socket = False
        found = await ill.only("slack.socket", "slack")
        assert found.evidence == "apps.connections.open answers socket_mode_not_enabled"
        assert found.fix.text == "On the app's page, Socket Mode, switch it on"


async def test_an_app_token_without_its_permission(tmp_path: Path) -> None:
    async with clinic(tmp_path, socket=True) as ill:
        token = ill.slack.world.tokens[ill.slack.app().app_token]
        token.scopes = ("authorizations:read",)
        found = await ill.only("slack.socket", "slack")
        assert found.evidence == "apps.connections.open answers missing_scope"
        assert found.fix.text == (
            "On the app's page, Basic Information, make an App-Level Token with connections:write and"
            " set SLACK_APP_TOKEN to it"
        )


async def test_both_ways_at_once(tmp_path: Path) -> None:
    async with clinic(tmp_path, socket=True) as ill:
        found = await ill.look("slack", SLACK_SIGNING_SECRET="emulated-1")
        assert found["slack.mode"].severity == "warning"
        assert found["slack.mode"].fix.text == (
            "Leave out SLACK_SIGNING_SECRET for Socket Mode, or SLACK_APP_TOKEN for HTTP; then write"
            " the manifest anew"
        )


async def test_the_app_sends_by_the_other_way(tmp_path: Path) -> None:
    async with running(tmp_path, socket=True) as ill:
        ill.edit("socket_mode_enabled: true", "socket_mode_enabled: false")
        found = await ill.only("slack.mode", "slack")
        assert found.title == (
            "the gateway waits for events by Socket Mode, and the app sends them by HTTP"
        )
        assert found.fix.text == (
            "Write the manifest anew and paste it on the app's page under App Manifest"
        )
        assert found.fix.command == REWRITE
