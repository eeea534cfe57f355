"""What a newer message does to an answer under way."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, NotThere, Post, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import sees


async def under_way(driver: Driver) -> Post:
    post = await driver.say("ada", "slowly")
    await driver.begins(post)
    return post


async def superseded(driver: Driver, post: Post) -> None:
    if not driver.replaces:
        await both_answered(driver, post)
        raise NotThere("what came is answered, whatever comes after it")
    await sees(driver, post, driver.words.superseded, "You said: sorry, this")
    driver.let_go()
    await driver.rests()
    shown = await whole(driver, post)
    assert "Second half" not in shown
    assert shown.index(driver.words.superseded) < shown.index("You said: sorry, this")


async def both_answered(driver: Driver, post: Post) -> None:
    driver.let_go()
    await sees(driver, post, "Second half of it.", "You said: sorry, this")
    assert driver.words.superseded not in await whole(driver, post)


class TestReplaceNothing(Rule):
    about = "A newer message replaces nothing"
    promise = "nothing is lost"

    async def test_both_are_answered(self, driver: Driver) -> None:
        post = await under_way(driver)
        await driver.say("ada", "sorry, this", below=post)
        await both_answered(driver, post)


class TestReplaceOwn(Rule):
    about = "A newer message of the same person replaces"
    promise = "what people see"
    replace = "speaker"

    async def test_an_answer_to_them_is_superseded(self, driver: Driver) -> None:
        post = await under_way(driver)
        await driver.say("ada", "sorry, this", below=post)
        await superseded(driver, post)

    async def test_an_answer_to_another_person_is_finished(self, driver: Driver) -> None:
        post = await under_way(driver)
        await driver.say("lead", "sorry, this", below=post)
        await both_answered(driver, post)


class TestReplaceThread(Rule):
    about = "A newer message in the conversation replaces"
    promise = "what people see"
    replace = "thread"

    async def test_any_answer_is_superseded(self, driver: Driver) -> None:
        post = await under_way(driver)
        await driver.say("lead", "sorry, this", below=post)
        await superseded(driver, post)


class TestReplaceKeeps(Rule):
    about = "Replacing drops no message"
    promise = "nothing is lost"
    replace = "thread"

    async def test_the_newest_of_three_is_answered(self, driver: Driver) -> None:
        post = await under_way(driver)
        await driver.say("ada", "and that", below=post)
        await driver.say("ada", "sorry, this", below=post)
        if driver.replaces:
            await superseded(driver, post)
        else:
            await both_answered(driver, post)
            await sees(driver, post, "You said: and that")
