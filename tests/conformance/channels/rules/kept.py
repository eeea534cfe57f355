"""What was received stays received, and nothing else is said to be."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, texts
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import asks, sees


class TestKept(Rule):
    about = "What was received is kept"
    promise = "nothing is lost"

    async def test_received_only_once_it_is_committed(self, driver: Driver) -> None:
        post = await driver.say_while_store_is_shut("ada", "tally")
        await sees(driver, post, "tallied")
        await driver.rests()
        assert driver.ran == ["tally"]
        assert len(await texts(driver, post)) == 1

    async def test_an_answer_goes_on_after_a_restart(self, driver: Driver) -> None:
        post = await driver.say("ada", "slowly")
        await driver.begins(post)
        await driver.restart()
        driver.let_go()
        await sees(driver, post, "First half of it. Second half of it.")
        await driver.rests()
        assert "\n".join(await texts(driver, post)).count("First half") == 1

    async def test_a_request_waits_over_a_restart(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        await driver.restart()
        await driver.decide("lead", post, "Approve")
        await sees(driver, post, "'paid': True")
        assert driver.ran == ["pay 40"]

    async def test_a_message_during_a_run_is_answered_too(self, driver: Driver) -> None:
        first = await driver.say("ada", "slowly")
        await driver.begins(first)
        await driver.say("ada", "and more", below=first)
        driver.let_go()
        await sees(driver, first, "Second half of it.", "You said: and more")
