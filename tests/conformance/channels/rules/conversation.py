"""Where a conversation begins, goes on and starts over."""

from __future__ import annotations

import pytest

from tests.conformance.channels.driver import Driver, ResetBy
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import sees


class TestConversation(Rule):
    about = "A conversation goes on"
    promise = "nothing is lost"

    async def test_a_reply_knows_what_was_said(self, driver: Driver) -> None:
        post = await driver.say("ada", "my number is 1042")
        await sees(driver, post, "You said")
        await driver.say("ada", "recall", below=post)
        await sees(driver, post, "I recall", "my number is 1042")

    async def test_a_reply_under_a_message_that_nobody_asked_for(self, driver: Driver) -> None:
        post = await driver.agent_first("digest of order 1042")
        await sees(driver, post, "You said: digest of order 1042")
        await driver.say("ada", "recall", below=post)
        await sees(driver, post, "I recall: digest of order 1042")


class TestReset(Rule):
    about = "A conversation starts over"
    promise = "what people see"

    @pytest.mark.parametrize("by", ["command", "shortcut"])
    async def test_nothing_of_before_is_recalled(self, driver: Driver, by: ResetBy) -> None:
        post = await driver.say("ada", "my number is 1042")
        await sees(driver, post, "You said")
        await driver.reset("ada", post, by)
        await driver.rests()
        await driver.say("ada", "recall", below=post)
        await sees(driver, post, "I recall: a blank")
