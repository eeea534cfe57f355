"""How a request ended is told apart, to people and to the model."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, Post, texts, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import asks, sees


async def asked(driver: Driver, text: str) -> Post:
    post = await driver.say("ada", text)
    await asks(driver, post)
    return post


async def nothing_to_press(driver: Driver, post: Post) -> None:
    await driver.rests()
    assert not any(line.buttons for line in await driver.seen(post))
    assert driver.ran == []


class TestOutcomes(Rule):
    about = "Expired, denied and cancelled are three things"
    promise = "what people see"

    async def test_denied_with_a_reason_that_the_model_reads(self, driver: Driver) -> None:
        post = await asked(driver, "pay 40")
        await driver.deny("lead", post, "the till is empty")
        await sees(driver, post, driver.words.denied, "I was told", "the till is empty")
        await nothing_to_press(driver, post)
        assert driver.words.expired not in await whole(driver, post)

    async def test_expired(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40 soon")
        await sees(driver, post, driver.words.expired, "I was told", "'outcome': 'expired'")
        await nothing_to_press(driver, post)
        assert driver.words.denied not in await whole(driver, post)

    async def test_cancelled_with_its_turn(self, driver: Driver) -> None:
        above = await driver.say("ada", "hello")
        await sees(driver, above, "You said")
        post = await driver.say("ada", "pay 40", below=above)
        await asks(driver, post)
        await driver.withdraw(post)
        await sees(driver, post, driver.words.needless)
        await nothing_to_press(driver, post)
        await driver.say("ada", "recall", below=above)
        await sees(driver, above, "I recall")
        (told,) = [one for one in await texts(driver, above) if "I recall" in one]
        assert "{'cancelled'" in told


class TestElsewhere(Rule):
    about = "Decided on another surface"
    promise = "who decides"

    async def test_it_shows_here_with_who_and_without_buttons(self, driver: Driver) -> None:
        post = await asked(driver, "pay 40")
        await driver.decide_elsewhere("lead", post)
        await sees(driver, post, "pproved by api:lead", "'paid': True")
        await driver.rests()
        assert not any(line.buttons for line in await driver.seen(post))
        assert driver.ran == ["pay 40"]
