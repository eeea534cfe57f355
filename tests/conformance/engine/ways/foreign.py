"""Code that an author or an application brings along fails by itself, whatever it raises."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.engine.messages import Text
from gateway.engine.model import ModelReply
from tests.conformance.engine.cast import Said
from tests.conformance.engine.kit import Bench, june, run, say


class TestAdapters:
    async def test_a_reply_that_says_no_text_fails_the_turn_in_words(self, bench: Bench) -> None:
        nothing: Any = None
        await bench.start(june(model=Said(ModelReply((Text(nothing),)), ModelReply(nothing))))
        for _ in range(2):
            error = (await run(bench.session())).error
            assert error is not None
            assert "the model's reply isn't JSON" in str(error["message"])

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), KeyError("x")])
    async def test_an_adapter_that_breaks_fails_its_turn_and_nothing_else(
        self, bench: Bench, error: BaseException
    ) -> None:
        await bench.start(june(model=Said(error, say("here"))))
        failed = (await run(bench.session())).error
        assert failed is not None
        assert f"the model adapter Said raised {type(error).__name__}" in str(failed["message"])
        assert (failed["phase"], failed["step"]) == ("model", "model:1")
        assert (await run(bench.session())).text == "here"
