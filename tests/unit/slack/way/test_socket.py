"""Socket Mode: kept, then acknowledged; one host holds the line, and a line that is no good is replaced."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from channels.slack.api import SlackWeb
from channels.slack.ingress import Ingress
from channels.slack.parse import Installed
from channels.slack.socket import AT_ONCE, DEAF, IDLE, LEASE, Receive, Socket
from gateway.engine.kinds import JsonObject
from gateway.testing.slack import Fault, Limits, Playground, playground
from gateway.testing.time import ScaledTime
from tests.unit.slack.payloads import RULES, sample
from tests.unit.slack.way.house import House, housed
from tests.unit.slack.way.test_api import OneToken, getting

SPEED = 40.0


class Line:
    """acme, june's gateway, and what runs between them."""

    def __init__(
        self, play: Playground, house: House, api: SlackWeb, stack: AsyncExitStack
    ) -> None:
        self.play, self.house, self.api = play, house, api
        self.slack, self.time = play.slack, house.ctx.waits
        self.app = play.slack.app()
        self.most = 0
        self._stack = stack
        self.ingress = Ingress((), RULES, self)
        self.ingress.begin(house.ctx)
        play.slack.journal.watchers.append(self._count)

    async def installed(self, key: str) -> Installed | None:
        june = self.play.june
        return Installed(key=key, team=key, bot_user=june.user, bot_id=june.bot)

    def _count(self) -> None:
        self.most = max(self.most, self.lines)

    @property
    def lines(self) -> int:
        return len(self.slack.outlet.sockets.of(self.app.id))

    async def open(self, receive: Receive | None = None, token: str | None = None) -> Socket:
        """A host that keeps the line; it is up when this returns, unless its token is no good."""
        socket = self.make(receive, token)
        await self._stack.enter_async_context(running(socket))
        await until(lambda: socket.state in {"up", "refused", "standby"})
        return socket

    def make(self, receive: Receive | None = None, token: str | None = None) -> Socket:
        take = receive or self.ingress.take_frame
        return Socket(token or self.app.app_token, self.api, take, self.house.ctx)

    async def say(self, text: str = "@june hello") -> None:
        await self.play.ada.mention(self.play.support, text)

    def outcomes(self, kind: str = "app_mention") -> list[str]:
        (sent,) = self.slack.journal.events(kind)
        return [attempt.outcome for attempt in sent.attempts]


