"""Ledger promises about what hosts share: leases by name, installations, files; and forgetting."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.ledger import Asked, FileRow, Installation, Known, Ledger, SettledState
from gateway.engine.ports import SessionStore
from gateway.engine.records import PairSeen, PlaceBound
from gateway.engine.struct import replace
from tests.conformance.store.ledger.kit import (
    LAPSED,
    LONG,
    SLACK,
    WithLedger,
    before,
    begun,
    held,
    judged,
    mark,
    opened,
    part,
    receipt,
    take,
)
from tests.conformance.store_kit import PATIENCE, T0, at, claim

ACME = Installation(
    key="T1", app="A1", team="T1", enterprise="E1", org=True, bot_user="U9", bot_id="B9",
    scopes="chat:write,users:read", expires_at=at(5), sealed=b"\x00\xffsealed",
)  # fmt: skip
FILE = FileRow(id="F1", name="é.csv", media_type="text/csv", size=3, hash="h", at=T0)


class SharingPromises(WithLedger):
    async def test_a_lease_has_one_holder(self, ledger: Ledger) -> None:
        assert await ledger.hold("socket", "host-a", LONG) is True
        assert await ledger.hold("socket", "host-b", LONG) is False
        assert await ledger.hold("socket", "host-a", LONG) is True
        assert await ledger.hold("rotate", "host-b", LONG) is True
        await ledger.let_go("socket", "host-b")
        assert await ledger.hold("socket", "host-b", LONG) is False
        await ledger.let_go("socket", "host-a")
        await ledger.let_go("socket", "host-a")
        assert await ledger.hold("socket", "host-b", LONG) is True

    async def test_a_lease_that_lapsed_is_free(self, ledger: Ledger) -> None:
        assert await ledger.hold("socket", "host-a", LAPSED) is True
        assert await ledger.hold("socket", "host-b", LONG) is True
        assert await ledger.hold("socket", "host-a", LONG) is False

    async def test_a_lease_is_won_once_however_many_try(self, ledger: Ledger) -> None:
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [
                tasks.create_task(ledger.hold("socket", f"host-{k}", LONG)) for k in range(10)
            ]
        assert sum(racer.result() for racer in racers) == 1

    # -- installations -------------------------------------------------------------------------
    async def test_an_installation_comes_back_as_it_was_saved(self, ledger: Ledger) -> None:
        assert await ledger.installation("T1") is None
        assert await ledger.save_installation(ACME, None) is True
        assert await ledger.installation("T1") == replace(ACME, version=1)
        bare = Installation(key="T2", app="A1", sealed=b"")
        other = Installation(key="T0", app="A2", sealed=b"x")
        assert await ledger.save_installation(bare, None) is True
        assert await ledger.save_installation(other, None) is True
        assert [row.key for row in await ledger.installations("A1")] == ["T1", "T2"]
        assert await ledger.installation("T2") == replace(bare, version=1)

    async def test_an_installation_is_saved_over_the_one_that_was_read(
        self, ledger: Ledger
    ) -> None:
        await ledger.save_installation(ACME, None)
        gone = replace(ACME, state="uninstalled", sealed=b"", expires_at=None, version=77)
        assert await ledger.save_installation(gone, None) is False
        assert await ledger.save_installation(gone, 2) is False
        assert await ledger.save_installation(replace(gone, key="T5"), 1) is False
        assert await ledger.installation("T1") == replace(ACME, version=1)
        assert await ledger.save_installation(gone, 1) is True
        assert await ledger.installation("T1") == replace(gone, version=2)
        assert await ledger.save_installation(ACME, 1) is False
        assert await ledger.installation("T5") is None

    async def test_of_savers_who_read_the_same_one_wins(self, ledger: Ledger) -> None:
        await ledger.save_installation(ACME, None)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [
                tasks.create_task(ledger.save_installation(replace(ACME, sealed=bytes([k])), 1))
                for k in range(10)
            ]
        won = [k for k, racer in enumerate(racers) if racer.result()]
        assert len(won) == 1
        found = await ledger.installation("T1")
        assert found is not None
        assert (found.sealed, found.version) == (bytes(won), 2)

    # -- files ---------------------------------------------------------------------------------
    async def test_a_file_comes_back_and_the_first_one_stays(self, ledger: Ledger) -> None:
        assert await ledger.file("F1") is None
        await ledger.keep_file(FILE, b"\x00a\xff")
        await ledger.keep_file(replace(FILE, name="other"), b"later")
        assert await ledger.file("F1") == b"\x00a\xff"
        await ledger.keep_file(replace(FILE, id="F2"), b"")
        assert await ledger.file("F2") == b""

    # -- forgetting ----------------------------------------------------------------------------
    async def test_what_is_old_is_forgotten(self, store: SessionStore, ledger: Ledger) -> None:
        place = PlaceBound(place="p", agent="june", session="s", kind="thread", at=T0)
        pair = PairSeen(pair="pair", at=T0)
        await begun(store)
        (view,) = await take(ledger)
        await ledger.journal(view.token, [part(view, ref="m1")])
        await ledger.settle(receipt(view, "done"))
        await ledger.note([claim("k", None, life=0), judged(), place, pair, held()])
        (event,) = await ledger.take_inbox("host-a", T0, LONG, 1)
        await ledger.settle_inbox(event, True, None)
        await ledger.keep_file(FILE, b"abc")
        asked = Asked(source="slack", event_id="E1", keys=("k",), places=("p",), pairs=("pair",))

        assert await ledger.forget(before(-1)) == 0
        known = await ledger.known(asked)
        assert known.verdict is not None
        assert len(known.pairs) == 1
        assert await ledger.forget(before(1)) == 7
        assert await ledger.known(asked) == Known()
        assert list(await ledger.deliveries()) == []
        assert await ledger.shown_at("slack", "m1") is None
        assert await ledger.file("F1") is None
        # Held once more, since nothing is known of it any longer.
        await ledger.note([held()])
        assert len(await ledger.take_inbox("host-a", T0, LONG, 1)) == 1
        assert await ledger.forget(before(1)) == 0

    async def test_open_work_is_never_forgotten(self, store: SessionStore, ledger: Ledger) -> None:
        states: tuple[SettledState | None, ...] = ("resting", "due", "dead", None)
        for number, state in enumerate(states, 1):
            await begun(store, f"t{number}", opened(lane=f"lane-{number}"))
            (view,) = await take(ledger)
            if state is not None:
                await ledger.settle(receipt(view, state, next_try=at(50)))
        await ledger.note([held("E1"), held("E2")])
        await ledger.take_inbox("host-a", T0, LAPSED, 1)
        assert await ledger.forget(before(1000)) == 1
        left = [(row.turn_id, row.state) for row in await ledger.deliveries()]
        assert left == [("t4", "sending"), ("t2", "due"), ("t1", "resting")]
        assert len(await ledger.take_inbox("host-a", T0, LONG, 5)) == 2

    async def test_a_view_is_old_by_what_was_last_wanted_of_it(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await begun(store)
        await ledger.settle(receipt((await take(ledger))[0]))
        await mark(store, turn, 500)
        (view,) = await take(ledger, 500)
        await ledger.settle(receipt(view, "done"))
        assert await ledger.forget(before(500)) == 0
        assert await ledger.forget(before(501)) == 1

    async def test_an_expired_claim_only_is_forgotten(self, ledger: Ledger) -> None:
        await ledger.note([claim("k1", None, life=10), claim("k2", None, life=11)])
        assert await ledger.forget(before(10)) == 1
        asked = Asked(source="slack", event_id="E", keys=("k1", "k2"))
        assert [found.key for found in (await ledger.known(asked)).claims] == ["k2"]

    async def test_forgetting_goes_in_portions(self, ledger: Ledger) -> None:
        await ledger.note([judged(f"E{number}") for number in range(5)])
        gone = [await ledger.forget(before(1, limit=2)) for _ in range(4)]
        assert gone == [2, 2, 1, 0]

    async def test_the_ledger_of_a_closed_store_is_unavailable(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await begun(store)
        (view,) = await take(ledger)
        await store.close()
        with pytest.raises(StoreUnavailableError):
            await ledger.known(Asked(source="slack", event_id="E"))
        with pytest.raises(StoreUnavailableError):
            await ledger.note([judged()])
        with pytest.raises(StoreUnavailableError):
            await take(ledger)
        with pytest.raises(StoreUnavailableError):
            await ledger.settle(receipt(view))
        with pytest.raises(StoreUnavailableError):
            await ledger.next_due(SLACK)
        with pytest.raises(StoreUnavailableError):
            await ledger.hold("socket", "host-a", LONG)
