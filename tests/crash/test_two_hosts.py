"""Two real hosts on one PostgreSQL behind one Slack: whichever is asked, clicked at or killed, people see
one agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from gateway.cli.demo.office import Office
from gateway.cli.demo.proof import refunds
from gateway.testing.slack import Message, Shown, SlackEmulator
from tests.journeys.slack_stage import Process, furnished, pressed

pytestmark = [pytest.mark.crash, pytest.mark.postgres, pytest.mark.timeout(150)]

PATIENCE = 30.0
LEASES = 90.0
"""Seconds in which what a dead host held is surely taken over."""
BOOKS = "payments-stub.db"


@dataclass(slots=True)
class Pair:
    office: Office
    one: Process
    two: Process
    state: Path
    database: str

    @property
    def slack(self) -> SlackEmulator:
        return self.office.slack

    def turn_to(self, host: Process) -> None:
        """What Slack sends goes to this host from now on."""
        app = self.slack.app()
        app.request_url = app.interactivity_url = f"{host.url}/channels/slack"

    async def until(self, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
        await self.slack.until(holds, seconds)

    async def ask(self, words: str, thread: Message | None = None) -> Message:
        return await self.office.asker.say(self.office.orders, words, thread=thread)

    async def says(self, root: Message, words: str, seconds: float = PATIENCE) -> None:
        await self.until(lambda: bool(self.office.saying(root, words)), seconds)
        await self.until(lambda: self.office.at_rest(root), seconds)

    async def card(self, root: Message) -> Shown:
        await self.until(lambda: self.office.card(root) is not None)
        card = self.office.card(root)
        assert card is not None
        return card

    async def asked_books(self) -> list[tuple[str, int]]:
        rows = await asyncio.to_thread(refunds, self.state)
        return [(row.order_id, row.asked) for row in rows]

    def forget(self, host: Process) -> None:
        """Let all that a dead host held lapse now, as it would by itself in half a minute."""
        mine = f"%:{host.pid}:%"
        with psycopg.connect(self.database) as db:
            db.execute("DELETE FROM gw.hosts WHERE id LIKE %s", (mine,))
            for table in ("deliveries", "inbox"):
                lapse = f"UPDATE gw.{table} SET lease = clock_timestamp() WHERE owner LIKE %s"
                db.execute(lapse.encode(), (mine,))
            db.execute("DELETE FROM gw.leases WHERE owner LIKE %s", (mine,))

    def sender(self) -> Process | None:
        """The host that delivers something now."""
        with psycopg.connect(self.database) as db:
            row = db.execute("SELECT owner FROM gw.deliveries WHERE state = 'sending'").fetchone()
        owner = "" if row is None else str(row[0])
        return next((h for h in (self.one, self.two) if f":{h.pid}:" in owner), None)


@pytest.fixture(params=[False])
async def on(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str
) -> AsyncGenerator[Pair]:
    """Both hosts run, and share the books of the one payments provider."""
    async with SlackEmulator() as slack:
        office = furnished(slack)
        slack.app().socket = bool(request.param)
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
            (folder / BOOKS).symlink_to(tmp_path / BOOKS)
        one, two = (Process(office, at, DATABASE_URL=postgres_url) for at in folders)
        try:
            await one.start()
            await two.start()
            pair = Pair(office, one, two, tmp_path, postgres_url)
            pair.turn_to(one)
            yield pair
        finally:
            await one.bury()
            await two.bury()


async def test_any_host_serves_any_message_and_any_click(on: Pair) -> None:
    root = await on.ask("@june refund 1042, it arrived broken")
    card = await on.card(root)
    press = pressed(card, "Approve")
    async with asyncio.TaskGroup() as fast:
        for host in (on.two, on.one):
            on.turn_to(host)
            fast.create_task(on.office.lead.forged(card, press))
            await asyncio.sleep(0)
    await on.says(root, "Refunded $42.50")
    on.turn_to(on.two)
    await on.office.second.forged(card, press)
    await on.until(lambda: bool(on.slack.private(on.office.second)))
    assert "lready approved by" in on.slack.private(on.office.second)[0].text
    await on.ask("and where is 1043?", root)
    await on.says(root, "Order 1043")
    assert await on.asked_books() == [("1042", 1)]
    assert [len(on.office.saying(root, words)) for words in ("Refunded", "Order 1043")] == [1, 1]


async def die_in_mid_delivery(on: Pair, forget: bool) -> None:
    """Whoever writes the answer is killed while it does."""
    journal, dead = on.slack.journal, list[Process]()
    root = await on.ask("@june where is order 1042?")
    await on.until(lambda: journal.count("chat.startStream", "chat.postMessage") > 0)
    sender = await asyncio.to_thread(on.sender)
    sender = sender or on.one  # it was quicker than we
    sender.kill()
    dead.append(sender)
    on.turn_to(on.two if sender is on.one else on.one)
    if forget:
        await asyncio.to_thread(on.forget, sender)
    await on.says(root, "Order 1042", LEASES)
    (answer,) = on.office.by_june(root)
    assert answer.text.count("left with a neighbour on Tuesday.") == 1
    assert answer.streaming != "in_progress"
    await on.ask("and 1043?", root)
    await on.says(root, "Order 1043", LEASES)
    assert len(on.office.by_june(root)) == 2


async def test_one_is_killed_in_mid_delivery_and_the_other_finishes_it(on: Pair) -> None:
    await die_in_mid_delivery(on, forget=True)


@pytest.mark.slow
async def test_the_other_finishes_it_once_the_lease_has_lapsed(on: Pair) -> None:
    await die_in_mid_delivery(on, forget=False)


async def own_the_socket(on: Pair, forget: bool) -> None:
    """One line is open, whoever else runs; when its owner dies, the other opens one."""
    lines = on.slack.outlet.sockets.lines
    await on.until(lambda: len(lines) == 1)
    root = await on.ask("@june where is order 1042?")
    await on.says(root, "Order 1042")
    assert len(lines) == 1
    (first,) = lines
    on.one.kill()  # it was there first
    if forget:
        await asyncio.to_thread(on.forget, on.one)
    await on.until(lambda: bool(lines) and first not in lines, LEASES)
    await on.ask("and 1043?", root)
    await on.says(root, "Order 1043", LEASES)
    assert len(lines) == 1
    assert len(on.office.by_june(root)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("on", [True], indirect=True)
async def test_one_host_owns_the_socket_and_the_other_takes_it_over(on: Pair) -> None:
    await own_the_socket(on, forget=True)


@pytest.mark.slow
@pytest.mark.parametrize("on", [True], indirect=True)
async def test_the_socket_is_taken_over_once_the_lease_has_lapsed(on: Pair) -> None:
    await own_the_socket(on, forget=False)
