"""The stream that tells an open page to look again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gateway.engine.outcomes import TurnInput
from gateway.host.console.access.guard import SESSION
from tests.support.http import Stream
from tests.unit.host.console.office import Person, office

PATH = "/console/session/live?agent=june&key=s1"


@asynccontextmanager
async def following(
    person: Person, after: str = "", last: str = ""
) -> AsyncGenerator[Stream, None]:
    headers = {"Cookie": f"{SESSION}={person.token}", "Accept": "text/event-stream"}
    if last:
        headers["Last-Event-ID"] = last
    url = f"{person.client.url}{PATH}" + (f"&after={after}" if after else "")
    async with person.client.http.get(url, headers=headers) as response:
        assert response.status == 200, await response.text()
        yield Stream(response)


async def ids(stream: Stream, count: int) -> list[str]:
    """The cursors of the next frames, as they stand on the wire."""
    found: list[str] = []
    async for raw in stream.response.content:
        name, _, value = raw.decode().strip().partition(": ")
        if name == "event":
            assert value == "refresh"
        if name == "id":
            found.append(value)
            if len(found) == count:
                break
    return found


async def test_what_was_missed_is_told_and_then_what_happens() -> None:
    async with office() as desk:
        await desk.say("hello")
        ada = await desk.person("ada", "viewer")
        # started, said, usage, completed
        async with following(ada) as stream:
            first = await ids(stream, 5)
            assert first == ["1.0", "1.1", "1.2", "1.3", "1.4"]
            await desk.say("again")
            assert await ids(stream, 5) == ["2.0", "2.1", "2.2", "2.3", "2.4"]


async def test_who_comes_back_is_told_nothing_twice_and_misses_nothing() -> None:
    async with office() as desk:
        await desk.say("hello")
        ada = await desk.person("ada", "viewer")
        async with following(ada, after="1.1") as stream:
            assert await ids(stream, 2) == ["1.2", "1.3"]
        # The header of a browser that comes back goes before the address of its first visit.
        async with following(ada, after="1.1", last="1.3") as stream:
            assert await ids(stream, 1) == ["1.4"]
        async with following(ada, after="1.4") as stream:
            await desk.say("again")
            assert await ids(stream, 1) == ["2.0"]


async def test_a_cursor_that_is_none_begins_at_the_beginning() -> None:
    async with office() as desk:
        await desk.say("hello")
        ada = await desk.person("ada", "viewer")
        for cursor in ("x", "1", "1.2.3", "-1.0"):
            async with following(ada, after=cursor) as stream:
                assert await ids(stream, 1) == ["1.0"]


async def test_the_turn_that_has_the_move_is_followed_not_the_one_behind_it() -> None:
    async with office() as desk:
        await desk.say("call gift 1")
        session = desk.gateway.api.runtime.session("june", "s1")
        await session.start(TurnInput(message="behind"), when_suspended="queue")
        ada = await desk.person("ada")
        async with following(ada, after="1.0") as stream:
            assert (await ids(stream, 1))[0] == "1.1"
            waiting = await ada.json("/console/approvals.json")
            assert isinstance(waiting["approvals"], list)
            one = waiting["approvals"][0]
            assert isinstance(one, dict)
            path = f"/console/approvals/{one['id']}"
            await ada.press("/console", path, digest=str(one["digest"]), decision="deny")
            told: list[str] = []
            while not told or told[-1] != "2.4":
                told += await ids(stream, 1)
            assert told == sorted(set(told), key=lambda cursor: [*map(int, cursor.split("."))])


async def test_nobody_follows_without_signing_in() -> None:
    async with office() as desk:
        await desk.say("hello")
        answer = await desk.gateway.client.get(PATH, {"Accept": "text/event-stream"})
        assert (answer.status, answer.code) == (401, "unauthenticated")
        ada = await desk.person("ada", "viewer")
        headers = {"Cookie": f"{SESSION}={ada.token}", "Accept": "text/event-stream"}
        nowhere = await desk.gateway.client.get("/console/session/live?agent=june&key=x", headers)
        assert (nowhere.status, nowhere.code) == (404, "not_found")
