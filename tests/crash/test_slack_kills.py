"""A real host is killed at whatever call to Slack it makes, at whatever event or click it takes: started
again, it leaves the thread of a run that nobody killed, and pays once."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from channels.contract import SETTLING
from gateway.cli.demo.office import Office
from gateway.cli.demo.proof import Refund, refunds
from gateway.engine.steps.tasks import Tasks
from gateway.testing.slack import Fault, Message, RealTime, SlackEmulator
from tests.journeys.slack_stage import Moments, Process, furnished

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

PATIENCE = 30.0 + 2 * SETTLING / 1000
"""Seconds. A host that finds a call whose answer nobody read waits until it can have no effect any more; it may find
another behind that, and the machine may have others to serve."""
PAUSES = (0.0, 60.0, 300.0, 0.0)
"""Seconds after which Slack sends again, by how often it did."""
MOMENTS = ("lost", "unanswered", "answered")
"""Of a call: it never reached Slack; it was carried out, and its answer read by nobody; it was answered."""
SEED = 79
"""Draws no post that never reached Slack: to be sure of that takes a quarter of a minute."""

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
_DIGEST = re.compile(r"\b[0-9a-f]{12}\b")
Line = tuple[str, tuple[str, ...]]
"""What a message says, and the buttons below it."""


@dataclass(slots=True)
class World:
    office: Office
    time: Moments
    host: Process
    state: Path

    @property
    def slack(self) -> SlackEmulator:
        return self.office.slack

    async def start(self) -> None:
        await self.host.start()
        app = self.slack.app()
        app.request_url = app.interactivity_url = f"{self.host.url}/channels/slack"

    async def until(self, holds: Callable[[], bool]) -> None:
        """Whoever was killed meanwhile is started again, and Slack sends again what wasn't taken."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self.alive()
                await asyncio.sleep(0.005)

    async def alive(self) -> None:
        if not self.host.alive:
            await self.start()
        self._hasten()

    def _hasten(self) -> None:
        """Nobody waits for the minutes until Slack sends again."""
        waiting = [sent for sent in self.slack.journal.deliveries if not sent.over]
        last = [sent.attempts[-1] for sent in waiting if sent.attempts]
        if last and len(last) == len(waiting) and all(one.outcome != "pending" for one in last):
            self.time.cut_short(min(one.at / 1000 + PAUSES[one.number] for one in last))

    async def rest(self, asked: Message) -> None:
        """Everything is shown, and nothing is on its way any more."""
        turn_id = f"slack:{self.office.june.key}:{asked.channel}:{asked.ts}"
        async with asyncio.timeout(PATIENCE):
            while True:
                await self.alive()
                await self.until(lambda: all(sent.over for sent in self.slack.journal.deliveries))
                try:
                    if self.office.at_rest(asked) and await self.host.shown(turn_id):
                        return
                except OSError:
                    pass  # killed while it was asked
                await asyncio.sleep(0.02)

    def lines(self, root: Message) -> list[Line]:
        """The thread as a person reads it, without what differs from one run to the next."""
        return [
            (
                _DIGEST.sub("<digest>", _MOMENT.sub("<moment>", shown.text)),
                tuple(button.label for button in shown.buttons),
            )
            for shown in self.office.by_june(root)
        ]

    async def books(self) -> list[Refund]:
        return await asyncio.to_thread(refunds, self.state)


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[World]:
    """A host that has just been started, and its Slack."""
    time, tasks = Moments(), Tasks()
    async with SlackEmulator(time=time) as slack:
        slack.signed_at = RealTime().now  # the hosts' clock, of which nothing is cut
        ticking = tasks.start(time.run(), "moments")
        office = furnished(slack)
        world = World(office, time, Process(office, tmp_path), tmp_path)
        try:
            await world.start()
            yield world
        finally:
            await world.host.bury()
            ticking.cancel()
            await tasks.close(1.0)


# -- journeys --------------------------------------------------------------------------------------------
async def question(on: World) -> Message:
    return await on.office.asker.say(on.office.orders, "@june where is order 1042?")


async def refund(on: World) -> Message:
    return await on.office.asker.say(on.office.orders, "@june refund 1042, it arrived broken")


JOURNEYS = {"question": question, "refund": refund}


async def play(on: World, name: str, strike: Strike | None = None) -> list[Line]:
    """To its end, over all kills: whoever pressed a button and was told that it failed presses again."""
    await asyncio.to_thread((on.state / "payments-stub.db").unlink, missing_ok=True)
    watch = strike.watcher(on) if strike is not None else None
    if watch is not None:
        on.slack.journal.watchers.append(watch)
    try:
        asked = await JOURNEYS[name](on)
        if name == "refund":
            await _approve(on, asked)
        await on.rest(asked)
        await on.alive()  # struck by the very last call: what it leaves to do is done, too
        await on.rest(asked)
    finally:
        if watch is not None:
            on.slack.journal.watchers.remove(watch)
    if name == "refund":
        paid = await on.books()
        assert [(one.order_id, one.amount) for one in paid] == [("1042", "42.50")], str(strike)
    return on.lines(asked)


