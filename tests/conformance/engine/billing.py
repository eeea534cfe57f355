"""Model calls that come to nothing cost money all the same: they are in the turn's sums."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from decimal import Decimal
from typing import Any

import pytest
from typing_extensions import override

from gateway.engine import events as ev
from gateway.engine.errors import ModelError, ModelUnavailableError
from gateway.engine.limits import Limits
from gateway.engine.messages import Text
from gateway.engine.model import Meter, ModelDelta, ModelReply, ModelRequest, TextDelta, Usage
from gateway.engine.struct import replace
from gateway.models.scripted import ScriptedModel
from tests.conformance.engine.cast import Said
from tests.conformance.engine.kit import Bench, Hands, Hold, june, logged, run, say, soon, until

SAID = ModelReply((Text("hi"),))
WHOLE = Usage(model="m", input=20, output=4, cost=Decimal("0.02"), prices="p")
CUT = Usage(model="m", input=10, output=2, cost=Decimal("0.001"), prices="p", estimated=True)


def bill(calls: int, tokens: tuple[int, int], cost: str) -> tuple[object, ...]:
    sums = {"input": tokens[0], "output": tokens[1], "cache_read": 0, "cache_write": 0}
    return ({**sums, "calls": calls}, Decimal(cost))


async def billed(bench: Bench, turn_id: str = "t1") -> tuple[object, ...]:
    """What the turn cost: its sums, and the money."""
    found = await bench.session().snapshot(turn_id)
    return (found.usage, None if found.cost is None else Decimal(found.cost))


async def rows(bench: Bench) -> list[tuple[object, ...]]:
    """(step, estimated) of each usage row, where a test can read them."""
    if bench.query is None:
        return []
    found = await asyncio.to_thread(
        bench.query, "SELECT step, input, estimated FROM gw_usage ORDER BY step"
    )
    return [(step, count, bool(estimated)) for step, count, estimated in found]


class Breaking(ScriptedModel):
    """Breaks off ``times`` with ``error``, then answers."""

    def __init__(self, error: ModelError, times: int = 1) -> None:
        super().__init__(lambda _: ModelReply((Text("whole"),), usage=WHOLE))
        self.error = error
        self.left = times

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        if self.left:
            self.left -= 1
            yield TextDelta("hal")
            raise self.error
        async for item in super().stream(request):
            yield item


class Stuck(ScriptedModel):
    """Begins to answer, says what that costs, and waits."""

    def __init__(self, hold: Hold) -> None:
        super().__init__(lambda _: ModelReply((Text("whole"),), usage=WHOLE))
        self.hold = hold

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        yield Meter(lambda: CUT)
        yield TextDelta("hal")
        await self.hold.here()
        async for item in super().stream(request):
            yield item


class TestBilling:
    async def test_a_try_that_broke_off_is_in_the_sums(self, bench: Bench) -> None:
        lost = ModelUnavailableError("connection lost", retry_after=0.0, usage=CUT)
        await bench.start(june(model=Breaking(lost, times=2)))
        assert (await run(bench.session(), turn_id="t1")).text == "whole"
        assert await billed(bench) == bill(3, (40, 8), "0.022")
        events = await logged(bench, "t1")
        [told] = [event for event in events if isinstance(event, ev.UsageEvent)]
        assert told.usage.input == 20, "the event is of the step that committed"
        [end] = [event for event in events if isinstance(event, ev.TurnCompleted)]
        assert (end.totals["input"], end.totals["cost"]) == (40, "0.022")
        assert await rows(bench) in ([], [(-2, 10, True), (-1, 10, True), (1, 20, False)])

    async def test_so_is_one_that_failed_the_turn(self, bench: Bench) -> None:
        await bench.start(june(model=Breaking(ModelError("refused", usage=CUT))))
        assert (await run(bench.session(), turn_id="t1")).status == "failed"
        assert await billed(bench) == bill(1, (10, 2), "0.001")

    async def test_a_call_that_cost_nothing_is_not_billed(self, bench: Bench) -> None:
        away = ModelUnavailableError("overloaded", retry_after=0.0)
        await bench.start(june(model=Breaking(away)))
        await run(bench.session(), turn_id="t1")
        assert await billed(bench) == bill(1, (20, 4), "0.02")

    async def test_a_reply_without_a_word_is_paid_for(self, bench: Bench) -> None:
        left = [ModelReply((), usage=WHOLE), ModelReply((Text("here"),), usage=WHOLE)]
        await bench.start(june(script=lambda _: left.pop(0)))
        assert (await run(bench.session(), turn_id="t1")).text == "here"
        assert await billed(bench) == bill(2, (40, 8), "0.04")
        assert await rows(bench) in ([], [(-1, 20, False), (1, 20, False)])

    @pytest.mark.parametrize("how", ["cancel", "idle"])
    async def test_a_call_that_was_stopped_half_way_is_paid_for(
        self, bench: Bench, how: str
    ) -> None:
        hands, hold = Hands(), Hold()
        await bench.start(june(model=Stuck(hold)), clock=hands.clock)
        session = await bench.begin()
        await hold.wait()
        if how == "cancel":
            await session.cancel("t1")
        else:
            hands.forward(301)
        assert (await soon(session.result("t1"))).status in {"cancelled", "timed_out"}
        assert await billed(bench) == bill(1, (10, 2), "0.001")

    async def test_so_is_one_that_was_cancelled_from_within(self, bench: Bench) -> None:
        class Ending(ScriptedModel):
            @override
            async def stream(
                self, request: ModelRequest
            ) -> AsyncGenerator[ModelDelta | ModelReply]:
                yield Meter(lambda: CUT)
                raise asyncio.CancelledError

        limits = Limits(model_retry_for=0.01)
        await bench.start(june(model=Ending(lambda _: say(""))), limits=limits)
        assert (await run(bench.session(), turn_id="t1")).status == "failed"
        assert await billed(bench) == bill(1, (10, 2), "0.001")

    async def test_a_reply_that_a_stop_overtook_is_paid_in_full(self, bench: Bench) -> None:
        class Late(ScriptedModel):
            @override
            async def stream(
                self, request: ModelRequest
            ) -> AsyncGenerator[ModelDelta | ModelReply]:
                yield Meter(lambda: CUT)
                yield ModelReply((Text("whole"),), usage=WHOLE)
                await hold.here()

        hold = Hold()
        await bench.start(june(model=Late(lambda _: say(""))))
        session = await bench.begin()
        await hold.wait()
        await session.cancel("t1")
        assert (await soon(session.result("t1"))).status == "cancelled"
        assert await billed(bench) == bill(1, (20, 4), "0.02")

    async def test_what_a_try_cost_survives_the_crash_that_follows_it(self, bench: Bench) -> None:
        lost = ModelUnavailableError("connection lost", retry_after=60.0, usage=CUT)
        model = Breaking(lost)
        await bench.start(june(model=model))
        await bench.begin()
        await until(lambda: _calls(bench, 1))
        await bench.kill()
        model.left, lost.retry_after = 1, 0.0
        await bench.start()
        assert (await soon(bench.session().result("t1"))).text == "whole"
        assert await billed(bench) == bill(3, (40, 8), "0.022")

    async def test_a_drain_in_a_call_leaves_its_cost_and_the_turn(self, bench: Bench) -> None:
        hold = Hold()
        await bench.start(june(model=Stuck(hold)))
        await bench.begin()
        await hold.wait()
        await bench.drain(grace=0.05)
        hold.go()
        await bench.start()
        assert (await soon(bench.session().result("t1"))).text == "whole"
        assert await billed(bench) == bill(2, (30, 6), "0.021")


WRONG: dict[str, Any] = {
    "cost: NaN is no amount": {"cost": Decimal("NaN")},
    "cost: it is below 0": {"cost": Decimal(-1)},
    "cost: str isn't a Decimal": {"cost": "0.02"},
    "cost: it has more than": {"cost": Decimal("1E-999999")},
    "output: str isn't a number": {"output": "4"},
    "output: nan isn't a whole number": {"output": float("nan")},
    "output: it is below 0": {"output": -4},
    "output: it is above": {"output": 2**64},
    "model: int isn't text": {"model": 7},
    "raw: raw's id is of type object": {"raw": {"id": object()}},
    "raw: list isn't an object": {"raw": [1]},
}


class TestBillsThatCantBeKept:
    async def test_the_answer_is_and_the_adapter_is_named(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        replies = [replace(SAID, usage=replace(WHOLE, **wrong)) for wrong in WRONG.values()]
        await bench.start(june(model=Said(*replies)))
        for number, why in enumerate(WRONG):
            turn_id = f"t{number}"
            caplog.clear()
            assert (await run(bench.session(), turn_id=turn_id)).text == "hi", why
            [line] = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
            assert f"the model adapter Said reports a usage that can't be kept whole ({why}" in line
            [told] = [e for e in await logged(bench, turn_id) if isinstance(e, ev.UsageEvent)]
            assert told.usage.estimated, why
            assert told.usage.input == 20, why
            assert (told.usage.output == 4) == ("output" not in why), why
            assert (told.usage.cost == WHOLE.cost) == ("cost" not in why), why

    async def test_what_is_no_bill_at_all_is_told_too(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        nothing: Any = {"input": 20}
        await bench.start(june(model=Said(replace(SAID, usage=nothing))))
        assert (await run(bench.session(), turn_id="t1")).text == "hi"
        assert "it is of type dict, not a Usage" in caplog.text

    async def test_numbers_of_another_kind_are_kept_whole(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        given: dict[str, Any] = {"input": 20.0, "cost": 0.02, "raw": {"left": float("inf")}}
        other = replace(WHOLE, **given)
        await bench.start(june(model=Said(ModelReply((), usage=other), replace(SAID, usage=other))))
        assert (await run(bench.session(), turn_id="t1")).text == "hi"
        assert await billed(bench) == bill(2, (40, 8), "0.04")
        assert not [one for one in caplog.records if one.levelname == "ERROR"]

    async def test_a_name_that_is_left_out_is_no_mistake(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        nothing: dict[str, Any] = {"model": None, "prices": None}
        await bench.start(june(model=Said(replace(SAID, usage=replace(WHOLE, **nothing)))))
        assert (await run(bench.session(), turn_id="t1")).text == "hi"
        assert await billed(bench) == bill(1, (20, 4), "0.02")
        assert not [one for one in caplog.records if one.levelname == "ERROR"]

    async def test_a_call_that_was_lost_is_billed_as_far_as_it_can_be(self, bench: Bench) -> None:
        given: dict[str, Any] = {"output": "2"}
        cut = replace(CUT, **given)
        lost = ModelUnavailableError("connection lost", retry_after=0.0, usage=cut)
        await bench.start(june(model=Breaking(lost)))
        assert (await run(bench.session(), turn_id="t1")).text == "whole"
        assert await billed(bench) == bill(2, (30, 4), "0.021")

    async def test_a_meter_that_breaks_leaves_the_cancel_one(self, bench: Bench) -> None:
        class Dark(ScriptedModel):
            @override
            async def stream(
                self, request: ModelRequest
            ) -> AsyncGenerator[ModelDelta | ModelReply]:
                yield Meter(lambda: sys.exit(3))
                await hold.here()

        hold = Hold()
        await bench.start(june(model=Dark(lambda _: say(""))))
        session = await bench.begin()
        await hold.wait()
        await session.cancel("t1")
        assert (await soon(session.result("t1"))).status == "cancelled"


async def _calls(bench: Bench, count: int) -> bool:
    return (await bench.session().snapshot("t1")).usage["calls"] == count
