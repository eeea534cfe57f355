"""A private channel gets another id for good while things are under way in it: nothing is lost.

Source: "channel_id_changed event" in Slack's docs (docs.slack.dev): it is sent when somebody begins to share the
channel with another organisation, and the old id names nothing from then on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import cast

import pytest

from channels.slack.emulator.faults import Fault
from channels.slack.emulator.journal import Delivered
from channels.slack.emulator.world.base import Happening
from gateway.engine.kinds import JsonObject
from gateway.engine.outcomes import TurnInput
from gateway.host.channels.delivering import with_delivery
from gateway.testing.slack import Shown
from tests.journeys.slack_clerk import clerk, desk, turn_id
from tests.journeys.slack_stage import PATIENCE, Stage, pressed

pytestmark = pytest.mark.timeout(90)

NEWS = "channel_id_changed"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with clerk(tmp_path) as stage:
        stage.office.orders.kind = "group"
        yield stage


def news(on: Stage) -> list[Delivered]:
    return [one for one in on.slack.journal.deliveries if one.type == NEWS]


async def renamed(on: Stage) -> None:
    on.slack.workspace("acme").share(on.office.orders)
    await on.slack.until(lambda: bool(news(on)))
    await on.slack.settled()


async def late(on: Stage) -> Happening:
    """The channel has its new id, and what tells of it is still on its way."""
    events, old = on.slack.app().events, on.office.orders.id
    events.remove(NEWS)
    at = on.slack.world.new_ts()
    new = on.slack.workspace("acme").share(on.office.orders).id
    events.add(NEWS)
    event: JsonObject = {
        "type": NEWS,
        "old_channel_id": old,
        "new_channel_id": new,
        "event_ts": at,
    }
    return Happening(event=event, channel=new)


async def test_a_card_decides_and_its_thread_goes_on_over_a_redeployment(on: Stage) -> None:
    asker = on.office.asker
    root = await on.ask("@june ask about leave")
    card = await on.card(root)
    session = on.office.session(root)
    await renamed(on)
    (first,) = news(on)
    again = Delivered(first.id, first.app, first.kind, first.type, first.payload)
    on.slack.outlet.dispatch(on.slack.app(), again)
    await on.slack.settled()
    await on.redeploy()
    shown = on.office.card(root)
    assert shown is not None
    await asker.click(shown, "Approve")
    await on.says(root, "It came to this")
    await on.until(lambda: on.office.card(root) is None)

    await on.ask("and now ask about tea", thread=root)
    second = await on.card(root)
    assert second.ts > card.ts
    await asker.click(second, "Deny")
    await on.until(lambda: "tea" in on.office.by_june(root)[-1].text)
    await on.until(lambda: on.office.status(root) == "active")
    assert "leave was agreed to" in str(await on.host.runtime.session("june", session).transcript())
    assert "about tea" in str(await on.host.runtime.session("june", session).transcript())
    assert on.told(asker) == []


@pytest.mark.parametrize(
    ("words", "begun", "end"), [("in two halves", 1, "second half"), ("hold on", 0, "You said")]
)
async def test_an_answer_under_way_comes_to_its_end_and_new_threads_are_heard(
    on: Stage, words: str, begun: int, end: str
) -> None:
    root = await on.ask(f"@june {words}")
    await on.until(lambda: bool(desk(on).asked))
    await on.until(lambda: len(on.office.saying(root, "first half")) == begun)
    await renamed(on)
    desk(on).gate.set()
    await on.says(root, end)
    other = await on.ask("@june count")
    await on.says(other, "You said")
    await on.ask("once more", thread=other)
    await on.says(other, "once more")


async def test_what_died_of_the_old_id_is_sent_once_the_new_one_is_known(on: Stage) -> None:
    ledger = on.host.runtime.store.ledger
    root = await on.ask("@june hold on and count")
    first = turn_id(on, root)
    await on.until(lambda: desk(on).thinking == 1)
    happening = await late(on)
    between = await on.ask("@june ask about leave")
    card = await on.card(between)
    desk(on).gate.set()
    async with asyncio.timeout(PATIENCE):
        while not (dead := await ledger.deliveries(state="dead")):
            await asyncio.sleep(0.02)
    assert {one.turn_id for one in dead} == {first}

    on.slack.world.tell(happening)
    await on.says(root, "You said")
    await on.ask("go on", thread=root)
    await on.says(root, "go on")
    await on.office.asker.click(card, "Approve")
    await on.says(between, "It came to this")


async def test_a_press_before_the_new_id_is_known_is_told_the_truth_and_counts_later(
    on: Stage,
) -> None:
    asker = on.office.asker
    root = await on.ask("@june ask about leave")
    await on.card(root)
    happening = await late(on)
    shown = on.office.card(root)
    assert shown is not None
    await asker.click(shown, "Approve")
    assert "no longer needed" not in await on.whispered(asker)
    on.slack.world.tell(happening)
    await on.slack.settled()
    await asker.forged(shown, pressed(shown, "Approve"))
    await on.says(root, "It came to this")


async def test_another_workspace_renames_no_channel_of_ours(on: Stage) -> None:
    happening = await late(on)
    on.slack.world.tell(happening)
    await on.slack.until(lambda: bool(news(on)))
    await on.slack.settled()
    (theirs,) = news(on)
    event = cast("JsonObject", theirs.payload["event"])
    forged: JsonObject = {
        **theirs.payload,
        "event_id": "Ev0THEIRS",
        "authorizations": [{"team_id": "T0ELSE", "enterprise_id": None, "user_id": "U0ELSE"}],
        "event": {**event, "old_channel_id": event["new_channel_id"], "new_channel_id": "C0ELSE"},
    }
    sent = Delivered("Ev0THEIRS", theirs.app, theirs.kind, theirs.type, forged)
    on.slack.outlet.dispatch(on.slack.app(), sent)
    await on.slack.settled()
    root = await on.ask("@june count")
    await on.says(root, "You said")
    (verdict,) = await on.host.runtime.store.ledger.verdicts(event="Ev0THEIRS")
    assert verdict.rule == "unknown-installation"


@pytest.mark.parametrize("lost", [False, True])
async def test_a_place_that_was_set_by_the_old_id_is_found_and_its_card_decides(
    on: Stage, lost: bool
) -> None:
    office, old = on.office, on.office.orders.id
    await renamed(on)
    await on.redeploy()
    desk(on).lists = {"leads": (f"slack:{office.june.key}:{office.asker.id}",)}
    if lost:
        on.slack.faults.add(Fault("drop_after", on="chat.postMessage", count=2))
    runtime = on.host.runtime
    message = TurnInput(
        message="ask about leave under leads",
        source="slack",
        trigger="proactive",
        target={"source": "slack", "address": f"{office.june.key}:{old}"},
    )
    await runtime.session("june", "s1").start(with_delivery(message, runtime.clock.now()))

    def cards() -> list[Shown]:
        return [one for one in on.slack.shown(office.orders) if one.buttons]

    await on.until(lambda: bool(cards()))
    await office.asker.click(cards()[0], "Approve")
    await on.until(lambda: not cards())
    await on.until(
        lambda: "It came to this" in str([s.text for s in on.slack.shown(office.orders)])
    )
    assert on.told(office.asker) == []
