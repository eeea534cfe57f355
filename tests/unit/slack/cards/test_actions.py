"""What is pressed on a card that decides nothing, and what comes back from its forms."""

from __future__ import annotations

import pytest

from channels.contract import MISSING, Answer, Control
from channels.protocol import Card
from channels.slack.approve import FormErrors, completed
from channels.slack.cards.actions import AGAIN, act
from channels.slack.emulator import Shown
from channels.slack.parsing.clicks import NOT_NEEDED
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.limits import SYSTEM_WAITS
from gateway.engine.struct import replace
from tests.unit.slack.cards.stage import Desk, Stage, stage


async def shown(s: Stage) -> tuple[str, Shown]:
    """A card in a thread of #support."""
    root = await s.play.ada.say(s.play.support, "refund 1042")
    request = await s.park()
    await s.open_view(request.id, s.target(root.ts))
    await s.deliver()
    return request.id, s.cards()[0]


def answered(s: Stage) -> Answer:
    heard = s.heard()
    assert isinstance(heard, Answer), heard
    return heard


async def acted(s: Stage, request: str) -> None:
    heard = s.heard()
    assert isinstance(heard, Control), heard
    assert heard.reply["request"] == request
    card = await s.around.card(request)
    await acting(s, heard, card)


async def acting(s: Stage, heard: Control, card: Card | None) -> None:
    await act(heard, card, s.api, api_url=s.play.slack.api_url, waits=SYSTEM_WAITS)


def modal(s: Stage) -> JsonObject | None:
    view = s.play.ada.modal(s.play.slack.app())
    return None if view is None else view.view


def private(s: Stage) -> list[str]:
    return [one.text for one in s.play.slack.private(s.play.ada)]


@pytest.mark.parametrize(("label", "value"), [("Approve", True), ("Deny", False)])
async def test_a_press_is_a_decision_about_this_request(label: str, value: bool) -> None:
    async with stage() as s:
        request, card = await shown(s)
        await s.play.ada.click(card, label)
        heard = answered(s)
        assert (heard.request, heard.value) == (request, value)
        assert heard.shown == f"slack:{s.team}:{card.channel}:{card.ts}"
        assert (await s.store.ledger.shown_at("slack", heard.shown)) is not None


async def test_a_reason_is_asked_for_and_comes_back() -> None:
    async with stage() as s:
        request, card = await shown(s)
        await s.play.ada.click(card, "june.more", "Deny with a reason")
        await acted(s, request)
        await s.play.ada.submit(s.play.slack.app(), {"Reason": "already refunded"})
        heard = answered(s)
        assert (heard.request, heard.value, heard.reason) == (request, False, "already refunded")
        assert s.play.slack.pinged == []


async def test_a_form_is_filled_in_and_comes_back_as_a_value() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {"amount": {"type": "number", "maximum": 50}, "why": {"enum": ["a", "b"]}},
        "required": ["amount"],
    }
    async with stage(desk=Desk(schema=schema)) as s:
        request, card = await shown(s)
        await s.play.ada.click(card, "Answer")
        await acted(s, request)
        app = s.play.slack.app()
        await s.play.ada.submit(app, {"amount": "99", "why": "b"})
        wrong = completed(answered(s), (await s.card(request)).schema)
        assert isinstance(wrong, FormErrors)
        assert list(wrong.errors.values()) == ["Must be at most 50"]
        # Nobody listens here, so the emulator closes nothing: the person corrects it and sends again.
        await s.play.ada.submit(app, {"amount": "42.5", "why": "b"})
        good = completed(answered(s), (await s.card(request)).schema)
        assert isinstance(good, Answer)
        assert good.value == {"amount": 42.5, "why": "b"}


@pytest.mark.parametrize("options", [3, 30])
async def test_a_choice_comes_back_as_the_value_it_stands_for(options: int) -> None:
    values: list[Json] = [f"order {n}" for n in range(options)]
    async with stage(desk=Desk(schema={"enum": values})) as s:
        request, card = await shown(s)
        if options == 3:
            await s.play.ada.click(card, "order 2")
        else:
            await s.play.ada.click(card, "june.pick", "order 2")
        heard = answered(s)
        assert heard.value is MISSING
        done = completed(heard, (await s.card(request)).schema)
        assert isinstance(done, Answer)
        assert done.value == "order 2"


async def test_all_arguments_are_turned_page_by_page() -> None:
    async with stage(note="x" * 200_000) as s:
        request, card = await shown(s)
        await s.play.ada.click(card, "All arguments")
        await acted(s, request)
        assert "Page 1 of" in str(modal(s))
        await s.play.ada.press(s.play.slack.app(), "Next")
        await acted(s, request)
        assert "Page 2 of" in str(modal(s))
        assert s.play.slack.journal.count("views.open") == 1


async def test_a_trigger_that_is_too_old_is_said_privately() -> None:
    async with stage() as s:
        request, card = await shown(s)
        await s.play.ada.click(card, "All arguments")
        s.hands.ahead = 4_000
        await acted(s, request)
        assert (modal(s), private(s)) == (None, [AGAIN])


async def test_no_form_for_what_is_decided_already() -> None:
    async with stage() as s:
        request, card = await shown(s)
        await s.play.ada.click(card, "june.more", "Deny with a reason")
        await s.session.cancel("t1")
        await acted(s, request)
        assert (modal(s), private(s)) == (None, [NOT_NEEDED])


async def test_to_look_is_possible_afterwards_and_for_nothing_else() -> None:
    async with stage() as s:
        request, card = await shown(s)
        await s.play.ada.click(card, "All arguments")
        await s.session.cancel("t1")
        await acted(s, request)
        assert modal(s) is not None
        heard = s.heard()
        assert isinstance(heard, Control)
        await acting(s, replace(heard, kind="home"), None)
        assert private(s) == []
