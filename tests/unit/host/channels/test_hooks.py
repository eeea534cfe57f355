"""What reaches a channel's webhook, and what is told to a stranger where something doesn't."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from tests.support.http import Client
from tests.unit.host.channels.echo import STORE_IS_AWAY, Echo
from tests.unit.host.channels.stage import staged
from tests.unit.host.world import running, until


async def send(client: Client, raw: bytes, path: str = "/channels/echo") -> tuple[int, str]:
    async with client.http.post(client.url + path, data=raw) as response:
        body = (await response.read()).decode()
        return response.status, body


async def spoken(client: Client, raw: bytes, then: bytes = b"") -> bytes:
    """The first line of what these bytes are answered with."""
    host, port = client.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(raw)
    line = await reader.readline()
    writer.write(then)
    writer.close()
    await writer.wait_closed()
    return line


async def test_a_request_reaches_its_handler_and_comes_back() -> None:
    async with staged([Echo()]) as stage:
        answer = await stage.client.get("/channels/echo/seen?a=1&a=2&b=", {"X-Echo": "Hey"})
        assert answer.status == 201
        assert answer.headers["X-Echoed"] == "yes"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.json == {
            "query": {"a": ["1", "2"], "b": [""]},
            "path": "/seen",
            "x-echo": "Hey",
        }


@pytest.mark.parametrize(
    "path", ["/channels/none", "/channels/echo/", "/channels/echo/other", "/channels/echo/seen/x"]
)
async def test_nothing_is_where_no_channel_put_it(path: str) -> None:
    async with staged([Echo()]) as stage:
        answer = await stage.client.post(path)
        assert (answer.status, answer.code) == (404, "not_found")


async def test_another_method_is_told_the_right_one() -> None:
    async with staged([Echo()]) as stage:
        for method, path, allowed in (
            ("GET", "/channels/echo", "POST"),
            ("POST", "/channels/echo/seen", "GET"),
        ):
            answer = await stage.client.ask(method, path)
            assert (answer.status, answer.code) == (405, "method_not_allowed")
            assert answer.headers["Allow"] == allowed


async def test_a_body_beyond_the_routes_own_limit_is_not_read() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        status, _ = await send(stage.client, b"x" * 1001)
        assert status == 413

        async def chunks() -> object:
            for _ in range(11):
                yield b"x" * 100

        url = stage.client.url + "/channels/echo"
        async with stage.client.http.post(url, data=chunks()) as response:
            assert response.status == 413
        assert (await stage.client.post("/channels/echo/seen")).status == 405


async def test_a_body_that_does_not_come() -> None:
    async with staged([Echo()]) as stage:
        stage.api.hook_patience = 0.05
        head = b"POST /channels/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
        assert b"408" in await spoken(stage.client, head + b"abc", then=b"defghi")


async def test_a_header_given_twice_is_refused() -> None:
    async with staged([Echo()]) as stage:
        head = b"GET /channels/echo/seen HTTP/1.1\r\nHost: x\r\nX-Echo: a\r\nx-echo: b\r\n\r\n"
        assert b"400" in await spoken(stage.client, head)


async def test_what_each_proxy_on_the_way_adds_is_one_list() -> None:
    async with staged([Echo()]) as stage:
        head = (
            b"GET /channels/echo/seen HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.1.1.1\r\n"
            b"Via: 1.1 a\r\nx-forwarded-for: 10.0.0.1\r\nVia: 1.1 b\r\n\r\n"
        )
        answer = await spoken(stage.client, head)
        assert b"201" in answer


async def test_a_store_that_is_away_asks_for_another_try() -> None:
    async with staged([Echo(fails=STORE_IS_AWAY)]) as stage:
        answer = await stage.client.post("/channels/echo", {"id": "1", "text": "hi"})
        assert (answer.status, answer.code) == (503, "store_unavailable")
        assert answer.headers["Retry-After"] == "1"
        assert b"disk" not in answer.raw


async def test_any_other_fault_tells_an_id_and_nothing_that_was_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with staged([Echo()]) as stage:
        with caplog.at_level(logging.INFO, "gateway.host"):
            status, body = await send(stage.client, b"my card is 4242")
    assert status == 500
    assert "JSON" not in body
    told = json.loads(body)
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert str(record.__dict__["error_id"]) in told["fix"]
    assert "JSONDecodeError" in record.getMessage()
    assert "4242" not in caplog.text
    assert "4242" not in body


async def test_a_hook_that_would_exit_ends_its_request_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    channel = Echo(fails=SystemExit("4242"))
    async with staged([channel]) as stage:
        status, body = await send(stage.client, b'{"id": "1", "text": "hi"}')
        channel.fails = None
        assert (await send(stage.client, b'{"id": "1", "text": "hi"}'))[0] == 200
    assert status == 500
    assert "echo.py" in caplog.text, "the log has the place in the channel"
    assert "4242" not in caplog.text + body


async def test_a_host_without_channels_has_no_webhooks() -> None:
    async with running() as gateway:
        assert (await gateway.client.post("/channels/echo")).status == 404


async def test_what_a_webhook_brings_is_answered_where_it_came_from() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        told = {"id": "1", "text": "hi", "fetch": {"what": "news"}}
        answer = await stage.client.post("/channels/echo", told)
        assert (answer.status, answer.raw) == (200, b"accepted")
        assert (await stage.client.post("/channels/echo", told)).raw == b"duplicate"
        await until(lambda: bool(channel.shown))
        ((place, text),) = channel.shown
        assert place == "room"
        assert text.startswith("you said: ")
        assert "hi" in text
        counted = (await stage.client.get("/metrics")).raw.decode()
        assert 'gateway_verdicts_total{source="echo",verdict="duplicate"} 1' in counted
        assert 'gateway_webhooks_total{channel="echo",status="200"} 2' in counted
        path = "/agents/june/sessions/echo:room/transcript"
        first = (await stage.client.get(path)).rows("messages")[0]
        assert "before: news" in json.dumps(first)
