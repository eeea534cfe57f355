"""What becomes of an answer whose question is edited, taken back or stopped."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, Judged, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import sees


class TestEdits(Rule):
    about = "A post is changed"
    promise = "what people see"

    async def test_edited_before_its_answer_is_finished(self, driver: Driver) -> None:
        post = await driver.say("ada", "slowly")
        await driver.begins(post)
        await driver.edit(post, "quickly")
        await sees(driver, post, "You said: ", "quickly")
        driver.let_go()
        await driver.rests()
        shown = await whole(driver, post)
        assert "Second half" not in shown
        assert shown.count("You said") == 1

    async def test_deleted_before_its_answer_is_finished(self, driver: Driver) -> None:
        above = await driver.say("ada", "hello")
        await sees(driver, above, "You said")
        post = await driver.say("ada", "slowly", below=above)
        await driver.begins(post)
        await driver.delete(post)
        await sees(driver, post, driver.words.stopped)
        driver.let_go()
        await driver.rests()
        assert "Second half" not in await whole(driver, post)

    async def test_later_edits_change_nothing_and_the_verdict_says_so(self, driver: Driver) -> None:
        post = await driver.say("ada", "tally")
        await sees(driver, post, "tallied")
        await driver.rests()
        before = await driver.seen(post)
        await driver.edit(post, "tally twice")
        await driver.rests()
        assert driver.ran == ["tally"]
        assert await driver.seen(post) == before
        assert Judged("accepted", "edit:changes-nothing") in await driver.verdicts(post)


class TestStop(Rule):
    about = "An answer is stopped"
    promise = "what people see"

    async def test_what_was_shown_stays_and_says_stopped(self, driver: Driver) -> None:
        post = await driver.say("ada", "slowly")
        await driver.begins(post)
        await driver.stop("ada", post)
        await sees(driver, post, driver.words.stopped)
        driver.let_go()
        await driver.rests()
        shown = await whole(driver, post)
        assert "First half" in shown
        assert "Second half" not in shown
        assert shown.count(driver.words.stopped) == 1
