"""Journey 2, sentence by sentence: a refund waits for a button, and is paid once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.testing.slack import Impossible, Message, Shown
from tests.journeys.slack_stage import HOUR, Stage, altered, pressed, staged

pytestmark = pytest.mark.timeout(90)

REFUND = "@june refund 1042, it arrived broken"
PROMPT = "Refund $42.50 on order 1042, card ending 4242?"
WEEKEND = 62 * HOUR
SLOWLY = 5.0
"""A modal opens within three seconds of the click, or not at all: on this clock there is time for it."""


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with staged(tmp_path, speed=SLOWLY) as stage:
        yield stage


async def asked(on: Stage, words: str = REFUND) -> tuple[Message, Shown]:
    """The refund is asked for, and its card is there."""
    root = await on.ask(words)
    return root, await on.card(root)


async def decided(on: Stage, card: Shown, words: str) -> str:
    """The card, once it has no buttons to decide with any more and says this."""

    def redrawn() -> bool:
        now = on.now(card)
        return words in now.text and not {"Approve", "Deny"} & {b.label for b in now.buttons}

    await on.until(redrawn)
    return on.now(card).text


# -- the card --------------------------------------------------------------------------------------------
async def test_the_refund_parks_and_the_thread_shows_a_card_made_from_the_arguments(
    on: Stage,
) -> None:
    root, card = await asked(on)
    looked_up = on.office.saying(root, "Looking up order 1042")
    assert next(task.status for shown in looked_up for task in shown.tasks) == "complete"
    assert PROMPT in card.text
    assert "issue_refund" in card.text
    assert '"42.50"' in card.text
    assert "for @support-leads to decide" in card.text
    assert [button.label for button in card.buttons] == ["Approve", "Deny", "All arguments"]
    assert on.office.status(root) == "suspended"
    assert await on.books() == []
    assert len(on.office.by_june(root)) == 2


async def test_all_arguments_are_shown_to_who_asks_for_them(on: Stage) -> None:
    _, card = await asked(on)
    await on.office.outsider.click(card, "All arguments")
    app = on.slack.app()
    await on.until(lambda: on.office.outsider.modal(app) is not None)
    view = on.office.outsider.modal(app)
    assert view is not None
    shown = json.dumps(view.view)
    assert "order_id" in shown
    assert "1042" in shown
    assert "42.50" in shown
    assert on.office.lead.modal(app) is None
    assert on.now(card).buttons == card.buttons


async def test_what_waits_is_told_to_who_writes_meanwhile(on: Stage) -> None:
    root, card = await asked(on)
    await on.office.colleague.say(on.office.orders, "and where is 1043?", thread=root)
    await on.until(lambda: bool(on.office.saying(root, "as soon as @support-leads decided")))
    assert on.office.saying(root, "Order 1043") == []
    await on.office.lead.click(card, "Approve")
    await on.says(root, "Refunded $42.50")
    await on.says(root, "Order 1043")


# -- who decides -----------------------------------------------------------------------------------------
async def test_only_the_outsider_sees_that_it_is_for_others_and_the_card_stays(
    on: Stage,
) -> None:
    root, card = await asked(on)
    before = len(on.office.by_june(root))
    await on.office.outsider.click(card, "Approve")
    assert await on.whispered(on.office.outsider) == "This one is for @support-leads to decide."
    people = on.office.asker, on.office.colleague, on.office.lead, on.office.second
    assert [on.told(person) for person in people] == [[]] * 4
    assert on.now(card).buttons == card.buttons
    assert len(on.office.by_june(root)) == before
    assert await on.books() == []


async def test_after_a_weekend_and_two_redeploys_two_fast_clicks_pay_once(on: Stage) -> None:
    root, card = await asked(on)
    await on.redeploy(after=WEEKEND / 2)
    await on.redeploy(after=WEEKEND / 2)
    assert on.now(card).buttons == card.buttons
    press = pressed(card, "Approve")
    async with asyncio.TaskGroup() as fast:
        fast.create_task(on.office.lead.forged(card, press))
        fast.create_task(on.office.lead.forged(card, press))
    text = await decided(on, card, "Approved by")
    assert f"@{on.office.lead.name}" in text or on.office.lead.id in text
    await on.says(root, "Refunded $42.50 to the card ending 4242")
    await decided(on, card, "done")
    (paid,) = await on.books()
    assert (paid.order_id, paid.amount, paid.asked) == ("1042", "42.50", 1)
    assert len(on.office.saying(root, "Refunded $42.50")) == 1
    assert on.office.status(root) == "active"
    assert [ping for ping in on.slack.pinged if ping.by == on.office.june.user] == []


async def test_at_once_the_card_says_who_approved_and_that_it_runs(tmp_path: Path) -> None:
    async with staged(tmp_path, {"PAYMENTS_STUB_SECONDS": "2"}, speed=SLOWLY) as on:
        root, card = await asked(on)
        await on.office.lead.click(card, "Approve")
        text = await decided(on, card, "running")
        assert "Approved by" in text
        assert on.office.saying(root, "Refunded") == []
        with pytest.raises(Impossible):
            await on.office.second.click(card, "Approve")
        await on.says(root, "Refunded $42.50")


async def test_a_second_lead_on_an_old_screen_alone_is_told_who_was_first(on: Stage) -> None:
    root, card = await asked(on)
    await on.office.lead.click(card, "Approve")
    await on.says(root, "Refunded $42.50")
    await on.office.second.forged(card, pressed(card, "Approve"))
    told = await on.whispered(on.office.second)
    assert told.startswith("Already approved by ")
    assert on.office.lead.name in told or on.office.lead.id in told
    assert on.told(on.office.lead) == []
    assert [ping for ping in on.slack.pinged if ping.by == on.office.june.user] == []
    assert [paid.asked for paid in await on.books()] == [1]


async def test_above_500_dollars_it_takes_two_people(on: Stage) -> None:
    root, card = await asked(on, "@june refund 1045, the machine leaks")
    assert "0 of 2" in card.text
    assert "for 2 of @support-leads to decide" in card.text
    await on.office.lead.click(card, "Approve")
    await on.until(lambda: "1 of 2" in on.now(card).text)
    assert "approved by" in on.now(card).text
    once = on.now(card)
    await on.office.lead.click(once, "Approve")
    assert await on.whispered(on.office.lead) == (
        "Your vote is kept: 1 of 2. Somebody else has to decide as well."
    )
    await on.redeploy()
    assert "1 of 2" in on.now(card).text
    assert await on.books() == []
    await on.office.second.click(on.now(card), "Approve")
    text = await decided(on, card, "Approved by")
    assert all(who.id in text or who.name in text for who in (on.office.lead, on.office.second))
    await on.says(root, "Refunded $612.00")
    assert [paid.order_id for paid in await on.books()] == ["1045"]


# -- no --------------------------------------------------------------------------------------------------
async def test_denied_with_a_reason_june_reads_it_and_answers_in_kind(on: Stage) -> None:
    root, card = await asked(on)
    app, lead = on.slack.app(), on.office.lead
    await lead.click(card, "june.more", "Deny with a reason")
    await on.until(lambda: lead.modal(app) is not None)
    await lead.submit(app, {"Reason": "we send a new one instead"})
    text = await decided(on, card, "Denied by")
    assert "we send a new one instead" in text
    said = await on.says(root, "wasn't approved")
    assert "we send a new one instead" in said.text
    assert await on.books() == []


async def test_a_deadline_that_passed_is_told_as_expired_to_people_and_to_june(
    tmp_path: Path,
) -> None:
    within = ("schema=bool,", "schema=bool, expires_in=172_800, on_expiry=False,")
    agent = await asyncio.to_thread(altered, tmp_path, "tools/issue_refund.py", *within)
    async with staged(tmp_path / "state", {"GATEWAY_AGENT": str(agent)}, speed=SLOWLY) as on:
        root, card = await asked(on)
        assert "until" in card.text
        await on.redeploy(after=WEEKEND)
        text = await decided(on, card, "Expired")
        assert "Denied" not in text
        said = await on.says(root, "nothing was refunded")
        assert "Nobody decided in time" in said.text
        await on.office.lead.forged(card, pressed(card, "Approve"))
        assert "expired" in (await on.whispered(on.office.lead)).lower()
        assert await on.books() == []
        assert on.office.saying(root, "wasn't approved") == []


# -- every surface ---------------------------------------------------------------------------------------
async def test_decided_by_the_command_line_every_view_is_redrawn(on: Stage) -> None:
    root, card = await asked(on)
    (request,) = await on.gateway("approvals", "list")
    assert request["prompt"] == PROMPT
    await on.gateway("approvals", "approve", str(request["id"]))
    text = await decided(on, card, "Approved by")
    assert "cli:" in text
    await on.says(root, "Refunded $42.50")
    assert await on.gateway("approvals", "list") == []
    await on.office.lead.forged(card, pressed(card, "Deny"))
    assert (await on.whispered(on.office.lead)).startswith("Already approved by cli:")
    assert [paid.asked for paid in await on.books()] == [1]


async def test_decided_by_button_the_command_line_says_so(on: Stage) -> None:
    root, card = await asked(on)
    (request,) = await on.gateway("approvals", "list")
    await on.office.lead.click(card, "Deny")
    await on.says(root, "wasn't approved")
    (shown,) = await on.gateway("approvals", "show", str(request["id"]))
    assert shown["outcome"] == "denied"
    who = f"slack:{on.office.june.key}:{on.office.lead.id}"
    assert shown["by"] == who
