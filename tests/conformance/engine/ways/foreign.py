"""Code that an author or an application brings along fails by itself, whatever it raises."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from typing_extensions import override

from gateway.engine.agent import TurnError
from gateway.engine.errors import AuthorizeHookError, ModelError
from gateway.engine.kinds import JsonObject
from gateway.engine.messages import Text
from gateway.engine.model import ModelDelta, ModelReply, ModelRequest, TextDelta
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import Prepared, Preparing
from gateway.engine.steps.foreign import ExitRaised
from tests.conformance.engine.cast import Hook, Said, asking
from tests.conformance.engine.kit import SLACK, Bench, Hold, june, park, run, say, soon, until


class TestAdapters:
    async def test_a_reply_that_says_no_text_fails_the_turn_in_words(self, bench: Bench) -> None:
        nothing: Any = None
        await bench.start(june(model=Said(ModelReply((Text(nothing),)), ModelReply(nothing))))
        for _ in range(2):
            error = (await run(bench.session())).error
            assert error is not None
            assert "the model's reply isn't JSON" in str(error["message"])

    @pytest.mark.parametrize("error", [SystemExit(3), KeyError("x")])
    async def test_an_adapter_that_breaks_fails_its_turn_and_nothing_else(
        self, bench: Bench, error: BaseException
    ) -> None:
        await bench.start(june(model=Said(error, say("here"))))
        failed = (await run(bench.session())).error
        assert failed is not None
        assert f"the model adapter Said raised {type(error).__name__}" in str(failed["message"])
        assert (failed["phase"], failed["step"]) == ("model", "model:1")
        assert (await run(bench.session())).text == "here"

    @pytest.mark.parametrize("error", [SystemExit(3), RuntimeError("broken"), ModelError("cut")])
    async def test_an_adapter_that_breaks_because_it_is_stopped_fails_nothing(
        self, bench: Bench, error: BaseException
    ) -> None:
        class Closing(Said):
            @override
            async def stream(
                self, request: ModelRequest
            ) -> AsyncGenerator[ModelDelta | ModelReply]:
                try:
                    yield TextDelta("a", block=0, offset=0)
                    await hold.here()
                finally:
                    raise error

        hold = Hold()
        await bench.start(june(model=Closing()))
        session = await bench.begin()
        await hold.wait()
        await session.cancel("t1")
        assert (await soon(session.result("t1"))).status == "cancelled"


EXITS = [SystemExit(3), asyncio.CancelledError(), RuntimeError("broken")]
exits = pytest.mark.parametrize("error", EXITS, ids=lambda error: type(error).__name__)


class TestForeignCode:
    @exits
    async def test_a_hook_that_is_told_of_errors(
        self, bench: Bench, error: BaseException, caplog: pytest.LogCaptureFixture
    ) -> None:
        def hook(_: TurnError) -> None:
            raise error

        await bench.start(june(model=Said(ModelError("no key"), say("here")), on_turn_error=hook))
        assert (await run(bench.session())).status == "failed"
        assert (await run(bench.session())).text == "here"
        assert "on_turn_error failed" in caplog.text
        assert "no key" in caplog.text, "the failure itself isn't hidden"

    @exits
    async def test_a_hook_that_is_asked_who_may_answer(
        self, bench: Bench, error: BaseException
    ) -> None:
        async def hook(**_: object) -> bool:
            raise error

        await bench.start(asking({"policy": "refunds"}, cast("Hook", hook)))
        session = bench.session()
        asked = await park(session)
        with pytest.raises(AuthorizeHookError):
            await bench.runtime.grant(session.ref, asked.id, by="slack:T1:U9", principal=None)

    @exits
    async def test_a_preparer(self, bench: Bench, error: BaseException) -> None:
        class Thread:
            async def prepare(self, asked: Preparing) -> Prepared:
                raise error

        await bench.start(june(), preparers={"slack": Thread()})
        session = bench.session()
        given = TurnInput(
            message="go", turn_id="t1", speaker=SLACK, source="slack", event={"fetch": {"c": "C1"}}
        )
        await session.start(given)
        assert (await soon(session.result("t1"))).text == "done"

    @exits
    async def test_a_model_that_is_closed(
        self, bench: Bench, error: BaseException, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Open(Said):
            @override
            async def close(self) -> None:
                raise error

        await bench.start(june(model=Open(say("here"))))
        await bench.runtime.stop()
        assert "the model adapter Open couldn't be closed" in caplog.text

    async def test_an_adapter_that_is_asked_for_its_settings(
        self, bench: Bench, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Odd(Said):
            @property
            @override
            def settings(self) -> JsonObject:
                raise SystemExit(3)

        await bench.start(june(model=Odd()))
        try:
            await bench.begin()
        except ExitRaised as told:
            assert str(told) == "it raised SystemExit"  # noqa: PT017 - or it begins later
        else:
            await until(lambda: "s can't go on: it raised SystemExit" in caplog.text)

    async def test_what_stops_us_passes_through_it(self, bench: Bench) -> None:
        hold = Hold()

        async def hook(_: TurnError) -> None:
            await hold.here()

        await bench.start(june(model=Said(ModelError("no key")), on_turn_error=hook))
        await bench.begin()
        await hold.wait()
        driver = bench.runtime.actor(bench.session().ref).driver
        assert driver is not None
        driver.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(driver)
