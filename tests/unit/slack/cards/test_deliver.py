"""A card is posted once, says what its request says, and is rewritten in place."""

from __future__ import annotations

from typing import cast

import pytest

from channels.contract import SETTLING, RetryLater, Undeliverable
from channels.protocol import ChannelContext
from channels.slack.emulator import Fault
from channels.slack.emulator.faults import CallFault, Lasting
from channels.slack.reads.place import placed
from channels.slack.settings import read_options
from gateway.engine.kinds import JsonObject
from gateway.engine.ledger import Asked
from gateway.engine.struct import replace
from tests.unit.slack.cards.stage import Desk, Stage, stage


async def asked(stage: Stage) -> str:
    """Park, and open the view of the request in a thread of #support."""
    root = await stage.play.ada.say(stage.play.support, "refund 1042, it arrived broken")
    request = await stage.park()
    lane = f"slack:{stage.play.june.team}:{stage.play.support.id}:{root.ts}"
    await stage.open_view(request.id, stage.target(root.ts), lane)
    return request.id


async def test_it_is_posted_once_in_the_thread() -> None:
    async with stage() as s:
        request = await asked(s)
        row = await s.deliver()
        (card,) = s.cards()
        assert "Refund $42.50 on order 1042?" in card.text
        assert '"order": "1042"' in card.text
        assert "@support-leads" in card.text
        assert [one.label for one in card.buttons] == ["Approve", "Deny", "All arguments"]
        assert {one.value for one in card.buttons} == {request}
        assert (row.state, row.ref) == (
            "resting",
            f"slack:{s.team}:{s.play.support.id}:{card.ts}",
        )
        assert row.lane.endswith(f"#{card.ts}")
        assert row.lane.count("#") == 1
        assert (await s.store.ledger.shown_at("slack", row.ref or "")) == row
        posted = s.play.slack.journal.of("chat.postMessage")[0].arguments
        assert (posted["parse"], posted["unfurl_links"]) == ("none", "false")
        assert s.play.slack.pinged == []
        assert s.play.slack.journal.unfurled == []


async def test_nothing_new_is_no_call() -> None:
    async with stage() as s:
        await asked(s)
        await s.deliver()
        before = len(s.play.slack.journal.calls)
        await s.mark()
        row = await s.deliver()
        assert len(s.play.slack.journal.calls) == before
        assert (row.state, row.shown) == ("resting", row.wanted)


async def test_decided_it_loses_its_buttons_and_names_who() -> None:
    async with stage() as s:
        request = await asked(s)
        await s.deliver()
        pending = await s.session.pending()
        assert pending is not None
        await s.answer(pending, True, s.play.ada)
        await s.mark()
        row = await s.deliver()
        (card,) = s.cards()
        assert f"Approved by <@{s.play.ada.id}>" in card.text
        assert "running" in card.text
        assert card.buttons == []
        assert not card.edited
        assert row.state == "resting", "its call still runs"
        s.desk.gate.set()
        await s.session.result("t1")
        await s.mark()
        row = await s.deliver()
        assert (row.state, row.request) == ("done", request)
        assert "done" in s.cards()[0].text
        assert s.play.slack.journal.count("chat.postMessage") == 1
        assert {ping.id for ping in s.play.slack.pinged} == {s.play.ada.id}


async def test_a_place_is_bound_to_the_session() -> None:
    async with stage() as s:
        await asked(s)
        row = await s.deliver()
        look = Asked(source="slack", event_id="e", places=(row.ref or "",))
        known = await s.store.ledger.known(look)
        assert [(one.agent, one.session, one.kind) for one in known.bindings] == [
            ("june", "s1", "post")
        ]


async def test_decided_before_it_was_shown_it_stays_away() -> None:
    async with stage() as s:
        await asked(s)
        await s.session.cancel("t1")
        row = await s.deliver()
        assert (row.state, s.cards()) == ("silent", [])


async def test_a_lost_answer_is_not_sent_again_before_somebody_looked() -> None:
    async with stage() as s:
        await asked(s)
        s.play.slack.faults.add(Fault("drop_after", "chat.postMessage"))
        for _ in range(2):
            with pytest.raises(RetryLater):
                await s.deliver()
        assert len(s.cards()) == 1, "it isn't known whether it is there, so it isn't sent again"
        (found,) = await s.store.ledger.deliveries()
        (part,) = found.parts
        assert part.state == "opening"
        metadata = s.cards()[0].metadata or {}
        assert metadata["event_payload"] == {"nonce": part.nonce, "part": found.part, "n": 0}
        await s.look()
        row = await s.deliver()
        ref = f"slack:{s.team}:{s.play.support.id}:{s.cards()[0].ts}"
        assert (row.state, row.ref, len(s.cards())) == ("resting", ref, 1)