async def _approve(on: World, asked: Message) -> None:
    while True:
        await on.until(lambda: on.office.card(asked) is not None)
        card = on.office.card(asked)
        assert card is not None
        reply = await on.office.lead.click(card, "Approve")
        if reply.good:
            return
        await on.alive()


# -- strikes ---------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Strike:
    """At the ``nth`` call of a journey, or the ``nth`` thing of the ``kind`` that Slack sends: while it is
    on its way (``later`` seconds after it left), or once it was ``taken``."""

    moment: str
    nth: int
    kind: str = "call"
    later: float = 0.0
    struck: bool = False

    def watcher(self, on: World) -> Callable[[], None]:
        journal = on.slack.journal
        calls, sent = len(journal.calls), len(journal.deliveries)

        def call() -> None:
            made = journal.calls[calls:]
            if self.struck or len(made) < self.nth:
                return
            this = made[self.nth - 1]
            if self.moment == "answered" and this.status is None:
                return
            self.struck = True
            if self.moment == "lost" and this is made[-1] and not this.applied:
                on.slack.faults.add(Fault("drop_before", this.method))
            if self.moment == "answered":
                asyncio.get_running_loop().call_later(self.later, on.host.kill)
            else:
                on.host.kill()

        def event() -> None:
            found = [one for one in journal.deliveries[sent:] if one.type == self.kind]
            if self.struck or len(found) < self.nth:
                return
            if self.moment == "taken" and not found[self.nth - 1].acked:
                return
            self.struck = True
            asyncio.get_running_loop().call_later(self.later, on.host.kill)

        return call if self.kind == "call" else event


async def check(on: World, name: str, strikes: list[Strike]) -> None:
    thread = await play(on, name)
    differing: dict[str, list[Line]] = {}
    for drawn in strikes:
        strike = drawn
        found = await play(on, name, strike)
        while (
            not strike.struck and strike.nth > 1
        ):  # said more quickly, an answer takes fewer calls
            strike = replace(strike, nth=strike.nth - 1)
            found = await play(on, name, strike)
        assert strike.struck, drawn
        if found != thread:
            differing[str(strike)] = found
    assert differing == {}
    assert [ping for ping in on.slack.pinged if ping.by == on.office.june.user] == []


@pytest.mark.parametrize("name", ["refund"])
async def test_killed_at_one_call_or_another_the_thread_is_the_same(on: World, name: str) -> None:
    """A sample; the next test is all of it."""
    draw = random.Random(SEED)  # noqa: S311 - the same every time is the point
    await play(on, name)
    found = len(on.slack.journal.calls) - 1  # the host's own first question isn't the journey's
    places = draw.sample(range(1, found + 1), len(MOMENTS))
    pairs = zip(MOMENTS, places, strict=True)
    await check(on, name, [Strike(moment, nth, later=0.002) for moment, nth in pairs])


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", JOURNEYS)
async def test_killed_at_every_call_the_thread_is_the_same(
    on: World, name: str, moment: str
) -> None:
    thread = await play(on, name)
    differing: dict[str, list[Line]] = {}
    nth = 1
    while True:
        strike = Strike(moment, nth, later=0.001 * (nth % 5))
        found = await play(on, name, strike)
        if not strike.struck:
            break
        if found != thread:
            differing[str(strike)] = found
        nth += 1
    assert nth > 3
    assert differing == {}


# -- before anything is known ----------------------------------------------------------------------------
async def test_killed_while_an_event_comes_in_slack_sends_again_and_is_answered_once(
    on: World,
) -> None:
    moments = [("on its way", "message", 0.0), ("on its way", "app_mention", 0.003)]
    strikes = [Strike(moment, 1, kind, later) for moment, kind, later in moments]
    await check(on, "question", strikes)


async def test_killed_between_a_click_and_what_comes_of_it_it_is_acted_on_once(on: World) -> None:
    strikes = [Strike("taken", 1, "block_actions"), Strike("on its way", 1, "block_actions", 0.001)]
    await check(on, "refund", strikes)


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_killed_at_any_moment_of_an_event_or_a_click(on: World) -> None:
    for name, kind in (
        ("question", "message"),
        ("question", "app_mention"),
        ("refund", "block_actions"),
    ):
        taken = [Strike("taken", 1, kind, later / 1000) for later in range(6)]
        coming = [Strike("on its way", 1, kind, later / 1000) for later in range(12)]
        await check(on, name, [*taken, *coming])
