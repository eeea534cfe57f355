"""Ledger promises about who may send what, and when: one sender per view, one view per lane."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.kinds import Millis
from gateway.engine.ledger import Ledger
from gateway.engine.ports import SessionStore
from tests.conformance.store.ledger.kit import (
    LANE,
    LAPSED,
    LONG,
    SLACK,
    WithLedger,
    begun,
    mark,
    opened,
    receipt,
    take,
    take_one,
    view_of,
)
from tests.conformance.store_kit import OTHER, PATIENCE, REF, T0, at


class ClaimingPromises(WithLedger):
    async def test_a_view_is_opened_as_it_was_given(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        target = {"channel": "C1", "thread": "1.2", "deep": {"list": [1, "é🙂", None, True]}}
        row = opened("card:r1", target=target, request="r1", remind_at=at(900), at=at(7))
        turn = await begun(store, "t1", row)
        found = await view_of(ledger, "t1", "card:r1")
        assert (found.agent, found.session, found.turn_id) == (REF.agent, REF.key, "t1")
        assert (found.turn, found.source, found.target) == (turn.row, "slack", target)
        assert (found.lane, found.request, found.remind_at) == (LANE, "r1", at(900))
        assert (found.state, found.wanted, found.shown) == ("due", 1, 0)
        assert (found.next_try, found.at) == (at(7), at(7))
        assert (found.attempts, found.token, found.seq, found.parts) == (0, 0, 0, ())
        assert (found.ref, found.hash, found.error, found.revive_on) == (None, None, None, None)
        assert await ledger.delivery(found.id) == found
        assert await ledger.delivery(found.id + 1) is None

    async def test_opening_it_again_asks_for_another_look(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        held = await take_one(ledger)
        await ledger.settle(receipt(held, "done"))
        await ledger.note([opened(turn=turn.row, lane="elsewhere", at=at(5))])
        (found,) = await ledger.deliveries(turn_id="t1")
        assert (found.id, found.state, found.wanted, found.lane) == (held.id, "due", 2, LANE)
        assert (found.next_try, found.at) == (at(5), T0)

    async def test_a_claim_is_for_one_sender(self, store: SessionStore, ledger: Ledger) -> None:
        await begun(store)
        found = await take_one(ledger)
        assert (found.state, found.token, found.attempts) == ("sending", 1, 1)
        assert found.recovered is False
        assert await take(ledger, 1000, owner="host-b") == []
        assert (await view_of(ledger)).state == "sending"

    async def test_what_is_not_due_waits(self, store: SessionStore, ledger: Ledger) -> None:
        await begun(store, "t1", opened(at=at(10)))
        assert await take(ledger, 9) == []
        assert len(await take(ledger, 10)) == 1

    async def test_a_claim_takes_its_own_sources_only(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store, "t1", opened("a", source="crisp", lane="crisp:1"), opened("b"))
        assert [row.part for row in await take(ledger)] == ["b"]
        assert list(await ledger.claim("host-a", (), at(0), LONG, 10)) == []
        both = await ledger.claim("host-a", {"crisp", "slack"}, at(0), LONG, 10)
        assert [row.part for row in both] == ["a"]

    async def test_a_claim_takes_the_longest_due_first_and_no_more_than_asked(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        for turn, due in (("t1", 3), ("t2", 1), ("t3", 2), ("t4", 1)):
            await begun(store, turn, opened(lane=turn, at=at(due)))
        assert [row.turn_id for row in await take(ledger, 5, limit=3)] == ["t2", "t4", "t3"]
        assert [row.turn_id for row in await take(ledger, 5, limit=3)] == ["t1"]

    async def test_of_a_lane_the_oldest_goes_first_and_alone(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store, "t1", opened("a", at=at(5)), opened("b", at=at(1)), opened("c"))
        await begun(store, "t2", opened("d", lane="other"))
        # Due for longer, and yet not before the one that was opened first.
        assert [row.part for row in await take(ledger, 4)] == ["d"]
        (first,) = await take(ledger, 5)
        assert first.part == "a"
        assert await take(ledger, 5) == []
        await ledger.settle(receipt(first, "due", next_try=at(50)))
        assert await take(ledger, 49) == []
        (first,) = await take(ledger, 50)
        await ledger.settle(receipt(first))
        (second,) = await take(ledger, 50)
        assert second.part == "b"
        await ledger.settle(receipt(second, "dead", error="is_archived"))
        assert [row.part for row in await take(ledger, 50)] == ["c"]

    async def test_a_woken_view_goes_before_younger_ones_of_its_lane(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store, "t1", opened("a"))
        await ledger.settle(receipt(await take_one(ledger)))
        await begun(store, "t2", opened("b"))
        await mark(store, turn)
        assert [row.part for row in await take(ledger)] == ["a"]

    async def test_a_woken_view_waits_for_who_sends_in_its_lane(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store, "t1", opened("a"))
        await ledger.settle(receipt(await take_one(ledger)))
        await begun(store, "t2", opened("b"))
        younger = await take_one(ledger, lease=LAPSED)
        await mark(store, turn)
        assert await ledger.next_due(SLACK) is None
        # Nobody else gets the lane, although its sender may be gone.
        younger = await take_one(ledger)
        assert (younger.part, younger.recovered) == ("b", True)
        assert await take(ledger, 1000) == []
        await ledger.settle(receipt(younger))
        assert [row.part for row in await take(ledger)] == ["a"]

    async def test_a_view_that_changed_lanes_leaves_the_old_one(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store, "t1", opened("card:r1"))
        held = await take_one(ledger)
        await ledger.settle(receipt(held, ref="1.5", lane=f"{LANE}#1.5"))
        await begun(store, "t2")
        await mark(store, turn)
        assert sorted(row.part for row in await take(ledger)) == ["card:r1", "reply"]

    async def test_a_lapsed_lease_is_anybodys_and_the_next_one_is_told(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store)
        first = await take_one(ledger, lease=LAPSED)
        second = await take_one(ledger)
        assert (second.id, second.token, second.attempts) == (first.id, 2, 2)
        assert second.recovered is True
        await ledger.settle(receipt(second, "due", next_try=at(3)))
        third = await take_one(ledger, 3)
        assert (third.token, third.recovered) == (3, False)

    async def test_a_renewed_lease_holds(self, store: SessionStore, ledger: Ledger) -> None:
        await begun(store, "t1", opened("a", lane="a"), opened("b", lane="b"))
        one, two = await take(ledger, lease=LAPSED)
        assert set(await ledger.renew([(one.id, one.token)], LONG)) == {one.id}
        (taken,) = await take(ledger)
        assert taken.id == two.id
        wrong = [(one.id, one.token), (two.id, two.token), (one.id + 99, 1)]
        assert set(await ledger.renew(wrong, LONG)) == {one.id}
        await ledger.settle(receipt(one))
        assert set(await ledger.renew([(one.id, one.token), (two.id, 2)], LONG)) == {two.id}
        assert set(await ledger.renew([], LONG)) == set()

    async def test_many_who_claim_at_once_get_each_view_once(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        for number in range(12):
            await begun(store, f"t{number}", opened(lane=f"lane-{number % 6}"))
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [tasks.create_task(take(ledger, owner=f"host-{k}", limit=2)) for k in range(8)]
        found = [row.turn_id for racer in racers for row in racer.result()]
        assert sorted(found) == [f"t{number}" for number in range(6)]

    async def test_the_next_due_one_heads_its_lane(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        assert await ledger.next_due(SLACK) is None
        await begun(store, "t1", opened("a", at=at(30)), opened("b", at=at(10)))
        await begun(store, "t2", opened("c", lane="crisp:1", source="crisp", at=at(5)))
        assert await ledger.next_due(SLACK) == at(30)
        assert await ledger.next_due(("slack", "crisp")) == at(5)
        first = await take_one(ledger, 30)
        assert await ledger.next_due(SLACK) is None
        await ledger.settle(receipt(first, "due", next_try=at(70)))
        assert await ledger.next_due(SLACK) == at(70)
        first = await take_one(ledger, 70)
        await ledger.settle(receipt(first, remind_at=at(80)))
        assert await ledger.next_due(SLACK) == at(10)
        await ledger.settle(receipt(await take_one(ledger, 10), "done", remind_at=at(1)))
        assert await ledger.next_due(SLACK) == at(80)

    async def test_a_resting_view_is_woken_when_it_asked_to_be(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store, "t1", opened("card:r1"))
        await ledger.settle(receipt(await take_one(ledger), remind_at=at(60)))
        assert await take(ledger, 59) == []
        assert list(await ledger.claim("host-a", ("crisp",), at(60), LONG, 10)) == []
        woken = await take_one(ledger, 60)
        assert (woken.wanted, woken.shown, woken.remind_at) == (2, 1, at(60))
        await ledger.settle(receipt(woken))
        assert (await view_of(ledger, "t1", "card:r1")).remind_at is None
        assert await take(ledger, 1000) == []

    async def test_views_of_other_sessions_stand_for_themselves(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store, "t1", opened(lane="one"))
        await begun(store, "t1", opened(lane="two"), ref=OTHER)
        found = {row.session: row for row in await take(ledger)}
        assert set(found) == {REF.key, OTHER.key}
        assert found[REF.key].turn != found[OTHER.key].turn
        assert len(await ledger.deliveries(turn_id="t1")) == 2

    @pytest.mark.parametrize("limit", [1, 2])
    async def test_views_are_listed_the_latest_first(
        self, store: SessionStore, ledger: Ledger, limit: int
    ) -> None:
        for turn in ("t1", "t2", "t3"):
            await begun(store, turn, opened(lane=turn))
        (dead, *_) = await take(ledger, limit=1)
        await ledger.settle(receipt(dead, "dead", error="gone"))
        assert [row.turn_id for row in await ledger.deliveries()] == ["t3", "t2", "t1"]
        latest = await ledger.deliveries(state="due", limit=limit)
        assert [row.turn_id for row in latest] == ["t3", "t2"][:limit]
        assert [row.turn_id for row in await ledger.deliveries(state="dead")] == ["t1"]
        assert [row.error for row in await ledger.deliveries(state="dead")] == ["gone"]
        assert list(await ledger.deliveries(state="done")) == []
        assert list(await ledger.deliveries(state="due", turn_id="t1")) == []
        assert list(await ledger.deliveries(turn_id="nobody's")) == []

    async def test_a_view_of_no_turn_is_nobodys(self, ledger: Ledger) -> None:
        """A mistake of the caller's: it must not stop the others."""
        await ledger.note([opened(turn=Millis(99))])
        assert await take(ledger) == []
        assert list(await ledger.deliveries()) == []