async def until(good: Any, seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not good():
            await asyncio.sleep(0.01)


def up(socket: Socket) -> bool:
    return socket.state == "up"


@asynccontextmanager
async def running(socket: Socket) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(socket.run())
        try:
            yield
        finally:
            task.cancel()


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    time = ScaledTime(SPEED)
    async with (
        playground(time, limits=Limits(enabled=False)) as play,
        housed(waits=time) as house,
        AsyncExitStack() as stack,
    ):
        play.slack.app().socket = True
        api = SlackWeb(OneToken("", ""), play.slack.api_url, waits=time)
        await api.open()
        stack.push_async_callback(api.close)
        yield Line(play, house, api, stack)


# -- what comes -----------------------------------------------------------------------------------------
async def test_a_mention_is_kept_and_then_acknowledged(line: Line) -> None:
    await line.open()
    await line.say()
    await line.slack.settled()
    assert line.outcomes()[-1] == line.outcomes("message")[-1] == "acked"
    assert sorted(word for word, _ in await line.house.verdicts()) == ["accepted", "duplicate"]
    assert await line.house.turns() == 1


async def test_what_cant_be_kept_isnt_acknowledged_and_comes_again(line: Line) -> None:
    line.app.events.discard("message.channels")
    await line.open()
    await line.house.store.close()
    await line.say()
    await until(lambda: line.outcomes()[:1] == ["no_ack"])
    await line.house.store.open()
    await line.slack.settled()
    assert line.outcomes()[-1] == "acked"
    assert await line.house.turns() == 1


async def test_a_fault_of_ours_isnt_acknowledged_either(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    failures = iter([ValueError("a fault")])

    async def receive(kind: str, payload: object) -> JsonObject | None:
        for failure in failures:
            raise failure
        return await line.ingress.take_frame(kind, payload)

    line.app.events.discard("message.channels")
    await line.open(receive)
    await line.say()
    await line.slack.settled()
    assert line.outcomes()[0] == "no_ack"
    assert line.outcomes()[-1] == "acked"
    assert "can't be judged" in caplog.text


@pytest.mark.parametrize("kind", ["event_twice", "ack_lost", "event_late", "event_reordered"])
async def test_however_often_and_late_it_comes_it_is_one_turn(line: Line, kind: Any) -> None:
    line.slack.faults.add(Fault(kind, "event:message"))
    await line.open()
    await line.say()
    await line.slack.settled()
    assert await line.house.turns() == 1


async def test_a_form_is_answered_with_its_acknowledgement(line: Line) -> None:
    asked = await line.house.parked("form")
    payload: Any = sample("interactive.view_submission")
    payload["view"].update(private_metadata=asked.request.id, state={"values": {}})
    await line.open()
    reply = await line.slack.outlet.interact(line.app, payload)
    assert json.loads(reply.text)["response_action"] == "errors"
    junk = await line.slack.outlet.interact(line.app, {"type": ""})
    assert junk.good, "it would only come again"
    assert line.ingress.refused == {"unknown_payload": 1}


async def test_what_cant_be_read_takes_up_no_room(line: Line) -> None:
    await line.open()
    (there,) = line.slack.outlet.sockets.of(line.app.id)
    for _ in range(AT_ONCE + 1):
        await there.socket.send_str('{"a":' * 5_000)
    await line.say()
    # A busy machine may be late with the first one.
    await until(lambda: line.outcomes()[-1:] == ["acked"])


async def test_so_many_are_judged_at_once_and_the_others_wait(line: Line) -> None:
    gate, now, most = asyncio.Event(), 0, 0

    async def receive(_kind: str, _payload: object) -> JsonObject | None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await gate.wait()
        now -= 1
        return None

    await line.open(receive)
    async with asyncio.TaskGroup() as group:
        for n in range(AT_ONCE + 20):
            group.create_task(line.play.ada.say(line.play.support, str(n)))
    await until(lambda: most == AT_ONCE)
    await line.time.sleep(1)
    assert most == AT_ONCE
    gate.set()
    await line.slack.settled()
    assert all(sent.acked for sent in line.slack.journal.events("message"))


# -- lines that are no good --------------------------------------------------------------------------------
async def test_a_line_that_breaks_is_replaced(line: Line) -> None:
    line.app.events.discard("message.channels")
    await line.open()
    line.slack.faults.add(Fault("socket_disconnect", "socket"))
    await line.say()
    await line.slack.settled()
    assert line.outcomes()[-1] == "acked"
    assert len(line.slack.journal.of("apps.connections.open")) == 2
    assert line.lines == 1


async def test_slack_asks_for_a_new_line_and_gets_it_at_once(line: Line) -> None:
    socket = await line.open()
    first = socket.line
    assert first is not None
    first.since -= 3600
    await line.slack.outlet.sockets.disconnect(line.app.id)
    await until(lambda: socket.line is not first and socket.state == "up" and line.lines == 1)
    await line.say()
    await line.slack.settled()
    assert line.outcomes()[-1] == "acked"


async def test_a_line_that_says_nothing_any_more_is_replaced(line: Line) -> None:
    """Open, and deaf: not even a ping is answered."""
    line.app.events.discard("message.channels")
    socket = await line.open()
    first = socket.line
    line.slack.faults.add(Fault("socket_mute", "socket"))
    began = line.time.monotonic()
    await line.say()
    await until(lambda: socket.line is not first and socket.state == "up")
    assert line.time.monotonic() - began < 2 * DEAF
    await line.slack.settled()
    assert line.outcomes()[0] == "no_ack"
    assert line.outcomes()[-1] == "acked"
    await until(lambda: line.lines == 1)


async def test_a_quiet_line_that_answers_pings_is_left_alone(line: Line) -> None:
    socket = await line.open()
    first = socket.line
    await line.time.sleep(DEAF + 20)
    assert socket.line is first
    assert line.lines == 1


async def test_a_line_without_events_is_replaced_the_new_one_first(line: Line) -> None:
    """It answers pings, and Slack may have forgotten it all the same."""
    socket = await line.open()
    first = socket.line
    assert first is not None
    first.envelope_at -= IDLE + 1
    await until(lambda: socket.line is not first and line.lines == 1)
    assert line.most == 2
    await line.say()
    await line.slack.settled()
    assert line.outcomes()[-1] == "acked"


async def test_what_is_under_way_on_an_old_line_is_still_acknowledged(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (
        "channels.slack.emulator.events.socket.PATIENCE",
        "channels.slack.socket.LEAVING",
    ):
        monkeypatch.setattr(place, 100.0)  # only the line itself can acknowledge it in time
    gate, reached = asyncio.Event(), asyncio.Event()

    async def receive(_kind: str, _payload: object) -> JsonObject | None:
        reached.set()
        await gate.wait()
        return None

    line.app.events.discard("message.channels")
    socket = await line.open(receive)
    first = socket.line
    assert first is not None
    await line.say()
    await reached.wait()
    first.envelope_at -= IDLE + 1
    await until(lambda: socket.line is not first)
    gate.set()
    await line.slack.settled()
    assert line.outcomes() == ["acked"]


async def test_slack_is_away_and_comes_back(line: Line) -> None:
    line.slack.faults.add(Fault("http_503_html", "apps.connections.open", count=3))
    socket = line.make()
    async with running(socket):
        await until(lambda: socket.state == "connecting")
        assert socket.why
        await until(lambda: socket.state == "up")
    assert (socket.state, socket.line, line.lines) == ("off", None, 0)
    assert len(line.slack.journal.of("apps.connections.open")) == 4


async def test_an_address_where_nobody_answers_is_left_again() -> None:
    """Also by a stop in the middle of it."""
    asked, over = 0, asyncio.Event()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        if request.path.startswith("/api/"):
            asked += 1
            return web.json_response({"ok": True, "url": f"ws://{request.host}/line"})
        await over.wait()
        return web.Response()

    async with getting(answer) as url, housed() as house:
        api = SlackWeb(OneToken("", ""), f"{url}/api/", waits=house.ctx.waits)
        await api.open()
        socket = Socket("xapp-1", api, Ingress((), RULES, Nowhere()).take_frame, house.ctx)
        async with asyncio.timeout(8), running(socket):
            await until(lambda: "nobody answers" in socket.why)
            await until(lambda: asked == 2)
        assert (socket.state, socket.line) == ("off", None)
        await api.close()
        over.set()


class Nowhere:
    async def installed(self, key: str) -> Installed | None:
        return None


async def test_a_token_that_is_no_good_is_said_with_the_way_out(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    socket = await line.open(token="xapp-1-not-a-token")
    assert socket.state == "refused"
    assert "SLACK_APP_TOKEN" in socket.why
    assert "not-a-token" not in caplog.text


async def test_no_ticket_and_no_text_is_logged(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await line.open()
    await line.say("@june my secret plan")
    await line.slack.settled()
    lines = [r.getMessage() for r in caplog.records if not r.name.startswith("asyncio")]
    assert not [text for text in lines if "ticket" in text or "secret plan" in text]


# -- several hosts -------------------------------------------------------------------------------------------
async def test_one_of_two_hosts_holds_the_line_and_the_other_takes_over(line: Line) -> None:
    first = line.make()
    async with running(first):
        await until(lambda: first.state == "up")
        second = await line.open()
        assert (second.state, line.most) == ("standby", 1)
    await until(lambda: second.state == "up")
    await line.say()
    await line.slack.settled()
    assert await line.house.turns() == 1


async def test_who_loses_the_lease_lets_go_of_the_line(line: Line) -> None:
    socket = await line.open()
    ledger = line.house.store.ledger
    await ledger.let_go(socket._lease, socket._owner)
    assert await ledger.hold(socket._lease, "another", LEASE)
    await until(lambda: socket.state == "standby")
    await until(lambda: line.lines == 0)


async def test_a_store_that_is_away_costs_the_line_when_the_lease_has_run_out(line: Line) -> None:
    socket = await line.open()
    await line.house.store.close()
    await line.time.sleep(12)
    assert up(socket), "nobody else can have taken it yet"
    await until(lambda: not up(socket))
    await line.house.store.open()
    await until(lambda: up(socket))


async def test_stopping_takes_bounded_time_and_leaves_nothing(line: Line) -> None:
    """Not even while something hangs; the lease is free at once."""
    reached = asyncio.Event()

    async def receive(_kind: str, _payload: object) -> JsonObject | None:
        reached.set()
        await asyncio.Event().wait()
        return None

    socket = line.make(receive)
    async with asyncio.timeout(8), running(socket):
        await until(lambda: socket.state == "up")
        await line.say()
        await reached.wait()
    assert line.lines == 0
    assert await line.house.store.ledger.hold(socket._lease, "another", LEASE)
