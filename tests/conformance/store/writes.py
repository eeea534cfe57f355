"""Store promises about decisions: acceptance, claims, numbering, one transaction."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.engine.errors import DuplicateClaimError, WriteConflictError
from gateway.engine.kinds import TurnRow
from gateway.engine.ports import SessionStore
from gateway.engine.records import (
    NEW_TURN,
    Ask,
    Plan,
    SessionPatch,
    SessionView,
    Writes,
)
from tests.conformance.store_kit import (
    OTHER,
    PATIENCE,
    REF,
    T0,
    accept,
    begin,
    claim,
    companions,
    draft,
    event,
    look,
    message,
)


class AcceptingPromises:
    async def test_an_unknown_session_is_shown_as_none(self, store: SessionStore) -> None:
        view = await look(store)
        assert view.session is None
        assert view.open == ()
        assert await store.session(REF) is None

    async def test_create_makes_the_session_once(self, store: SessionStore) -> None:
        first = await look(store, Ask(create=True))
        again = await look(store, Ask(create=True))
        assert first.session is not None
        assert again.session is not None
        assert first.session.id == again.session.id
        assert first.session.ref == REF
        assert (first.session.generation, first.session.next_index) == (0, 0)
        assert (first.session.owner, first.session.owner_alive) == (None, False)
        assert first.session.next_number == 1
        assert first.session.created_at > 0

    async def test_an_accepted_turn_is_read_back_whole(self, store: SessionStore) -> None:
        turn = await accept(store, body='{"blocks":[]}')
        assert turn.row != NEW_TURN
        assert (turn.turn_id, turn.number, turn.generation) == ("t1", 1, 0)
        assert (turn.body, turn.content_hash) == ('{"blocks":[]}', "hash-of-t1")
        assert (turn.source, turn.speaker, turn.queued_at) == ("slack", "slack:T1:U1", T0)
        assert (turn.state, turn.cancel, turn.last_seq, turn.alone) == ("queued", None, 0, False)
        row = await store.session(REF)
        assert row is not None
        assert row.next_number == 2

    async def test_accept_and_companions_commit_together(self, store: SessionStore) -> None:
        turn = await accept(store, companions=companions(NEW_TURN))
        with pytest.raises(DuplicateClaimError):
            await accept(store, turn_id="t2", companions=companions(NEW_TURN))
        assert await store.turn(REF, "t2") is None
        view = await look(store)
        assert [head.row for head in view.open] == [turn.row]

    async def test_a_taken_claim_applies_nothing(self, store: SessionStore) -> None:
        await accept(store, companions=(claim("evt-1"),))
        with pytest.raises(DuplicateClaimError) as caught:
            await accept(store, turn_id="t2", companions=(claim("evt-2"), claim("evt-1")))
        assert caught.value.key == "evt-1"
        assert await store.turn(REF, "t2") is None
        third = await accept(store, turn_id="t3", companions=(claim("evt-2"),))
        assert third.number == 2

    async def test_one_key_claimed_twice_in_one_go_is_a_duplicate(
        self, store: SessionStore
    ) -> None:
        with pytest.raises(DuplicateClaimError):
            await accept(store, companions=(claim("evt-1"), claim("evt-1")))
        assert await store.session(REF) is None

    async def test_an_expired_claim_may_be_claimed_again(self, store: SessionStore) -> None:
        await accept(store, companions=(claim("evt-1", life=1000),))
        with pytest.raises(DuplicateClaimError):
            await accept(store, turn_id="t2", companions=(claim("evt-1", now=999),))
        await accept(store, turn_id="t3", companions=(claim("evt-1", now=1000),))
        with pytest.raises(DuplicateClaimError):
            await accept(store, turn_id="t4", companions=(claim("evt-1", now=1500),))

    async def test_a_claim_needs_neither_turn_nor_session(self, store: SessionStore) -> None:
        writes = Writes(companions=(claim("ignored", None),))
        await store.amend(REF, Ask(lock="mailbox"), lambda _: Plan(None, writes))
        with pytest.raises(DuplicateClaimError):
            await store.amend(REF, Ask(lock="mailbox"), lambda _: Plan(None, writes))
        assert await store.session(REF) is None

    async def test_a_decision_that_raises_applies_nothing(self, store: SessionStore) -> None:
        def refuse(view: SessionView) -> Plan[None]:
            assert view.session is not None
            raise LookupError("no")

        with pytest.raises(LookupError, match="no"):
            await store.amend(REF, Ask(create=True), refuse)
        assert await store.session(REF) is None

    async def test_the_plans_result_comes_back(self, store: SessionStore) -> None:
        told = await store.amend(REF, Ask(), lambda view: Plan(("told", view.session)))
        assert told == ("told", None)

    async def test_one_turn_id_is_one_turn(self, store: SessionStore) -> None:
        await accept(store)
        with pytest.raises(WriteConflictError):
            await accept(store, companions=(claim("evt-1"),))
        await accept(store, turn_id="t2", companions=(claim("evt-1"),))
        await accept(store, OTHER)
        row = await store.session(REF)
        assert row is not None
        assert row.next_number == 3

    @pytest.mark.parametrize("lock", ["session", "mailbox"])
    async def test_concurrent_acceptance_numbers_without_gaps(
        self, store: SessionStore, lock: str
    ) -> None:
        done: list[int] = []

        async def one(k: int) -> None:
            def decide(view: SessionView) -> Plan[int]:
                new = draft(view, f"t{k}")
                return Plan(new.number, Writes(new_turn=new))

            ask = Ask(lock="session" if lock == "session" else "mailbox", create=True)
            done.append(await store.amend(REF, ask, decide))

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for k in range(50):
                tasks.create_task(one(k))
        assert sorted(done) == list(range(1, 51))
        view = await look(store)
        assert [head.number for head in view.open] == list(range(1, 51))

    async def test_a_turn_can_begin_in_the_transaction_that_accepts_it(
        self, store: SessionStore
    ) -> None:
        """Its rows say ``NEW_TURN``; the store names the turn in them and in the result."""

        def decide(view: SessionView) -> Plan[TurnRow]:
            assert view.session is not None
            new = replace(draft(view), row=NEW_TURN, state="running", content=None, opening=0)
            writes = Writes(
                new_turn=new,
                session=SessionPatch(epoch=view.session.epoch + 1, owner="host-a"),
                messages=(message(new, 0),),
                events=(event(new, 1),),
            )
            return Plan(NEW_TURN, writes, named=lambda _, row: row)

        for known in (False, True):
            ref = OTHER if known else REF
            if known:
                await store.amend(ref, Ask(create=True), lambda _: Plan(None))
            row = await store.amend(ref, Ask(lock="session", create=True), decide)
            turn = await store.turn(ref, "t1")
            assert turn is not None
            assert (turn.row, turn.state, turn.last_seq) == (row, "running", 1)
            assert [m.turn for m in await store.messages(ref, 0)] == [row]
            session = await store.session(ref)
            assert session is not None
            assert (session.epoch, session.owner, session.next_number) == (1, "host-a", 2)

    async def test_a_decision_sees_what_the_one_before_it_wrote(self, store: SessionStore) -> None:
        """Two decisions race for one place; the second sees the first's turn and gives way."""

        async def one(k: int) -> bool:
            def decide(view: SessionView) -> Plan[bool]:
                if view.open:
                    return Plan(False)
                return Plan(True, Writes(new_turn=draft(view, f"t{k}")))

            return await store.amend(REF, Ask(create=True), decide)

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [tasks.create_task(one(k)) for k in range(20)]
        assert sum(racer.result() for racer in racers) == 1

    async def test_a_caller_that_is_cancelled_harms_nobody(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            gone = [
                tasks.create_task(store.commit(fence, Writes(messages=(message(turn, k),))))
                for k in range(10)
            ]
            kept = tasks.create_task(store.commit(fence, Writes(messages=(message(turn, 10),))))
            await asyncio.sleep(0)
            for task in gone:
                task.cancel()
            await kept
        indexes = [row.index for row in await store.messages(REF, 0)]
        assert 10 in indexes
        assert len(indexes) == len(set(indexes))
        await store.commit(fence, Writes(messages=(message(turn, 11),)))
