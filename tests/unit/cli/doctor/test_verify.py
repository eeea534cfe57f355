"""``gateway slack verify`` against the emulator and a host: what it would do, what it does, what it leaves."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gateway.cli.doctor.verify.trial import STEPS
from gateway.engine.kinds import JsonObject
from gateway.testing.slack import Fault
from tests.support.cli import Ran, Shell
from tests.unit.cli.doctor.clinic import Clinic, clinic, running


async def verify(ill: Clinic, *words: str, **changes: str) -> Ran:
    settings = {
        **ill.place.settings,
        "GATEWAY_AGENT": str(ill.folder / "agent"),
        "GATEWAY_STATE": str(ill.folder / "state"),
        **changes,
    }
    shell = Shell(ill.folder, **settings)
    channel = ("--channel", ill.place.support.id)
    return await asyncio.to_thread(shell.run, "slack", "verify", *channel, *words)


def outcomes(ran: Ran) -> dict[str, str]:
    steps = ran.object["steps"]
    assert isinstance(steps, list)
    rows: list[JsonObject] = [step for step in steps if isinstance(step, dict)]
    return {str(row["step"]): str(row["outcome"]) for row in rows}


def said(ran: Ran, step: str) -> str:
    steps = ran.object["steps"]
    assert isinstance(steps, list)
    return next(str(s["said"]) for s in steps if isinstance(s, dict) and s["step"] == step)


async def test_by_itself_it_sends_nothing_and_says_what_it_would(tmp_path: Path) -> None:
    async with running(tmp_path) as well:
        before = len(well.slack.journal.calls)
        ran = await verify(well)
        assert ran.code == 0
        assert f"posts one message in {well.place.support.id} (chat.postMessage)" in ran.out
        assert [line.split()[1] for line in ran.out.splitlines()] == [*STEPS]
        assert "nothing was sent; to do it: gateway slack verify" in ran.err
        assert len(well.slack.journal.calls) == before


async def test_all_of_it_works_and_nothing_is_left(tmp_path: Path) -> None:
    async with running(tmp_path) as well:
        ran = await verify(well, "--post", "--json")
        assert ran.code == 0, ran.out
        assert outcomes(ran) == dict.fromkeys(STEPS, "ok")
        assert said(ran, "token") == "june in acme"
        assert well.slack.shown(well.place.support) == []
        assert well.slack.pinged == [], "nobody is disturbed"
        assert well.slack.journal.trouble == []


async def test_without_a_host_the_way_back_is_left_out(tmp_path: Path) -> None:
    async with clinic(tmp_path) as well:
        ran = await verify(well, "--post", "--json")
        assert (ran.code, outcomes(ran)["event"]) == (0, "skipped")
        assert said(ran, "event") == "no host runs on this state directory: gateway serve"


async def test_a_step_that_fails_is_told_and_what_was_posted_goes(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.slack.faults.add(Fault("not_ok", "chat.startStream", error="restricted_action"))
        ran = await verify(ill, "--post", "--json")
        assert ran.code == 3
        assert outcomes(ran) == {
            **dict.fromkeys(STEPS, "ok"),
            "stream": "failed",
            "event": "skipped",
        }
        assert said(ran, "stream") == "chat.startStream answers restricted_action"
        assert ill.slack.shown(ill.place.support) == []


async def test_nothing_is_posted_where_the_bot_isnt(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.place.support.members.discard(ill.place.june.user)
        ran = await verify(ill, "--post", "--json")
        assert ran.code == 3
        assert outcomes(ran) == {"token": "ok", "permissions": "ok", "channel": "failed"}
        assert said(ran, "channel") == "the bot isn't in it: /invite it there"
        assert {call.method for call in ill.slack.journal.calls} == {
            "auth.test",
            "conversations.info",
        }


async def test_what_stays_is_named(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.slack.faults.add(Fault("not_ok", "chat.delete", error="cant_delete_message"))
        ran = await verify(ill, "--post", "--json")
        assert (ran.code, outcomes(ran)["delete"]) == (3, "failed")
        assert said(ran, "delete").endswith("(cant_delete_message)")


async def test_what_it_cant_begin_with(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ran = await verify(ill, "--post", SLACK_BOT_TOKEN="")
        assert (ran.code, "fix: set SLACK_BOT_TOKEN" in ran.err) == (3, True)
        shell = Shell(tmp_path)
        named = await asyncio.to_thread(shell.run, "slack", "verify", "--channel", "#support")
        assert (named.code, "#support is no channel's id" in named.err) == (2, True)
