"""``gateway why``: an event, a place or a turn, by whatever of it somebody has at hand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.outbox.reference import reference_of
from tests.support.cli import Serving, Shell
from tests.unit.intake.events import acted, person, reply_to, said
from tests.unit.intake.world import stage

ROOT = Path(__file__).parents[3]
TURN = "talk:T1:C1:1.1"
SECRET = "the-launch-code-is-0000"


@pytest.fixture
async def shell(tmp_path: Path) -> Shell:
    """A state directory in which a few things came in."""
    found = Shell(tmp_path, GATEWAY_AGENT=str(ROOT / "agent"))
    path = await asyncio.to_thread(database, found)
    async with stage(f"sqlite:///{path}") as here:
        await here.receive(said(SECRET))
        await here.receive(said(SECRET, event="EvCopy"))
        await here.receive(said(SECRET))
        await here.receive(reply_to("7.7", SECRET, ts="7.8", speaker=person("talk:T1:U2")))
        await here.receive(acted("stop", "EvStop"))
        await here.ended(TURN)
        for ts in ("1.3", "1.4", "1.5"):
            await here.receive(reply_to("1.1", "we see", ts=ts, author="self"))
    return found


def database(shell: Shell) -> Path:
    where = shell.folder / ".gateway" / "gateway.db"
    where.parent.mkdir(exist_ok=True)
    return where


async def test_why_explains_by_event_place_turn_and_reference(shell: Shell) -> None:
    def look() -> None:
        refused = shell.ok("why", "Ev7.8").out
        assert "not addressed: it replies in a thread that we take no part in" in refused
        assert "(not-taking-part)" in refused
        assert "talk:T1:U2" in refused

        place = shell.ok("why", TURN).out
        assert "accepted: it mentions us (mention)" in place
        assert f"gateway turns show {TURN}" in place
        assert "1 copy since" in place
        assert "it is kept, and acted on next (stop:kept)" in place

        copy = shell.ok("why", "EvCopy", "--json").list
        assert [(row["verdict"], row["rule"], row["turn_id"]) for row in copy] == [
            ("duplicate", "post-claimed", TURN)
        ]
        for what in ("C1:1.1", reference_of(TURN)):
            events = {str(row["event"]) for row in shell.ok("why", what, "--json").list}
            assert {"Ev1.1", "EvCopy"} <= events, what
        assert SECRET not in refused + place + str(copy)

    await asyncio.to_thread(look)


async def test_echoes_of_our_own_posts_are_left_out_of_a_place(shell: Shell) -> None:
    def look() -> None:
        def words(*asked: str) -> list[object]:
            return [row["verdict"] for row in shell.ok("why", *asked, "--json").list]

        assert "own_echo" not in words(TURN)
        assert words(TURN, "--all").count("own_echo") == 3
        assert words("C1:1.1", "--limit", "1") == words(TURN, "--limit", "1") != ["own_echo"]
        assert words("Ev1.4") == ["own_echo"], "the event itself was asked for"
        assert "the latest 1;" in shell.ok("why", TURN, "--limit", "1").err

    await asyncio.to_thread(look)


async def test_what_nobody_sent_is_not_found(shell: Shell) -> None:
    def look() -> None:
        ran = shell.run("why", "EvNever", "--json")
        assert ran.code == 4
        assert ran.error["code"] == "not_found"

    await asyncio.to_thread(look)


async def test_a_host_that_runs_tells_the_same(shell: Shell) -> None:
    def look() -> None:
        alone = shell.ok("why", TURN, "--json").list
        with Serving(shell):
            assert shell.ok("why", TURN, "--json").list == alone

    await asyncio.to_thread(look)
