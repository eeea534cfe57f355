"""Channels come up beside the host and go down before it, and one that can't takes nobody with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from typing_extensions import override

from gateway.engine.errors import ConfigError
from gateway.engine.limits import SYSTEM_WAITS
from gateway.engine.tool import Tool
from gateway.host.channels.lifecycle import LONGEST_WAIT, Lifecycle, pause
from gateway.host.channels.registry import Registry
from gateway.testing.time import ScaledTime
from tests.unit.host.channels.echo import Echo
from tests.unit.host.channels.stage import staged
from tests.unit.host.world import until


@dataclass
class Other(Echo):
    source: str = "other"
    tools: Sequence[Tool] = ()


async def test_a_channel_that_cannot_start_is_tried_again_and_said() -> None:
    """Meanwhile the API answers, and says which channel is down and why."""
    down = ConfigError("nobody knows this token", fix="set ECHO_TOKEN")
    channel = Echo(refuses=[down, RuntimeError("the card is 4242")])
    other = Other()
    async with staged([channel, other], speed=1) as stage:
        assert other.ctx is not None
        ready = await stage.client.get("/readyz")
        assert (ready.status, ready.json["ready"]) == (200, True)
        said = "nobody knows this token (fix: set ECHO_TOKEN); it is tried again"
        assert ready.json["problems"] == [f"channel echo: {said}"]
        rows = {row["name"]: row for row in (await stage.client.get("/status")).rows("channels")}
        assert (rows["echo"]["on"], rows["echo"]["problem"]) == (True, said)
        assert (rows["other"]["problem"], rows["slack"]["on"]) == (None, False)
        assert rows["slack"]["missing"] == ["SLACK_BOT_TOKEN"]
        assert (await stage.client.post("/message", {"message": "hi"})).status == 200
    assert channel.log[0] == "start"
    assert channel.log[-1] == "stop"


async def test_it_comes_up_once_it_can(caplog: pytest.LogCaptureFixture) -> None:
    exits = SystemExit("the card is 4242")
    channel = Echo(refuses=[RuntimeError("the card is 4242"), exits])
    async with staged([channel], speed=200) as stage:
        await until(lambda: channel.ctx is not None)
        await until(lambda: not stage.api.registry.troubles)
    assert channel.log == ["start", "start", "start", "stop"]
    assert "echo is down: RuntimeError;" in caplog.text
    assert "echo is down: it raised SystemExit" in caplog.text
    assert "4242" not in caplog.text


def test_pauses_grow_and_end() -> None:
    assert [pause(n) for n in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert pause(1000) == LONGEST_WAIT


@dataclass
class Carrier:
    """Fails as often as it is told to, then runs."""

    fails: int
    runs: int = 0
    drained: list[str] = field(default_factory=list[str])

    async def run(self) -> None:
        self.runs += 1
        if self.runs <= self.fails:
            raise RuntimeError("broken")
        await asyncio.Event().wait()


async def lifecycle(channels: list[Echo], carrier: Carrier, order: list[str]) -> Lifecycle:
    registry = Registry(channels={one.source: one for one in channels})

    async def drain(_: float) -> None:
        order.extend(f"{one.source} {one.log[-1]}" for one in channels)
        order.append("drained")

    def no_context(source: str) -> object:
        return source

    made = Lifecycle(registry, no_context, {"outbox": carrier}, drain, ScaledTime(200))  # type: ignore[arg-type]
    await made.start()
    return made


async def test_what_carries_is_kept_up() -> None:
    carrier, order = Carrier(fails=2), list[str]()
    made = await lifecycle([Echo()], carrier, order)
    await until(lambda: carrier.runs == 3)
    await made.stop()


async def test_what_is_on_its_way_out_goes_before_the_connections() -> None:
    echo, other, order = Echo(), Other(), list[str]()
    made = await lifecycle([echo, other], Carrier(fails=0), order)
    await made.stop()
    assert order == ["echo start", "other start", "drained"]
    assert echo.log == other.log == ["start", "stop"]
    await made.stop()
    assert echo.log == ["start", "stop"], "a second time does nothing"
    assert len(order) == 3


@dataclass
class Stubborn(Echo):
    @override
    async def stop(self) -> None:
        await asyncio.Event().wait()


async def test_a_channel_that_does_not_stop_holds_up_nobody_for_long() -> None:
    order: list[str] = []
    made = await lifecycle([Stubborn()], Carrier(fails=0), order)
    before = SYSTEM_WAITS.monotonic()
    await made.stop()
    assert order == ["echo start", "drained"]
    assert SYSTEM_WAITS.monotonic() - before < 2
