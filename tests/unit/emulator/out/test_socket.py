"""Socket Mode with the SDK's own client and Bolt's handler on the other end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.emulator import Fault
from tests.unit.emulator.stage import Play, buttons, http


@pytest.fixture
def on_socket(play: Play) -> Play:
    play.app.socket = True
    return play


@asynccontextmanager
async def line(
    play: Play, *, autoping: bool = True
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A connection by hand, past its greeting."""
    opened = await play.client(play.app.app_token).apps_connections_open(
        app_token=play.app.app_token
    )
    async with (
        http() as session,
        session.ws_connect(str(opened["url"]), autoping=autoping) as socket,
    ):
        hello = await socket.receive_json()
        assert hello["type"] == "hello"
        assert hello["connection_info"] == {"app_id": play.app.id}
        yield socket


async def next_of(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    while True:
        envelope: dict[str, Any] = await asyncio.wait_for(socket.receive_json(), 5)  # noqa: TID251
        if envelope["payload"].get("event", envelope["payload"])["type"] == kind:
            return envelope
        await socket.send_json({"envelope_id": envelope["envelope_id"]})


async def test_an_envelope_comes_again_until_it_is_acknowledged(on_socket: Play) -> None:
    play = on_socket
    async with line(play) as socket:
        await play.ada.say(play.support, "hello")
        first = await next_of(socket, "message")
        assert (first["type"], first["retry_attempt"]) == ("events_api", 0)
        assert first["accepts_response_payload"] is False
        await play.time.advance(3)
        second = await next_of(socket, "message")
        assert (second["retry_attempt"], second["retry_reason"]) == (1, "timeout")
        assert second["envelope_id"] != first["envelope_id"]
        assert second["payload"]["event_id"] == first["payload"]["event_id"]
        await socket.send_json({"envelope_id": second["envelope_id"]})
        await play.slack.settled()
    assert [a.outcome for a in play.slack.journal.deliveries[0].attempts] == ["no_ack", "acked"]


async def test_a_ticket_is_good_for_one_connection(on_socket: Play) -> None:
    play = on_socket
    token = play.app.app_token
    opened = await play.client(token).apps_connections_open(app_token=token)
    async with http() as session:
        async with session.ws_connect(str(opened["url"])) as socket:
            await socket.receive_json()
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await session.ws_connect(str(opened["url"]))
        play.app.socket = False
        answer = await play.refused("apps.connections.open", token=token)
        assert answer == "socket_mode_not_enabled"


async def test_the_eleventh_connection_is_one_too_many(on_socket: Play) -> None:
    play = on_socket
    async with http() as session:
        lines: list[aiohttp.ClientWebSocketResponse] = []
        for _ in range(11):
            token = play.app.app_token
            opened = await play.client(token).apps_connections_open(app_token=token)
            lines.append(await session.ws_connect(str(opened["url"])))
        greetings = [await socket.receive_json() for socket in lines]
        for socket in lines:
            await socket.close()
    assert [g["type"] for g in greetings] == ["hello"] * 10 + ["disconnect"]
    assert greetings[9]["num_connections"] == 10


async def test_what_arrives_goes_to_any_of_the_lines(on_socket: Play) -> None:
    play = on_socket
    async with line(play) as one, line(play) as other:
        await play.ada.say(play.support, "a")
        await play.ada.say(play.support, "b")
        for socket in (one, other):
            envelope = await next_of(socket, "message")
            await socket.send_json({"envelope_id": envelope["envelope_id"]})
        await play.slack.settled()


async def test_an_interactive_envelope_takes_its_answer_along(on_socket: Play) -> None:
    play = on_socket
    play.app.commands["/june"] = ""
    play.app.events.clear()
    async with line(play) as socket, asyncio.TaskGroup() as both:
        typing = both.create_task(play.ada.command(play.support, "/june hi"))
        envelope = await asyncio.wait_for(socket.receive_json(), 5)  # noqa: TID251
        assert (envelope["type"], envelope["payload"]["command"]) == ("slash_commands", "/june")
        assert envelope["accepts_response_payload"] is True
        assert "retry_attempt" not in envelope
        answer = {"envelope_id": envelope["envelope_id"], "payload": {"text": "hello"}}
        await socket.send_json(answer)
        assert json.loads((await typing).text) == {"text": "hello"}
    assert [m.text for m in play.slack.private(play.ada)] == ["hello"]


async def test_a_mute_socket_says_nothing_not_even_pong(on_socket: Play) -> None:
    play = on_socket
    async with line(play, autoping=False) as socket:
        await socket.ping(b"a")
        pong = await socket.receive(timeout=5)
        assert (pong.type, bytes(pong.data)) == (aiohttp.WSMsgType.PONG, b"a")
        play.slack.outlet.sockets.mute(play.app.id)
        await play.ada.say(play.support, "hello")
        await socket.ping(b"b")
        await play.time.advance(3)
        with pytest.raises(TimeoutError):
            await socket.receive(timeout=0.1)


async def test_a_line_that_breaks_at_an_event(on_socket: Play) -> None:
    play = on_socket
    play.slack.faults.add(Fault("socket_disconnect", "socket"))
    async with line(play) as socket:
        await play.ada.say(play.support, "hello")
        assert (await socket.receive(timeout=5)).type is aiohttp.WSMsgType.CLOSE
    async with line(play) as socket:
        await play.time.advance(60)
        envelope = await next_of(socket, "message")
        await socket.send_json({"envelope_id": envelope["envelope_id"]})
        await play.slack.settled()
    assert play.slack.journal.deliveries[0].acked


async def test_bolt_listens_reconnects_and_hears_a_click(on_socket: Play) -> None:
    play = on_socket
    client = AsyncWebClient(token=play.june.token, base_url=play.slack.api_url)
    bolt = AsyncApp(client=client)
    heard: list[str] = []

    @bolt.event("app_mention")
    async def mentioned(event: dict[str, Any]) -> None:
        heard.append(event["text"])
        await client.chat_postMessage(
            channel=event["channel"], thread_ts=event["ts"], text="?", blocks=buttons("Approve")
        )

    @bolt.event("message")
    async def said() -> None:
        pass

    @bolt.action("approve")
    async def approved(ack: Any, body: dict[str, Any]) -> None:
        await ack()
        heard.append(body["user"]["id"])

    handler = AsyncSocketModeHandler(bolt, play.app.app_token, web_client=client)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    try:
        asked = await play.ada.mention(play.support, "@june hello")
        await play.slack.until(lambda: len(play.slack.thread(play.support, asked)) == 2)
        await play.slack.settled()
        await play.slack.outlet.sockets.disconnect(play.app.id)
        await play.slack.until(lambda: len(play.slack.outlet.sockets.of(play.app.id)) == 1, 10)
        shown = play.slack.thread(play.support, asked)[1]
        assert (await play.ada.click(shown, "Approve")).good
        await play.slack.until(lambda: len(heard) == 2)
    finally:
        await close(handler)
    assert heard == [f"<@{play.june.user}> hello", play.ada.id]


async def close(handler: AsyncSocketModeHandler) -> None:
    """Close the SDK's client and wait for the three tasks that it only cancels."""
    inner: Any = handler.client
    tasks = [
        inner.message_processor,
        inner.current_session_monitor,
        inner.message_receiver,
    ]
    await handler.close_async()  # type: ignore[no-untyped-call]
    await asyncio.wait([task for task in tasks if task is not None])
