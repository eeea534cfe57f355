"""However often the platform tells of a post, it is one turn."""

from __future__ import annotations

import pytest

from tests.conformance.channels.driver import Driver, Post, Telling, texts
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import sees


async def answered_once(driver: Driver, post: Post) -> None:
    await sees(driver, post, "tallied")
    await driver.rests()
    assert driver.ran == ["tally"]
    assert len(await texts(driver, post)) == 1


class TestOnce(Rule):
    about = "A post is one turn"
    promise = "nothing twice"

    async def test_redelivered_after_its_answer(self, driver: Driver) -> None:
        post = await driver.say("ada", "tally")
        await answered_once(driver, post)
        await driver.tell_again(post)
        await answered_once(driver, post)

    @pytest.mark.parametrize("told", ["message first", "mention first", "all at once"])
    async def test_told_of_more_than_once(self, driver: Driver, told: Telling) -> None:
        await answered_once(driver, await driver.say("ada", "tally", told=told))

    async def test_redelivered_after_a_restart(self, driver: Driver) -> None:
        post = await driver.say("ada", "tally")
        await answered_once(driver, post)
        await driver.restart()
        await driver.tell_again(post, times=4)
        await answered_once(driver, post)
