"""A turn never ends in silence, and never tells what happened inside."""

from __future__ import annotations

import pytest

from tests.conformance.channels.driver import Driver, texts, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import sees


class TestEndings(Rule):
    about = "A turn without an answer"
    promise = "what people see"

    @pytest.mark.parametrize("words", ["break", "nothing"])
    async def test_one_line_with_a_reference_that_finds_it(
        self, driver: Driver, words: str
    ) -> None:
        post = await driver.say("ada", words)
        await sees(driver, post, driver.words.failed)
        await driver.rests()
        (said,) = await texts(driver, post)
        assert "hunter2" not in said
        assert await driver.found_by(said.rpartition(" ")[2]) == [post.turn_id]


class TestAfterwards(Rule):
    about = "After a failure"
    promise = "nothing is lost"

    async def test_the_conversation_goes_on(self, driver: Driver) -> None:
        post = await driver.say("ada", "break")
        await sees(driver, post, driver.words.failed)
        await driver.say("ada", "and now", below=post)
        await sees(driver, post, "You said: and now")
        assert (await whole(driver, post)).count(driver.words.failed) == 1
