"""Ledger promises about a claimed view: what its sender writes down, how it lets go, what wakes it."""

from __future__ import annotations

import pytest

from gateway.engine.errors import LeaseLostError, StaleAttemptError
from gateway.engine.ledger import Asked, Binding, Ledger, SettledState
from gateway.engine.ports import SessionStore
from gateway.engine.records import DeliveryMark, Writes
from gateway.engine.struct import replace
from tests.conformance.store.ledger.kit import (
    LANE,
    LAPSED,
    SLACK,
    WithLedger,
    begun,
    mark,
    opened,
    part,
    receipt,
    take,
    take_one,
    view_of,
)
from tests.conformance.store_kit import REF, T0, at, attempt

PLACE = Binding(place="slack:T1:C1:1.5", agent="june", session="cron:daily:7", kind="post", at=T0)


class SettlingPromises(WithLedger):
    async def test_a_receipt_is_kept_whole(self, store: SessionStore, ledger: Ledger) -> None:
        await begun(store)
        held = await take_one(ledger)
        settled = await ledger.settle(
            receipt(held, "dead", seq=9, hash="h", ref="1.5", lane="l", error="revoked",
                    revive_on="installation:T1", remind_at=at(8))
        )  # fmt: skip
        assert settled == await ledger.delivery(held.id)
        assert (settled.state, settled.shown, settled.seq) == ("dead", 1, 9)
        assert (settled.hash, settled.ref, settled.lane) == ("h", "1.5", "l")
        assert (settled.error, settled.revive_on) == ("revoked", "installation:T1")
        assert (settled.remind_at, settled.token) == (at(8), held.token)

    async def test_what_a_receipt_leaves_out_stays(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        first = receipt(await take_one(ledger), hash="h", ref="1.5", error="x", revive_on="y")
        await ledger.settle(first)
        await mark(store, turn, 4)
        settled = await ledger.settle(receipt(await take_one(ledger, 4), "done", next_try=at(99)))
        assert (settled.hash, settled.ref, settled.lane) == ("h", "1.5", LANE)
        assert (settled.error, settled.revive_on, settled.next_try) == (None, None, at(4))

    async def test_an_old_token_settles_nothing(self, store: SessionStore, ledger: Ledger) -> None:
        await begun(store)
        old = await take_one(ledger, lease=LAPSED)
        new = await take_one(ledger)
        with pytest.raises(LeaseLostError):
            await ledger.settle(receipt(old, "done", ref="9.9", places=(PLACE,)))
        with pytest.raises(LeaseLostError):
            await ledger.journal(old.token, [part(old)])
        assert await ledger.delivery(new.id) == replace(new, recovered=False)
        asked = Asked(source="slack", event_id="E", places=(PLACE.place,))
        assert (await ledger.known(asked)).bindings == ()
        assert (await ledger.settle(receipt(new, "done"))).state == "done"

    async def test_a_lapsed_lease_that_nobody_took_still_settles(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store)
        held = await take_one(ledger, lease=LAPSED)
        assert await ledger.journal(held.token, [part(held)]) == 1
        assert (await ledger.settle(receipt(held, "done"))).state == "done"

    async def test_a_view_is_settled_once(self, store: SessionStore, ledger: Ledger) -> None:
        await begun(store)
        held = await take_one(ledger)
        await ledger.settle(receipt(held, "due", next_try=at(5)))
        with pytest.raises(LeaseLostError):
            await ledger.settle(receipt(held, "done"))
        with pytest.raises(LeaseLostError):
            await ledger.journal(held.token, [part(held)])
        with pytest.raises(LeaseLostError):
            await ledger.settle(replace(receipt(held, "done"), delivery=held.id + 9))
        assert (await view_of(ledger)).state == "due"

    async def test_the_journal_keeps_the_last_word_of_each_part(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store)
        held = await take_one(ledger)
        first = part(held, 1, extra="é🙂")
        second = part(held, 2, kind="post")
        assert await ledger.journal(held.token, [second, first]) == 1
        live = replace(
            first, state="live", ref="1.5", start=3, end=90, acked=40, hash="abc", attempt=2,
            started_at=at(2), extra=None,
        )  # fmt: skip
        assert await ledger.journal(held.token, [live]) == 1
        assert (await view_of(ledger)).parts == (live, second)
        settled = await ledger.settle(receipt(held, "due"))
        assert settled.parts == (live, second)
        assert (await take_one(ledger)).parts == (live, second)
        assert (await ledger.deliveries())[0].parts == (live, second)

    async def test_a_journal_entry_is_about_one_view(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store, "t1", opened("a", lane="a"), opened("b", lane="b"))
        one, two = await take(ledger)
        with pytest.raises(ValueError, match="one delivery"):
            await ledger.journal(one.token, [part(one), part(two)])
        with pytest.raises(ValueError, match="one delivery"):
            await ledger.journal(one.token, [])
        assert all(row.parts == () for row in await ledger.deliveries())

    async def test_attempts_count_until_something_is_shown(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store)
        for tried in (1, 2, 3):
            held = await take_one(ledger)
            assert held.attempts == tried
            assert (await ledger.settle(receipt(held, "due"))).attempts == tried
        assert (await ledger.settle(receipt(await take_one(ledger)))).attempts == 0

    # -- marks ---------------------------------------------------------------------------------
    @pytest.mark.parametrize("state", ["resting", "done", "silent"])
    async def test_a_mark_wakes_a_view_that_is_quiet(
        self, store: SessionStore, ledger: Ledger, state: SettledState
    ) -> None:
        turn = await begun(store)
        await ledger.settle(receipt(await take_one(ledger), state))
        assert await take(ledger, 1000) == []
        await mark(store, turn, 7)
        assert await take(ledger, 6) == []
        woken = await take_one(ledger, 7)
        assert (woken.wanted, woken.shown) == (2, 1)

    async def test_a_mark_does_not_raise_the_dead(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        await ledger.settle(receipt(await take_one(ledger), "dead", satisfied=0))
        await mark(store, turn)
        assert await take(ledger, 1000) == []
        found = await view_of(ledger)
        assert (found.state, found.wanted) == ("dead", 2)

    async def test_a_mark_ends_a_back_off(self, store: SessionStore, ledger: Ledger) -> None:
        turn = await begun(store)
        await ledger.settle(receipt(await take_one(ledger), "due", next_try=at(9000)))
        await mark(store, turn, 3)
        found = await take_one(ledger, 3)
        assert (found.wanted, found.attempts) == (2, 1)

    async def test_a_sender_learns_of_a_mark_with_its_next_word(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        held = await take_one(ledger)
        assert await ledger.journal(held.token, [part(held)]) == 1
        await mark(store, turn, 5)
        assert (await view_of(ledger)).state == "sending"
        assert await take(ledger, 10) == []
        assert await ledger.journal(held.token, [part(held)]) == 2

    @pytest.mark.parametrize("state", ["resting", "done", "silent"])
    async def test_a_view_that_shows_less_than_is_wanted_is_due_at_once(
        self, store: SessionStore, ledger: Ledger, state: SettledState
    ) -> None:
        turn = await begun(store)
        held = await take_one(ledger)
        await mark(store, turn, 5)
        settled = await ledger.settle(receipt(held, state, next_try=at(500)))
        assert (settled.state, settled.wanted, settled.shown) == ("due", 2, 1)
        again = await take_one(ledger, 5)
        settled = await ledger.settle(receipt(again, state))
        assert (settled.state, settled.shown) == (state, 2)

    async def test_a_view_that_backs_off_does_so_whatever_is_wanted(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        held = await take_one(ledger)
        await mark(store, turn, 5)
        settled = await ledger.settle(receipt(held, "due", satisfied=0, next_try=at(500)))
        assert (settled.state, settled.shown, settled.next_try) == ("due", 0, at(500))

    async def test_a_mark_is_for_all_views_of_its_turn_and_no_others(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store, "t1", opened("a", lane="a"), opened("b", lane="b"))
        await begun(store, "t2", opened("c", lane="c"))
        for held in await take(ledger):
            await ledger.settle(receipt(held))
        await mark(store, turn)
        assert [row.part for row in await take(ledger)] == ["a", "b"]

    async def test_a_mark_falls_with_the_write_it_belongs_to(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        old = await attempt(store)
        await attempt(store)
        writes = Writes(companions=(DeliveryMark(turn=turn.row, at=T0), opened("x", turn=turn.row)))
        with pytest.raises(StaleAttemptError):
            await store.commit(old, writes)
        (found,) = await ledger.deliveries()
        assert (found.part, found.wanted) == ("reply", 1)

    async def test_a_mark_of_a_turn_without_views_is_nothing(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        await ledger.note([DeliveryMark(turn=replace(turn, row=99).row, at=T0)])  # type: ignore[arg-type]
        assert (await view_of(ledger)).wanted == 1

    # -- the dead and the found ----------------------------------------------------------------
    async def test_the_dead_are_retried_by_id_or_by_what_they_wait_for(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        for turn in ("t1", "t2", "t3"):
            await begun(store, turn, opened(lane=turn))
        one, two, three = await take(ledger)
        await ledger.settle(receipt(one, "dead", error="gone", revive_on="installation:T1"))
        await ledger.settle(receipt(two, "dead", error="gone", revive_on="installation:T2"))
        await ledger.settle(receipt(three))
        assert await ledger.retry(id=three.id, now=at(5)) == 0
        assert await ledger.retry(id=two.id, revive_on="installation:T1", now=at(5)) == 0
        assert await ledger.retry(revive_on="installation:T1", now=at(5)) == 1
        assert await ledger.retry(revive_on="installation:T1", now=at(5)) == 0
        assert await ledger.retry(id=two.id, now=at(6)) == 1
        assert [row.turn_id for row in await take(ledger, 5)] == ["t1"]
        again = await take_one(ledger, 6)
        assert (again.turn_id, again.wanted, again.attempts) == ("t2", 2, 1)
        assert (again.revive_on, again.error) == (None, "gone")

    async def test_what_turns_out_not_to_have_arrived_is_dead_and_sent_again_when_retried(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store)
        row = await take_one(ledger)
        shown = part(row, state="final", ref="m1")
        await ledger.journal(row.token, [shown])
        assert await ledger.fail(row.id, shown.n, "refused: 5.1.1") == "sending"
        assert (await view_of(ledger)).parts == (shown,)
        await ledger.settle(receipt(row, "done"))
        assert await ledger.fail(row.id, shown.n, "refused: 5.1.1") == "done"
        found = await view_of(ledger)
        assert (found.state, found.error) == ("dead", "refused: 5.1.1")
        assert found.parts == (replace(shown, state="gone"),)
        assert await ledger.fail(row.id, shown.n, "again") == "dead"
        assert (await view_of(ledger)).error == "refused: 5.1.1"
        assert await ledger.fail(row.id + 99, 1, "nothing") is None
        assert await ledger.retry(id=row.id, now=at(5)) == 1

    async def test_retrying_nothing_in_particular_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(ValueError, match="say which"):
            await ledger.retry(now=at(0))

    async def test_the_view_behind_a_message_is_found(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store, "t1", opened("a", lane="a"))
        await begun(store, "t2", opened("b", lane="b"))
        one, two = await take(ledger)
        await ledger.journal(one.token, [part(one, 1, ref="p1"), part(one, 2, ref="p2")])
        await ledger.settle(receipt(one, ref="p2"))
        await ledger.settle(receipt(two, ref="r2"))
        for ref, turn_id in (("p1", "t1"), ("p2", "t1"), ("r2", "t2")):
            found = await ledger.shown_at("slack", ref)
            assert found is not None
            assert found.turn_id == turn_id
            assert found == await ledger.delivery(found.id)
        assert await ledger.shown_at("slack", "p3") is None
        assert await ledger.shown_at("crisp", "p1") is None
        assert await ledger.shown_at("crisp", "r2") is None

    async def test_places_are_bound_with_the_receipt(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        thread = replace(PLACE, place="slack:T1:C1:1.4", kind="thread", turn=turn.row, at=at(2))
        await ledger.settle(receipt(await take_one(ledger), places=(PLACE, thread)))
        asked = Asked(source="slack", event_id="E", places=(thread.place, "other", PLACE.place))
        assert (await ledger.known(asked)).bindings == (thread, PLACE)
        assert await ledger.next_due(SLACK) is None
        assert (await store.session(REF)) is not None
