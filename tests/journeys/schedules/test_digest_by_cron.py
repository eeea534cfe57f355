"""Journey 3: a digest by cron."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.outcomes import TurnInput
from gateway.testing.slack import Channel, Shown, SlackEmulator
from tests.journeys.slack_stage import Calendar, Stage, altered, furnished

pytestmark = pytest.mark.timeout(90)

PARIS = ZoneInfo("Europe/Paris")
SUMMER, WINTER = "2027-07-05", "2027-01-11"
"""Mondays."""


def at(text: str) -> Millis:
    return Millis(int(datetime.fromisoformat(text).replace(tzinfo=PARIS).timestamp() * 1000))


class Morning:
    """A host whose june writes her digest into #ops, at a time of its own."""

    def __init__(self, stage: Stage, ops: Channel) -> None:
        self.stage = stage
        self.ops = ops

    def by_june(self) -> list[Shown]:
        return [one for one in self.stage.slack.shown(self.ops) if one.author == "june"]

    def to(self, text: str) -> float:
        """Seconds from now until the clock on the wall in Paris shows this."""
        return (at(text) - self.stage.time.now()) / 1000

    def wait_for(self, text: str) -> None:
        self.stage.time.skip(self.to(text))

    async def digest(self) -> Shown:
        await self.stage.until(lambda: bool(self.by_june()))
        await self.stage.slack.settled(20)
        [shown] = self.by_june()
        return shown

    async def row(self) -> JsonObject:
        """``gateway schedules list``."""
        [row] = await self.stage.gateway("schedules", "list")
        return row

    async def last(self) -> JsonObject:
        found = (await self.row())["last"]
        assert isinstance(found, dict)
        return found


@asynccontextmanager
async def morning(folder: Path, start: str) -> AsyncGenerator[Morning]:
    calendar = Calendar(10.0, at(start))
    async with SlackEmulator(time=calendar) as slack:
        office = furnished(slack)
        ops = office.ops
        agent = altered(folder, "schedules/daily_digest.md", "C0000000OPS", ops.id)
        stage = Stage(office, folder, calendar, {"GATEWAY_AGENT": str(agent)})
        await stage.open()
        try:
            yield Morning(stage, ops)
        finally:
            await stage.close()


@pytest.mark.parametrize(
    ("day", "utc"), [(SUMMER, "07:00+00:00"), (WINTER, "08:00+00:00")], ids=["summer", "winter"]
)
async def test_at_nine_one_message_appears_in_ops(tmp_path: Path, day: str, utc: str) -> None:
    async with morning(tmp_path, f"{day}T08:50:00") as on:
        on.wait_for(f"{day}T08:59:55")
        shown = await on.digest()
        assert "5 orders: 2 delivered" in shown.text
        assert "Needs a person: 1046" in shown.text
        message = on.stage.slack.world.messages[on.ops.id][shown.ts]
        assert message.thread is None  # in the channel, below nothing
        last = await on.last()
        assert last["due"] == at(f"{day}T09:00")
        assert last["due"] == Millis(int(datetime.fromisoformat(f"{day}T{utc}").timestamp() * 1000))
        assert (last["outcome"], last["state"], last["why"]) == ("fired", "completed", "")


async def test_a_reply_in_its_thread_goes_on_with_what_june_knew(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T08:50:00") as on:
        on.wait_for(f"{WINTER}T08:59:55")
        shown = await on.digest()
        await on.stage.office.lead.say(on.ops, "thanks", thread=shown)
        thread = on.stage.slack.thread
        await on.stage.until(lambda: any("welcome" in one.text for one in thread(on.ops, shown)))
        last = await on.last()
        session = on.stage.host.runtime.session("june", str(last["session"]))
        told = [message.role for message in await session.transcript()]
        assert told == ["trigger", "assistant", "tool", "assistant", "user", "assistant"]


async def test_all_hosts_were_down_over_it_it_comes_late_and_says_so(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T08:50:00") as on:
        await on.stage.close()
        on.wait_for(f"{WINTER}T09:20")
        assert on.by_june() == []
        await on.stage.open()
        shown = await on.digest()
        assert "due at 09:00 and comes late, by 20 min" in shown.text
        last = await on.last()
        assert (last["due"], last["why"]) == (at(f"{WINTER}T09:00"), "late by 20 min")


async def test_down_for_longer_than_its_window_it_doesnt_come_and_says_why(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T08:50:00") as on:
        await on.stage.redeploy(after=on.to(f"{WINTER}T10:30"))
        await on.stage.until(lambda: on.stage.time.now() > at(f"{WINTER}T10:30:20"))
        last = await on.last()
        assert last["outcome"] == "skipped"
        assert "longer ago than its window" in str(last["why"])
        assert on.by_june() == []


async def test_nothing_to_report_posts_nothing_and_the_list_says_so(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T08:00:00") as on:
        # An order that is asked about is there; then none is late any more.
        session = on.stage.host.runtime.session("june", "s")
        await session.result((await session.start(TurnInput(message="where is 1046?"))).turn_id)
        with closing(sqlite3.connect(tmp_path / "gateway.db")) as db:
            db.execute("update shop_orders set status = 'delivered' where status = 'late'")
            db.commit()
        await on.stage.redeploy(after=on.to(f"{WINTER}T08:59:55"))
        await on.stage.until(lambda: on.stage.time.now() > at(f"{WINTER}T09:00:10"))
        last = await on.last()
        assert (last["outcome"], last["state"]) == ("fired", "completed")
        assert last["quiet"] == "no order needs a person"
        assert last["turn_id"]
        assert delivery(last)["state"] == "silent"
        assert on.by_june() == []
        assert on.stage.slack.journal.count("chat.postMessage", "chat.startStream") == 0


async def test_the_list_shows_next_and_last_run_and_that_it_was_delivered(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T08:50:00") as on:
        on.wait_for(f"{WINTER}T08:59:55")
        shown = await on.digest()
        row = await on.row()
        assert row["next"] == at("2027-01-12T09:00")
        sent = delivery(await on.last())
        ref = f"slack:{on.stage.office.june.key}:{on.ops.id}:{shown.ts}"
        assert (sent["state"], sent["ref"]) == ("done", ref)


async def test_paused_it_is_passed_over_with_the_reason(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T08:30:00") as on:
        await on.stage.gateway("schedules", "pause", "daily_digest")
        await on.stage.redeploy(after=on.to(f"{WINTER}T08:59:55"))
        await on.stage.until(lambda: on.stage.time.now() > at(f"{WINTER}T09:00:30"))
        last = await on.last()
        assert last["outcome"] == "skipped"
        assert str(last["why"]).startswith("paused by cli:")
        assert on.by_june() == []


async def test_it_can_be_run_by_hand_before_its_time(tmp_path: Path) -> None:
    async with morning(tmp_path, f"{WINTER}T07:00:00") as on:
        [fired] = await on.stage.gateway("schedules", "run", "daily_digest")
        await on.digest()
        last = await on.last()
        assert last["turn_id"] == fired["turn_id"]
        assert str(last["by"]).startswith("cli:")
        assert (await on.row())["next"] == at(f"{WINTER}T09:00")


def delivery(last: JsonObject) -> JsonObject:
    found: Json = last["delivery"]
    assert isinstance(found, dict)
    return found