@pytest.mark.parametrize("fault", ["drop_before", "drop_after"])
async def test_a_routed_card_and_its_reminder_are_found_again(fault: CallFault) -> None:
    options = read_options(policy_words={"refunds": "@support-leads"}, remind_after=60)
    async with stage(options=options) as s:
        request = await s.park(event={"type": "message", "installation": s.team})
        await s.open_view(request.id, {"source": "slack", "address": s.play.support.id})
        for minutes, count in ((0, 1), (2, 2)):
            s.hands.ahead = minutes * 60_000
            s.play.slack.faults.add(Fault(fault, "chat.postMessage"))
            with pytest.raises(RetryLater):
                await s.deliver()
            await s.look()
            assert (await s.deliver()).state == "resting"
            assert len(s.cards()) == count
        _, reminder = s.play.slack.thread(s.play.support, s.cards()[0])
        assert "still waits" in reminder.text


async def test_what_was_refused_for_now_goes_out_later() -> None:
    async with stage() as s:
        await asked(s)
        s.play.slack.faults.add(Fault("rate_limited", "chat.postMessage", seconds=1))
        with pytest.raises(RetryLater) as later:
            await s.deliver()
        assert 0 < later.value.at - s.hands.now() <= 1_000
        row = await s.deliver()
        assert (row.state, len(s.cards()), len(row.parts)) == ("resting", 1, 1)


async def test_a_redraw_that_slack_did_not_take_is_made_again() -> None:
    async with stage() as s:
        await asked(s)
        await s.deliver()
        await s.session.cancel("t1")
        await s.mark()
        s.play.slack.faults.add(Fault("drop_after", "chat.update"))
        for _ in range(2):  # the lost change may still be carried out, and would undo the next one
            with pytest.raises(RetryLater):
                await s.deliver()
        assert len(s.play.slack.journal.of("chat.update")) == 1
        s.hands.ahead += SETTLING
        row = await s.deliver()
        (card,) = s.cards()
        assert (row.state, card.buttons) == ("done", [])
        assert "No longer needed" in card.text
        assert "the turn was stopped" in card.text


async def test_taken_away_it_is_posted_anew_while_it_is_open() -> None:
    async with stage(options=read_options(policy_words={"refunds": "the leads"})) as s:
        await asked(s)
        await s.deliver()
        june = s.play.slack.person(s.play.june.user)
        await june.delete(s.cards()[0])
        s.options = read_options(policy_words={"refunds": "@support-leads"})  # something to redraw
        await s.mark()
        row = await s.deliver()
        (card,) = s.cards()
        assert (row.state, row.ref) == (
            "resting",
            f"slack:{s.team}:{s.play.support.id}:{card.ts}",
        )
        await june.delete(card)
        await s.session.cancel("t1")
        await s.mark()
        assert (await s.deliver()).state == "done"
        assert s.cards() == []


@pytest.mark.parametrize("lost", ["", "chat.delete", "chat.postMessage"])
@pytest.mark.parametrize("code", ["edit_window_closed", "cant_update_message"])
async def test_where_it_cant_be_changed_another_takes_its_place(code: str, lost: str) -> None:
    """Else its buttons stand there for good, and nobody sees who decided."""
    async with stage() as s:
        await asked(s)
        await s.deliver()
        (before,) = s.cards()
        pending = await s.session.pending()
        assert pending is not None
        await s.answer(pending, True, s.play.ada)
        await s.mark()
        s.play.slack.faults.add(Fault("not_ok", "chat.update", count=None, error=code))
        if lost:
            s.play.slack.faults.add(Fault("drop_after", lost))
            with pytest.raises(RetryLater):
                await s.deliver()
        if lost == "chat.postMessage":
            await s.look()
        row = await s.deliver()
        (card,) = s.cards()
        assert card.ts != before.ts
        assert f"Approved by <@{s.play.ada.id}>" in card.text
        assert card.buttons == []
        assert (row.state, row.ref) == (
            "resting",
            f"slack:{s.team}:{s.play.support.id}:{card.ts}",
        )


async def test_a_card_is_taken_away_once_the_app_is_let_in_again() -> None:
    async with stage() as s:
        await asked(s)
        await s.deliver()
        (before,) = s.cards()
        pending = await s.session.pending()
        assert pending is not None
        await s.answer(pending, True, s.play.ada)
        await s.mark()
        faults = s.play.slack.faults
        faults.add(Fault("not_ok", "chat.update", count=None, error="edit_window_closed"))
        faults.add(Fault("not_ok", "chat.delete", error="token_revoked"))
        with pytest.raises(Undeliverable, match="revoked"):
            await s.deliver()
        await s.deliver()
        (card,) = s.cards()
        assert card.ts != before.ts
        assert card.buttons == []


