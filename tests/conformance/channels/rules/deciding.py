"""A decision counts once, is made by who may, and everybody who presses is told."""

from __future__ import annotations

from tests.conformance.channels.driver import Driver, request_in, whole
from tests.conformance.channels.rule import Rule
from tests.conformance.channels.waiting import asks, is_told, sees


class TestDecidedOnce(Rule):
    about = "A decision counts once"
    promise = "nothing twice"

    async def test_approve_pressed_three_times_at_once(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        await driver.press_at_once("lead", post, "Approve", 3)
        await sees(driver, post, "'paid': True")
        await driver.decide("lead", post, "Approve")
        await driver.rests()
        assert driver.ran == ["pay 40"]

    async def test_the_second_person_is_told_who_was_first(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        await driver.decide("lead", post, "Approve")
        await sees(driver, post, "'paid': True")
        await driver.decide("second", post, "Deny")
        await is_told(driver, "second", "lready approved by")
        assert await driver.private("lead") == []
        assert driver.ran == ["pay 40"]


class TestWhoDecides(Rule):
    about = "Only who may decides"
    promise = "who decides"

    async def test_a_stranger_is_refused_privately_and_it_stays_open(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        before = await driver.seen(post)
        await driver.decide("stranger", post, "Approve")
        await driver.rests()
        assert len(await driver.private("stranger")) == 1
        assert await driver.seen(post) == before
        await driver.decide("lead", post, "Approve")
        await sees(driver, post, "'paid': True")
        assert driver.ran == ["pay 40"]

    async def test_who_asked_is_nobody_special(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40")
        await asks(driver, post)
        await driver.decide("ada", post, "Approve")
        await driver.rests()
        assert driver.ran == []
        assert (await request_in(driver, post)).buttons

    async def test_guests_and_outsiders_are_refused(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40 by staff", where="shared")
        await asks(driver, post)
        for outsider in ("guest", "partner"):
            await driver.decide(outsider, post, "Approve")
            await driver.rests()
            assert len(await driver.private(outsider)) == 1
        assert driver.ran == []
        await driver.decide("stranger", post, "Approve")
        await sees(driver, post, "'paid': True")

    async def test_a_guest_decides_where_the_policy_names_guests(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 40 by anybody", where="shared")
        await asks(driver, post)
        await driver.decide("guest", post, "Approve")
        await sees(driver, post, "'paid': True")

    async def test_an_outsider_decides_where_the_policy_names_outsiders(
        self, driver: Driver
    ) -> None:
        post = await driver.say("ada", "pay 40 by anybody", where="shared")
        await asks(driver, post)
        await driver.decide("partner", post, "Approve")
        await sees(driver, post, "'paid': True")

    async def test_two_people_where_it_takes_two(self, driver: Driver) -> None:
        post = await driver.say("ada", "pay 600")
        await asks(driver, post)
        await driver.decide("lead", post, "Approve")
        await sees(driver, post, driver.words.one_of_two)
        await driver.decide("lead", post, "Approve")
        await driver.rests()
        assert driver.ran == []
        assert driver.words.one_of_two in await whole(driver, post)
        await driver.decide("second", post, "Approve")
        await sees(driver, post, "'paid': True")
        assert driver.ran == ["pay 600"]
