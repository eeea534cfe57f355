"""A message that comes while the conversation waits for a decision."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import asks, sees


class TestBehindARequest(Rule):
    about = "A message behind an open request"
    promise = "what people see"

    async def test_it_waits_says_for_whom_and_is_answered_after(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        await driver.say("ada", "and this", below=post)
        await sees(driver, post, driver.words.behind, "Pay 40 dollars?")
        assert "You said" not in await whole(driver, post)
        await driver.decide("lead", post, "Approve")
        await sees(driver, post, "'paid': True", "You said: and this")
        await driver.rests()
        assert driver.ran == ["pay 40"]
