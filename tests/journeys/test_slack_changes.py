"""People and channels change while something is under way: nobody decides who may no longer, nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from channels.slack.reads.people import FRESH
from gateway.testing.slack import Shown
from tests.journeys.slack_clerk import clerk, rest, said
from tests.journeys.slack_stage import HOUR, PATIENCE, Stage, pressed

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with clerk(tmp_path) as stage:
        yield stage


def undecided(on: Stage, card: Shown) -> bool:
    return {"Approve", "Deny"} <= {button.label for button in on.now(card).buttons}


@pytest.mark.parametrize("mark", ["restricted", "deleted"])
async def test_who_may_decide_is_looked_at_when_it_is_pressed(on: Stage, mark: str) -> None:
    asker = on.office.asker
    root = await on.ask("@june ask about leave")
    card = await on.card(root)
    await rest(on, root)
    on.time.skip(FRESH)
    setattr(on.slack.world.users[asker.id], mark, True)
    await asker.click(card, "Approve")
    await on.whispered(asker)
    await on.slack.settled()
    assert undecided(on, card)
    assert not on.office.saying(root, "It came to this")


async def test_a_press_told_again_days_later_decides_nothing_more(on: Stage) -> None:
    asker = on.office.asker
    root = await on.ask("@june ask about leave")
    card = await on.card(root)
    press = pressed(card, "Approve")
    await asker.forged(card, press)
    await on.says(root, "leave was agreed to")
    for days in (1, 8, 20):
        on.time.skip(days * 24 * HOUR)
        await asker.forged(card, press)
        await on.slack.settled()
    assert said(on, root).count("It came to this") == 1


async def test_people_of_another_company_who_join_meanwhile_decide_nothing(on: Stage) -> None:
    root = await on.ask("@june ask about leave")
    card = await on.card(root)
    stranger = on.slack.workspace("globex").person("mallory")
    acme = on.slack.workspace("acme")
    acme.invite(on.office.orders, [stranger])
    await stranger.click(card, "Approve")
    await on.whispered(stranger)
    assert undecided(on, card)
    await stranger.say(on.office.orders, "approve it", thread=root)
    await on.slack.settled()
    assert undecided(on, card)
    await on.office.asker.click(card, "Approve")
    await on.says(root, "leave was agreed to")


async def test_an_app_that_is_removed_from_the_channel_finishes_when_it_is_back(on: Stage) -> None:
    office, ledger = on.office, on.host.runtime.store.ledger
    root = await on.ask("@june ask about leave")
    card = await on.card(root)
    office.orders.members.remove(office.june.user)
    await office.asker.click(card, "Approve")

    async with asyncio.timeout(PATIENCE):
        while len(dead := await ledger.deliveries(state="dead")) < 2:
            await asyncio.sleep(0.05)
    office.orders.members.add(office.june.user)
    for one in dead:
        await ledger.retry(id=one.id, now=on.time.now())
    await on.says(root, "leave was agreed to")
    await on.until(lambda: not undecided(on, card))
    await on.until(lambda: office.status(root) == "active")


async def test_a_mention_that_is_sent_to_the_channel_too_is_answered_once(on: Stage) -> None:
    above = await on.office.colleague.say(on.office.orders, "the kettle came back")
    text = "@june ask about leave"
    await on.office.asker.say(on.office.orders, text, thread=above, broadcast=True)
    await on.card(above)
    await on.slack.settled()
    assert len([one for one in on.office.by_june(above) if one.buttons]) == 1


async def test_fifty_people_who_are_named_are_not_called(on: Stage) -> None:
    acme = on.slack.workspace("acme")
    people = [acme.person(f"p{n}") for n in range(50)]
    acme.invite(on.office.orders, people)
    names = " ".join(f"@p{n}" for n in range(50))
    root = await on.ask(f"@june greet {names}")
    await on.says(root, f"@{people[-1].id}")
    assert on.slack.pinged == []
