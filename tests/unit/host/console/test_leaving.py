"""Whoever may no longer see or decide, whatever is already on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gateway.host.console.access.access import Access
from gateway.host.console.access.guard import SESSION
from gateway.host.console.access.people import switched, with_role
from tests.conformance.store_kit import PATIENCE
from tests.unit.host.console.office import Office, Person, office

PAUSE = "/console/schedules/digest/pause"


def access_of(at: Office) -> Access:
    access = at.gateway.api.access
    assert access is not None
    return access


async def disable(access: Access) -> None:
    await access.people.change("ada", switched(off=True))


async def lower(access: Access) -> None:
    await access.people.change("ada", with_role("viewer"))


async def trickled(at: Office, desk: Person, body: bytes, between: Awaitable[None]) -> bytes:
    """Post a form whose body comes in two parts; the answer."""
    host, _, port = at.gateway.client.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"POST {PAUSE} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {SESSION}={desk.token}\r\n"
        "Connection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body[:10])
    await writer.drain()
    await asyncio.sleep(0.2)  # so that the host waits for the rest
    await between
    writer.write(body[10:])
    await writer.drain()
    async with asyncio.timeout(PATIENCE):
        answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("change", "told"), [(disable, b"Location: /console/sign-in"), (lower, b" 403 ")]
)
async def test_a_form_that_comes_slowly_is_judged_when_it_is_whole(
    change: Callable[[Access], Awaitable[None]], told: bytes
) -> None:
    async with office() as at:
        ada = await at.person("ada", "admin")
        csrf = (await ada.get("/console/schedules/digest")).field("csrf")
        answer = await trickled(at, ada, f"csrf={csrf}".encode(), change(access_of(at)))
        assert told in answer


async def test_an_open_stream_ends_for_whoever_was_disabled() -> None:
    async with office() as at:
        ada = await at.person("ada", "viewer")
        await at.say("hello")
        url = f"{at.gateway.client.url}/console/session/live?key=s1"
        cookie = {"Cookie": f"{SESSION}={ada.token}"}
        async with at.gateway.client.http.get(url, headers=cookie) as response:
            assert await response.content.readuntil(b"\n\n") == b": open\n\n"
            await disable(access_of(at))
            async with asyncio.timeout(PATIENCE):
                await response.content.read()  # to its end, and there is one
        assert (await ada.get("/console")).status == 303