async def test_a_routed_card_goes_to_its_channel_in_the_turns_workspace() -> None:
    async with stage() as s:
        request = await s.park(event={"type": "message", "installation": s.team})
        target = {"source": "slack", "address": s.play.support.id}
        await s.open_view(request.id, {**target}, f"slack:{s.play.support.id}")
        row = await s.deliver()
        assert (row.state, len(s.cards())) == ("resting", 1)
        assert row.lane == f"slack:{s.play.support.id}#{s.cards()[0].ts}"


async def test_a_channel_whose_workspace_nobody_knows_is_a_dead_letter() -> None:
    async with stage() as s:
        request = await s.park()
        await s.open_view(request.id, {"source": "slack", "address": s.play.support.id})
        with pytest.raises(Undeliverable) as dead:
            await s.deliver()
        assert dead.value.reason == "ambiguous_workspace"
        assert s.play.support.id in dead.value.detail
        await s.session.cancel("t1")


async def test_a_workspace_that_is_named_is_taken() -> None:
    async with stage() as s:
        request, channel = await s.park(), s.play.support.id
        await s.open_view(request.id, {"source": "slack", "address": f"{s.team}:{channel}"})
        row = await s.deliver()
        assert len(s.cards()) == 1
        filled: JsonObject = {"source": "slack", "address": channel, "installation": s.team}
        found = await placed(replace(row, target=filled), cast("ChannelContext", s.around), None)
        assert found.target == {**filled, "channel": channel}
        nowhere = replace(row, target={"source": "slack"})
        with pytest.raises(Undeliverable, match="no_place"):
            await placed(nowhere, cast("ChannelContext", s.around), s.team)
        unnamed = replace(row, target={"source": "slack", "address": channel})
        found = await placed(unnamed, cast("ChannelContext", s.around), s.team)
        assert found.target["installation"] == s.team


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("is_archived", "is_archived"),
        ("token_revoked", "token_revoked"),
        ("missing_scope", "missing_scope"),
    ],
)
async def test_what_slack_will_never_take_is_a_dead_letter(fault: Lasting, reason: str) -> None:
    async with stage() as s:
        await asked(s)
        s.play.slack.faults.add(Fault(fault, "chat.postMessage"))
        with pytest.raises(Undeliverable) as dead:
            await s.deliver()
        assert dead.value.reason == reason
        if reason != "token_revoked":
            assert s.play.support.id in dead.value.detail, "whoever is to mend it has to find it"
        assert (dead.value.revive_on is not None) == (reason == "token_revoked")


# -- reminders ---------------------------------------------------------------------------------------------
async def test_who_is_waited_for_is_said_again() -> None:
    options = read_options(
        policy_words={"refunds": "@support-leads"}, remind_after=3600, remind_every=60
    )
    async with stage(options=options) as s:
        await asked(s)
        row = await s.deliver()
        assert row.remind_at is not None
        assert abs(row.remind_at - s.hands.now() - 3_600_000) < 5_000
        for minutes, said in ((60, 1), (61, 2)):
            s.hands.ahead = minutes * 60_000 + 1_000
            row = await s.deliver()
            reminders = s.cards()[1:]
            assert len(reminders) == said
            assert "still waits for @support-leads" in reminders[-1].text
            assert row.remind_at is not None
            assert row.remind_at > s.hands.now()
        assert s.cards()[0].ts in (row.ref or "")
        await s.session.cancel("t1")
        await s.mark()
        row = await s.deliver()
        assert (row.state, row.remind_at, len(s.cards())) == ("done", None, 3)


async def test_without_the_option_nobody_is_reminded() -> None:
    async with stage() as s:
        await asked(s)
        row = await s.deliver()
        assert row.remind_at is None


async def test_a_request_that_was_taken_back_says_so() -> None:
    """A call that asks for something else in the end: the store keeps its newest request only."""
    async with stage(desk=Desk(prompt="Refund $42?")) as s:
        first = await asked(s)
        await s.deliver()
        pending = await s.session.pending()
        assert pending is not None
        s.desk.prompt = "Refund $43?"
        await s.answer(pending, True, s.play.ada)
        result = await s.session.result("t1")
        assert result.request is not None
        assert result.request.id != first
        await s.mark()
        row = await s.deliver()
        (card,) = s.cards()
        assert (row.state, card.buttons) == ("done", [])
        assert card.text == "A newer request took the place of this one."
