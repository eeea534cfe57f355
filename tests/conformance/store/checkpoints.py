"""Store promises about an attempt's writes: the fence, uniqueness, neighbours, generations."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gateway.engine.errors import StaleAttemptError, WriteConflictError
from gateway.engine.kinds import SessionId, SessionRef
from gateway.engine.ports import SessionStore
from gateway.engine.records import (
    Ask,
    CancelMark,
    EditionRow,
    Fence,
    Plan,
    SessionPatch,
    Writes,
)
from tests.conformance.store_kit import (
    OTHER,
    PATIENCE,
    REF,
    accept,
    at,
    attempt,
    begin,
    event,
    every_write,
    look,
    message,
    model_step,
    patch,
    request,
    step,
    usage,
    vote,
)

EVERY_WRITE = (
    "session", "message", "step", "usage", "event", "turn", "cancel", "request", "vote", "edition",
    "companions",
)  # fmt: skip


class CheckpointPromises:
    async def test_a_step_commits_whole(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, model_step(turn, 0, 1))
        (row,) = await store.messages(REF, 0)
        assert (row.index, row.turn, row.turn_id, row.role) == (0, turn.row, "t1", "assistant")
        assert row.body == '{"text":"hi"}'
        assert await store.steps(turn.row) == [step(turn, "model:0", 0)]
        assert [e.event.seq for e in await store.events(REF, turn.row)] == [1, 2, 3]
        assert (await store.usage_totals(turn.row))["calls"] == 1
        session = await store.session(REF)
        assert session is not None
        assert session.next_index == 1

    @pytest.mark.parametrize("kind", EVERY_WRITE)
    async def test_the_fence_refuses_every_write(self, store: SessionStore, kind: str) -> None:
        turn, old = await begin(store)
        await store.commit(old, Writes(requests=(request(turn),)))
        fresh = await attempt(store, owner="host-b")
        before = await self._fenced_rows(store)
        with pytest.raises(StaleAttemptError):
            await store.commit(old, every_write(turn)[kind])
        assert await self._fenced_rows(store) == before
        await store.commit(fresh, every_write(turn)[kind])

    @staticmethod
    async def _fenced_rows(store: SessionStore) -> tuple[object, ...]:
        turn = await store.turn(REF, "t1")
        assert turn is not None
        return (
            turn,
            await store.session(REF),
            await store.messages(REF, 0),
            await store.steps(turn.row),
            await store.requests(turn.row),
            await store.events(REF, turn.row),
            await store.usage_totals(turn.row),
            await store.edition("e9"),
            (await look(store, Ask(request="r1"))).votes,
        )

    async def test_an_attempt_can_raise_its_own_fence(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(session=SessionPatch(epoch=fence.epoch + 1)))
        with pytest.raises(StaleAttemptError):
            await store.commit(fence, Writes(messages=(message(turn, 0),)))
        raised = Fence(fence.session, fence.epoch + 1)
        await store.commit(raised, Writes(messages=(message(turn, 0),)))

    async def test_a_fence_of_no_session_is_stale(self, store: SessionStore) -> None:
        with pytest.raises(StaleAttemptError):
            await store.commit(Fence(SessionId(4711), 1), Writes())

    async def test_fences_of_sessions_are_apart(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await begin(store, OTHER)
        await attempt(store, OTHER)
        await store.commit(fence, Writes(messages=(message(turn, 0),)))

    async def test_a_sequence_number_is_given_once(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(events=(event(turn, 1), event(turn, 2))))
        with pytest.raises(WriteConflictError):
            await store.commit(
                fence, Writes(messages=(message(turn, 0),), events=(event(turn, 3), event(turn, 2)))
            )
        assert await store.messages(REF, 0) == []
        assert [e.event.seq for e in await store.events(REF, turn.row)] == [1, 2]

    async def test_a_message_index_is_given_once_per_generation(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(messages=(message(turn, 0, '"first"'),)))
        with pytest.raises(WriteConflictError):
            await store.commit(
                fence, Writes(messages=(message(turn, 1), message(turn, 0, '"second"')))
            )
        await store.commit(fence, Writes(messages=(message(replace(turn, generation=1), 0),)))
        assert [row.body for row in await store.messages(REF, 0)] == ['"first"']

    async def test_a_step_is_replaced_under_its_name(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        started = step(turn, "tool:1:c1", done=False)
        await store.commit(fence, Writes(steps=(started, step(turn, "model:1", 1))))
        assert started in await store.steps(turn.row)
        done = replace(started, done=True, attempt=2, body='{"ok":1}', at=at(9))
        await store.commit(fence, Writes(steps=(done,)))
        found = {row.step: row for row in await store.steps(turn.row)}
        assert found == {"tool:1:c1": done, "model:1": step(turn, "model:1", 1)}

    async def test_usage_is_kept_once_per_step(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(usage=(usage(turn, 0),)))
        with pytest.raises(WriteConflictError):
            await store.commit(fence, Writes(usage=(usage(turn, 0),)))
        await store.commit(fence, Writes(companions=(usage(turn, 2),)))
        assert (await store.usage_totals(turn.row))["calls"] == 2

    async def test_an_edition_is_kept_as_it_was_first_written(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        edition = EditionRow(hash="e1", body='{"system":"Be kind."}')
        await store.commit(fence, Writes(editions=(edition, edition)))
        await store.commit(
            fence, Writes(editions=(EditionRow(hash="e1", body="other"),), steps=(step(turn, "a"),))
        )
        assert await store.edition("e1") == edition
        assert len(await store.steps(turn.row)) == 1

    async def test_a_saved_turn_keeps_its_opening_and_its_cancel_request(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        mark = CancelMark(turn=turn.row, reason="replaced", at=at(5))
        await store.amend(REF, Ask(), lambda _: Plan(None, Writes(cancels=(mark,))))
        saved = replace(
            turn, state="failed", surface='{"deny":[]}', edition="e1", opening=0, ended_at=at(9),
            attempt_at=None, ran=at(0), attempts=2, crashes=1, suspect=3, alone=True, request="r1",
            answer=7, error='{"message":"x"}', delivers=True, body="ignored", content=None,
            content_hash="ignored", cancel=None, cancel_at=None,
        )  # fmt: skip
        await store.commit(fence, Writes(turns=(saved,)))
        assert await store.turn(REF, "t1") == replace(
            saved, body=turn.body, content=turn.content, content_hash=turn.content_hash,
            cancel="replaced", cancel_at=at(5), last_seq=0,
        )  # fmt: skip

    async def test_the_content_goes_once_the_opening_message_holds_it(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        kept = await store.turn(REF, "t1")
        assert kept is not None
        assert kept.content == turn.content == '{"v":1,"blocks":[]}'
        await store.commit(fence, Writes(turns=(turn,), opened=(turn,)))
        opened = await store.turn(REF, "t1")
        assert opened is not None
        assert opened.content is None
        assert opened.body == turn.body

    async def test_a_first_cancel_request_is_not_overwritten_by_saving(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        mark = CancelMark(turn=turn.row, reason="requested", at=at(5))
        await store.commit(fence, Writes(cancels=(mark,), turns=(turn,)))
        (head,) = (await look(store)).open
        assert head.cancel == "requested"

    async def test_a_request_is_replaced_under_its_key(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(requests=(request(turn),)))
        decided = replace(
            request(turn), outcome="denied", value="false", reason="no", by="slack:T1:U2",
            decided_at=at(7),
        )  # fmt: skip
        await store.commit(fence, Writes(requests=(decided,)))
        assert await store.requests(turn.row) == [decided]
        anew = request(turn, "r2", expires=at(99))
        await store.commit(fence, Writes(requests=(anew,)))
        assert await store.requests(turn.row) == [anew]
        assert await store.find_request("r1") is None
        found = await store.find_request("r2")
        assert found is not None
        assert (found.ref, found.request, found.votes) == (REF, anew, 0)

    async def test_sessions_may_share_turn_ids_and_request_keys(self, store: SessionStore) -> None:
        one, first = await begin(store)
        two, second = await begin(store, OTHER)
        assert request(one).key == request(two).key
        await store.commit(first, Writes(requests=(request(one),), steps=(step(one, "model:1"),)))
        await store.commit(
            second, Writes(requests=(request(two, "r2"),), steps=(step(two, "model:1"),))
        )
        assert [row.id for row in await store.requests(one.row)] == ["r1"]
        assert [row.id for row in await store.requests(two.row)] == ["r2"]

    async def test_votes_are_rows_in_order(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(requests=(request(turn),)))
        votes = (
            vote(by="slack:T1:U9"),
            vote(by="slack:T1:U2"),
            vote(by="slack:T1:U2", value="false"),
        )
        for one in votes:
            await store.commit(fence, Writes(votes=(one,)))
        view = await look(store, Ask(request="r1"))
        assert view.votes == votes
        found = await store.find_request("r1")
        assert found is not None
        assert found.votes == 3

    async def test_one_bad_piece_leaves_its_neighbours(self, store: SessionStore) -> None:
        refs = [SessionRef("june", f"s{k}") for k in range(12)]
        sessions = [await begin(store, ref) for ref in refs]
        await attempt(store, refs[3])
        outcomes: dict[int, BaseException | None] = {}

        async def one(k: int) -> None:
            turn, fence = sessions[k]
            writes = model_step(turn, 0, 1)
            if k == 7:
                writes = replace(writes, events=(event(turn, 1), event(turn, 1)))
            try:
                await store.commit(fence, writes)
                outcomes[k] = None
            except (StaleAttemptError, WriteConflictError) as exc:
                outcomes[k] = exc

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for k in range(12):
                tasks.create_task(one(k))
        assert isinstance(outcomes.pop(3), StaleAttemptError)
        assert isinstance(outcomes.pop(7), WriteConflictError)
        assert set(outcomes.values()) == {None}
        for k in outcomes:
            assert len(await store.messages(refs[k], 0)) == 1
            assert len(await store.events(refs[k], sessions[k][0].row)) == 3
        for k in (3, 7):
            assert await store.messages(refs[k], 0) == []
            assert await store.events(refs[k], sessions[k][0].row) == []

    async def test_many_writers_at_once(self, store: SessionStore) -> None:
        refs = [SessionRef("june", f"s{k}") for k in range(200)]

        async def one(ref: SessionRef) -> None:
            turn, fence = await begin(store, ref)
            for index in range(3):
                await store.commit(fence, model_step(turn, index, 1 + 3 * index))

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            for ref in refs:
                tasks.create_task(one(ref))
        for ref in refs:
            turn = await store.turn(ref, "t1")
            assert turn is not None
            assert turn.last_seq == 9
            assert [row.index for row in await store.messages(ref, 0)] == [0, 1, 2]

    async def test_a_new_generation_starts_empty_and_keeps_the_old(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, model_step(turn, 0, 1, '"old"'))
        await patch(store, SessionPatch(reset_at=at(3)))
        row = await store.session(REF)
        assert row is not None
        assert row.reset_at == at(3)
        await patch(
            store, SessionPatch(generation=1, epoch=fence.epoch + 1, clear_reset=True, release=True)
        )
        row = await store.session(REF)
        assert row is not None
        assert (row.generation, row.next_index, row.next_number) == (1, 0, 2)
        assert (row.reset_at, row.owner) == (None, None)
        second = await accept(store, turn_id="t2")
        assert (second.generation, second.number) == (1, 2)
        fence = await attempt(store)
        await store.commit(fence, model_step(second, 0, 1, '"new"'))
        assert [m.body for m in await store.messages(REF, 0)] == ['"old"']
        assert [m.body for m in await store.messages(REF, 1)] == ['"new"']
        logged = await store.events(REF, turn.row)
        assert {e.message.body for e in logged if e.message} == {'"old"'}
        again = await store.turn(REF, "t1")
        assert again is not None
        assert again.generation == 0
