"""Ledger promises about restarts: nothing is lost, and who held something holds it no longer."""

from __future__ import annotations

import pytest

from gateway.engine.errors import DuplicateClaimError, LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Ledger
from gateway.engine.ports import SessionStore
from gateway.engine.records import PairSeen
from gateway.engine.struct import replace
from tests.conformance.store.ledger.incoming import ROWS, THREAD
from tests.conformance.store.ledger.kit import (
    LAPSED,
    LONG,
    WithLedger,
    begun,
    held,
    opened,
    part,
    receipt,
    take,
    take_one,
)
from tests.conformance.store.ledger.shared import ACME, FILE
from tests.conformance.store_kit import Reopen, accept, at, claim


class DurableLedgerPromises(WithLedger):
    """Skipped where nothing survives the process."""

    async def test_the_ledger_survives_a_restart(
        self, store: SessionStore, ledger: Ledger, reopen: Reopen
    ) -> None:
        await accept(store, companions=ROWS)
        await ledger.note([PairSeen(pair="other", at=at(3))])
        view = await take_one(ledger)
        await ledger.journal(view.token, [part(view, 1, ref="m1", state="live"), part(view, 2)])
        await ledger.settle(receipt(view, "due", next_try=at(50), error="ratelimited", hash="h"))
        await ledger.save_installation(ACME, None)
        await ledger.keep_file(FILE, b"abc")
        asked = Asked(
            source="slack", event_id="E1", keys=("k1",), places=(THREAD,), pairs=(f"{THREAD}:B1",)
        )
        before = (await ledger.known(asked), list(await ledger.deliveries()))
        again = (await reopen()).ledger
        assert (await again.known(asked), list(await again.deliveries())) == before
        assert await again.installation("T1") == replace(ACME, version=1)
        assert await again.file("F1") == b"abc"
        with pytest.raises(DuplicateClaimError):
            await again.note([claim("k1", None)])
        assert await take(again, 49) == []
        assert (await take_one(again, 50)).recovered is False
        (event,) = await again.take_inbox("host-a", at(0), LONG, 5)
        assert event.event_id == "E2"

    async def test_a_crashed_sender_loses_its_claim_and_nothing_else(
        self, store: SessionStore, ledger: Ledger, reopen: Reopen
    ) -> None:
        await begun(store)
        await begun(store, "t2")
        old = await take_one(ledger, lease=LAPSED)
        await ledger.journal(old.token, [part(old, ref="m1", state="live", acked=40)])
        again = (await reopen()).ledger
        new = await take_one(again)
        assert (new.id, new.recovered, new.token) == (old.id, True, old.token + 1)
        assert [(one.ref, one.acked) for one in new.parts] == [("m1", 40)]
        with pytest.raises(LeaseLostError):
            await again.settle(receipt(old, "done"))
        await again.settle(receipt(new, "done"))
        assert (await take_one(again)).turn_id == "t2"

    async def test_leases_of_a_process_that_is_surely_gone_are_void(
        self, store: SessionStore, ledger: Ledger, reopen: Reopen
    ) -> None:
        """Where one process has the store, its end is known when the next one opens it. Where
        several share it, another one may hold the lease still, which has to lapse."""
        await begun(store, "t1", opened("a", lane="a"), opened("b", lane="b"))
        await ledger.note([held()])
        one, two = await take(ledger, lease=Millis(3_600_000))
        await ledger.settle(receipt(two, "due"))
        (event,) = await ledger.take_inbox("host-a", at(0), Millis(3_600_000), 5)
        assert await ledger.hold("socket", "host-a", Millis(3_600_000)) is True
        again = (await reopen()).ledger
        found = {row.id: row.recovered for row in await take(again)}
        if store.capabilities.shared:
            assert found == {two.id: False}
            assert await again.take_inbox("host-b", at(0), LONG, 5) == []
            assert await again.hold("socket", "host-b", LONG) is False
            return
        assert found == {one.id: True, two.id: False}
        with pytest.raises(LeaseLostError):
            await again.settle(receipt(one, "done"))
        (retaken,) = await again.take_inbox("host-a", at(0), LONG, 5)
        assert (retaken.id, retaken.token) == (event.id, event.token + 1)
        assert await again.hold("socket", "host-b", LONG) is True
