"""What is no HTTP request at all is told as a problem too, and costs the log one line."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from gateway.engine.kinds import JsonObject
from gateway.host.app import HostRunner
from gateway.values import ApiToken, Secret
from tests.unit.host.world import running

SECRET = "k-1234567890abcdef"


@dataclass(frozen=True, slots=True)
class Raw:
    """A response as it came, and that the connection ended behind it."""

    status: int
    content_type: str
    body: JsonObject


async def say(url: str, raw: bytes) -> Raw:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(raw)
        async with asyncio.timeout(10):
            answer = await reader.read()  # to the end: the host closes
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    assert headers["cache-control"] == "no-store"
    return Raw(
        int(status.split()[1]), headers["content-type"], cast("JsonObject", json.loads(body))
    )


MALFORMED = [
    b"nonsense\r\n\r\n",
    b"\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nno colon here\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
    + SECRET.encode()
    + b"\x00\r\n\r\n",
    b"POST /message HTTP/1.1\r\nHost: a\r\nContent-Length: minus one\r\n\r\n",
]
TOO_LONG = [
    b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: " + b"x" * 9000 + b"\r\n\r\n",
]


@pytest.mark.parametrize("raw", [*MALFORMED, *TOO_LONG])
async def test_what_is_no_request_is_a_problem_and_one_line(
    raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with running() as gateway:
            answer = await say(gateway.client.url, raw)
            assert (await gateway.client.get("/healthz")).status == 200
    assert (answer.status, answer.content_type) == (400, "application/problem+json")
    assert answer.body["type"] == "urn:june:problem:bad_request"
    assert answer.body["title"] == "Bad Request"
    assert (answer.body["status"], answer.body["code"]) == (400, "bad_request")
    assert ("too long" in str(answer.body["detail"])) is (raw in TOO_LONG)
    assert answer.body["fix"]
    told = [one for one in caplog.records if "isn't HTTP" in one.getMessage()]
    assert [one.levelno for one in told] == [logging.INFO]
    assert not [one for one in caplog.records if one.exc_info]
    assert SECRET not in caplog.text + json.dumps(answer.body)


@pytest.mark.parametrize("path", ["/message", "/channels/slack", "/nowhere", "/console/sign-in"])
async def test_a_body_that_isnt_what_it_says_costs_one_line(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"
    )
    async with running(tokens=(ApiToken("one", Secret("the-one-secret")),)) as gateway:
        with caplog.at_level(logging.INFO):
            answer = await say(gateway.client.url, head.encode() + b"x" * 20)
    assert answer.status in {401, 404}
    assert not [one for one in caplog.records if one.exc_info]
    assert "a body can't be read" in caplog.text


async def test_who_sends_no_whole_request_is_cut_and_who_is_answered_is_not() -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(6):
            await asyncio.sleep(0.1)
            await response.write(b".")
        return response

    app = web.Application()
    app.router.add_get("/", slow)
    runner = HostRunner(app, shutdown_timeout=1, idle=0.2)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        for sent, told in [
            (b"", b""),
            (b"GET / HTTP/1.1\r\nHost: a\r\n", b""),
            # Answered for longer than it may be idle; the next request never becomes whole.
            (b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /", b"......"),
        ]:
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(sent)
                async with asyncio.timeout(10):
                    came = await reader.read()  # to the end: the host closes
            finally:
                writer.close()
            assert b"".join(re.findall(rb"\r\n(\.)\r\n", came)) == told
    finally:
        await runner.cleanup()


async def test_what_goes_wrong_beyond_the_routes_leaves_only_its_id(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(_: web.Request) -> web.StreamResponse:
        raise RuntimeError("the database's address")

    app = web.Application()
    app.router.add_get("/", broken)
    runner = HostRunner(app, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        with caplog.at_level(logging.ERROR, "gateway.host"):
            answer = await say(url, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    finally:
        await runner.cleanup()
    assert (answer.status, answer.content_type) == (500, "application/problem+json")
    assert "address" not in json.dumps(answer.body)
    (record,) = [one for one in caplog.records if one.name == "gateway.host"]
    assert str(record.__dict__["error_id"]) in str(answer.body["fix"])
