"""Whatever comes in is judged, and bots don't keep each other talking."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, Judged, texts
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import asks, sees

ROUNDS = 4
"""How often a bot is answered while no person speaks."""


class TestVerdicts(Rule):
    about = "Everything that comes in has a verdict"
    promise = "what people see"

    async def test_an_accepted_message(self, driver: Driver) -> None:
        post = await driver.say("ada", "hello")
        await sees(driver, post, "You said: ")
        assert "accepted" in [one.word for one in await driver.verdicts(post)]

    async def test_what_people_say_to_each_other(self, driver: Driver) -> None:
        post = await driver.chat("ada", "lunch, anybody?")
        await driver.rests()
        assert await driver.verdicts(post) == [Judged("not_addressed", "not-mentioned")]
        assert await driver.seen(post) == []

    async def test_clicks_edits_commands_and_echoes(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        await driver.decide("stranger", post, "Approve")
        await driver.deny("lead", post, "no")
        await sees(driver, post, "I was told")
        await driver.edit(post, "pay 50")
        await driver.reset("ada", post, "command")
        await driver.delete(post)
        await driver.rests()
        assert await driver.unjudged() == []

    async def test_its_own_echo(self, driver: Driver) -> None:
        post = await driver.say("ada", "hello")
        await sees(driver, post, "You said: ")
        await driver.rests()
        assert "own_echo" in [one.word for one in await driver.verdicts(post)]
        assert len(await texts(driver, post)) == 1


class TestBots(Rule):
    about = "Bots"
    promise = "what people see"

    async def test_an_unlisted_one_gets_no_answer(self, driver: Driver) -> None:
        post = await driver.bot_says("stray", "tally")
        await driver.rests()
        assert {one.word for one in await driver.verdicts(post)} == {driver.words.bot}
        assert driver.ran == []

    async def test_two_that_talk_to_each_other_come_to_an_end(self, driver: Driver) -> None:
        root = await driver.bot_says("ping", "tally")
        await sees(driver, root, "tallied")
        for number in range(2, ROUNDS + 3):
            await driver.bot_says("ping", "tally", below=root)
            await driver.rests()
            assert len(driver.ran) == min(number, ROUNDS)
        assert "loop" in [one.word for one in await driver.verdicts(root)]
        await driver.say("ada", "tally", below=root)
        await driver.rests()
        assert len(driver.ran) == ROUNDS + 1
