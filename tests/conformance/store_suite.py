"""What every ``SessionStore`` must do: one test per promise of the seam.

A backend's test file subclasses ``StoreSuite`` and gives three fixtures:

``store``
    an opened, empty store, closed afterwards;
``reopen``
    ``await reopen()`` closes the store under test and returns another one on the same data, as a
    restarted process would see it (skip in the fixture where nothing survives);
``restamp``
    ``await restamp(version)`` closes the store and sets the schema version its data claims to have.

Nothing here imports a backend, and a promise a backend can't make is skipped by its capability.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.errors import InvalidInputError, SchemaTooNewError, StoreUnavailableError
from gateway.engine.kinds import Millis, SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import NO_WRITES, Ask, Plan, SessionPatch, Writes
from tests.conformance.store.audit import AuditPromises
from tests.conformance.store.checkpoints import CheckpointPromises
from tests.conformance.store.local import HandlePromises, LocalPromises
from tests.conformance.store.past import PastPromises
from tests.conformance.store.reads import OpenWorkPromises, ReadingPromises, ViewPromises
from tests.conformance.store.writes import AcceptingPromises
from tests.conformance.store_kit import (
    REF,
    Reopen,
    Restamp,
    accept,
    attempt,
    begin,
    claim,
    event,
    look,
    message,
    model_step,
    request,
    save,
    vote,
)

ODD_KEYS = (
    "", " ", "a b", "%", "_", "'; DROP TABLE x; --", '"', "\\", "\n\r\t", "é", "e\u0301", "ß", "ẞ",
    "\u202e rtl", "🙂\U0010fffd", "K", "k", "\u212a", "?", "?1", ":x", "$1", "{}", "x" * 2000,
)  # fmt: skip


class OddPromises:
    async def test_keys_are_told_apart_exactly(self, store: SessionStore) -> None:
        for number, key in enumerate(ODD_KEYS):
            await accept(store, SessionRef("june", key), f"{key}{number}")
        for number, key in enumerate(ODD_KEYS):
            ref = SessionRef("june", key)
            row = await store.session(ref)
            assert row is not None
            assert (row.ref, row.next_number) == (ref, 2)
            turn = await store.turn(ref, f"{key}{number}")
            assert turn is not None
            assert turn.turn_id == f"{key}{number}"
        assert len(await store.list_sessions(limit=100)) == len(ODD_KEYS)

    @pytest.mark.parametrize("key", ["a\0b", "a\0", "\ud800"])
    async def test_a_key_no_database_takes_is_kept_or_refused_whole(
        self, store: SessionStore, key: str
    ) -> None:
        await accept(store, SessionRef("june", "a"))
        ref = SessionRef("june", key)
        try:
            await accept(store, ref)
        except InvalidInputError:
            assert len(await store.list_sessions()) == 1
        else:
            assert len(await store.list_sessions()) == 2
            row = await store.session(ref)
            assert row is not None
            assert row.ref == ref
        await accept(store, SessionRef("june", "a"), "t2")

    async def test_large_bodies_come_back_whole(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        body = '"' + "é🙂x" * 700_000 + '"'
        writes = model_step(turn, 0, 1, body)
        await store.commit(fence, replace(writes, events=(event(turn, 1, "message.completed", 0),)))
        (row,) = await store.messages(REF, 0)
        assert row.body == body
        (logged,) = await store.events(REF, turn.row)
        assert logged.message is not None
        assert logged.message.body == body
        big = await accept(store, turn_id="t2", body=body)
        assert big.body == body

    async def test_a_closed_store_is_unavailable(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.close()
        with pytest.raises(StoreUnavailableError):
            await store.commit(fence, NO_WRITES)
        with pytest.raises(StoreUnavailableError):
            await store.amend(REF, Ask(), lambda _: Plan(None))
        with pytest.raises(StoreUnavailableError):
            await store.beat("host-a")
        with pytest.raises(StoreUnavailableError):
            await store.turn(REF, "t1")
        with pytest.raises(StoreUnavailableError):
            await store.events(REF, turn.row)
        await store.close()


class DurablePromises:
    """Skipped where nothing survives the process."""

    async def test_everything_survives_a_restart(self, store: SessionStore, reopen: Reopen) -> None:
        turn, fence = await begin(store)
        await store.beat("host-a")
        await store.commit(fence, model_step(turn, 0, 1))
        await store.commit(
            fence,
            Writes(
                session=SessionPatch(reset_at=Millis(5)),
                requests=(request(turn),),
                votes=(vote(),),
                companions=(claim("evt-1", turn.row),),
            ),
        )
        await save(store, fence, turn, "suspended", "r1")
        before = await self._all_rows(store)
        store = await reopen()
        assert await self._all_rows(store) == before
        row = await store.session(REF)
        assert row is not None
        assert row.epoch == fence.epoch
        await store.commit(fence, Writes(messages=(message(turn, 1),)))
        second = await accept(store, turn_id="t2")
        assert second.number == 2
        assert (await attempt(store)).epoch == fence.epoch + 1

    @staticmethod
    async def _all_rows(store: SessionStore) -> tuple[object, ...]:
        turn = await store.turn(REF, "t1")
        assert turn is not None
        row = await store.session(REF)
        assert row is not None
        view = await look(store, Ask(head=True, tail=True, request="r1"))
        return (
            replace(row, owner_alive=False),
            turn,
            view.open, view.turn, view.tail, view.steps, view.request, view.votes,
            list(await store.messages(REF, 0)),
            list(await store.events(REF, turn.row)),
            await store.usage_totals(turn.row),
            list(await store.list_turns()),
            list(await store.list_requests()),
        )  # fmt: skip

    async def test_a_newer_schema_is_refused_naming_both_versions(
        self, reopen: Reopen, restamp: Restamp
    ) -> None:
        await restamp(9001)
        with pytest.raises(SchemaTooNewError, match="9001") as caught:
            await reopen()
        assert any(character.isdigit() for character in str(caught.value).replace("9001", ""))


class StoreSuite(
    AcceptingPromises,
    CheckpointPromises,
    ReadingPromises,
    ViewPromises,
    OpenWorkPromises,
    AuditPromises,
    PastPromises,
    LocalPromises,
    HandlePromises,
    OddPromises,
    DurablePromises,
):
    """All promises. Subclasses define ``store``, ``reopen`` and ``restamp``."""
