"""Store promises about reading: views, transcripts, the event log, what is open, what is due."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from gateway.engine.kinds import Millis, Role, SessionRef, TurnRow
from gateway.engine.ports import STORE_SEAM_VERSION, SessionStore
from gateway.engine.records import (
    Ask,
    CancelMark,
    Plan,
    SessionPatch,
    SessionView,
    TurnHead,
    Writes,
)
from tests.conformance.store_kit import (
    OTHER,
    REF,
    accept,
    at,
    attempt,
    begin,
    draft,
    event,
    look,
    message,
    model_step,
    patch,
    request,
    save,
    step,
    usage,
    vote,
)

MINUTE = Millis(60_000)


class ReadingPromises:
    async def test_it_speaks_this_seam(self, store: SessionStore) -> None:
        assert store.seam_version == STORE_SEAM_VERSION
        assert store.dialect in {"memory", "sqlite", "postgresql"}

    async def test_nothing_is_found_in_an_empty_store(self, store: SessionStore) -> None:
        nowhere = TurnRow(4711)
        assert await store.session(REF) is None
        assert await store.turn(REF, "t1") is None
        assert list(await store.messages(REF, 0)) == []
        assert list(await store.steps(nowhere)) == []
        assert list(await store.requests(nowhere)) == []
        assert list(await store.events(REF, nowhere)) == []
        assert await store.edition("e1") is None
        assert await store.find_request("r1") is None
        assert list(await store.backlog(MINUTE)) == []
        assert list(await store.due(at(0))) == []
        assert list(await store.list_sessions()) == []
        assert list(await store.list_turns()) == []
        assert list(await store.list_requests()) == []
        assert await store.usage_totals(nowhere) == {
            "input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "cost": None, "calls": 0,
        }  # fmt: skip

    async def test_messages_come_in_order_after_a_cursor(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        rows = tuple(message(turn, index, f'"m{index}"') for index in (3, 1, 0, 2))
        await store.commit(fence, Writes(messages=rows))
        assert [m.index for m in await store.messages(REF, 0)] == [0, 1, 2, 3]
        assert [m.body for m in await store.messages(REF, 0, after=1)] == ['"m2"', '"m3"']
        assert [m.index for m in await store.messages(REF, 0, after=0, limit=2)] == [1, 2]
        assert list(await store.messages(REF, 0, limit=0)) == []
        assert list(await store.messages(REF, 0, after=3)) == []
        assert list(await store.messages(REF, 1)) == []
        assert list(await store.messages(OTHER, 0)) == []

    async def test_events_bring_what_they_point_at(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(
            fence, Writes(messages=(message(turn, 0, '"hello"', "user"),), events=(event(turn, 1),))
        )
        await store.commit(fence, model_step(turn, 1, 2, '"reply"'))
        plain, completed, _, cost = await store.events(REF, turn.row)
        assert (plain.event, plain.message, plain.usage) == (event(turn, 1), None, None)
        assert completed.event == event(turn, 2, "message.completed", 1)
        assert completed.message == replace(message(turn, 1, '"reply"'), turn_id="t1")
        assert cost.event.type == "usage"
        assert cost.usage == usage(turn, 1)

    async def test_an_event_may_point_at_a_row_without_usage(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        writes = Writes(
            messages=(message(turn, 0, '"result"', "tool"),),
            events=(event(turn, 1, "action.completed", 0),),
        )
        await store.commit(fence, writes)
        (logged,) = await store.events(REF, turn.row)
        assert logged.message is not None
        assert logged.message.role == "tool"
        assert logged.usage is None

    async def test_an_event_keeps_body_and_pointer_side_by_side(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        both = replace(event(turn, 1, "action.completed", 0), body='{"duration":3}')
        await store.commit(fence, Writes(messages=(message(turn, 0),), events=(both,)))
        (logged,) = await store.events(REF, turn.row)
        assert logged.event == both
        assert logged.message is not None

    async def test_events_come_in_order_after_a_cursor_up_to_a_limit(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(events=tuple(event(turn, seq) for seq in range(1, 31))))
        other, second = await begin(store, OTHER)
        await store.commit(second, Writes(events=(event(other, 1),)))
        assert [e.event.seq for e in await store.events(REF, turn.row)] == list(range(1, 31))
        assert [e.event.seq for e in await store.events(REF, turn.row, 28)] == [29, 30]
        assert [e.event.seq for e in await store.events(REF, turn.row, 3, 2)] == [4, 5]
        assert list(await store.events(REF, turn.row, 30)) == []

    async def test_usage_is_summed_exactly(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        rows = (*(usage(turn, k, "0.1") for k in (-1, 0, 1)), usage(turn, 3, None))
        await store.commit(fence, Writes(usage=rows))
        totals = await store.usage_totals(turn.row)
        assert Decimal(str(totals.pop("cost"))) == Decimal("0.3")
        assert totals == {
            "input": 400, "output": 80, "cache_read": 28, "cache_write": 12, "calls": 4,
        }  # fmt: skip

    async def test_usage_without_a_price_has_no_cost(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(usage=(usage(turn, 0, None),)))
        assert (await store.usage_totals(turn.row))["cost"] is None


class ViewPromises:
    async def test_open_turns_are_listed_by_number(self, store: SessionStore) -> None:
        first, fence = await begin(store)
        for k in (2, 3, 4):
            await accept(store, turn_id=f"t{k}")
        third = await store.turn(REF, "t3")
        assert third is not None
        await save(store, fence, third, "cancelled")
        await store.commit(
            fence,
            Writes(
                events=(event(first, 1), event(first, 2)),
                cancels=(CancelMark(turn=first.row, reason="requested", at=at(1)),),
            ),
        )
        view = await look(store)
        assert [head.turn_id for head in view.open] == ["t1", "t2", "t4"]
        assert view.open[0] == TurnHead(
            row=first.row, turn_id="t1", number=1, generation=0, state="running",
            cancel="requested", source="slack", speaker="slack:T1:U1", delivers=False, last_seq=2,
        )  # fmt: skip
        assert view.turn is None

    async def test_a_view_says_which_of_the_open_turns_are_delivered(
        self, store: SessionStore
    ) -> None:
        def decide(seen: SessionView) -> Plan[None]:
            return Plan(None, Writes(new_turn=replace(draft(seen), delivers=True)))

        await store.amend(REF, Ask(create=True), decide)
        await accept(store, turn_id="t2")
        view = await look(store, Ask(turn_id="t1"))
        assert [head.delivers for head in view.open] == [True, False]
        assert view.turn is not None
        assert view.turn.delivers
        (second, first) = await store.list_turns(ref=REF)
        assert (first.turn.delivers, second.turn.delivers) == (True, False)

    async def test_a_view_shows_the_turn_it_is_asked_for(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(events=(event(turn, 1),)))
        turn = await save(store, fence, replace(turn, last_seq=1), "completed")
        view = await look(store, Ask(turn_id="t1"))
        assert view.turn == turn
        assert view.open == ()
        assert (await look(store, Ask(turn_id="t2"))).turn is None
        assert (await look(store, Ask(turn_id="t1"), OTHER)).turn is None

    async def test_head_is_the_oldest_open_turn(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await accept(store, turn_id="t2")
        await accept(store, turn_id="t3")
        assert (await look(store, Ask(head=True))).turn == turn
        turn = await save(store, fence, turn, "suspended")
        assert (await look(store, Ask(head=True))).turn == turn
        await save(store, fence, turn, "completed")
        head = (await look(store, Ask(head=True))).turn
        assert head is not None
        assert (head.turn_id, head.body) == ("t2", '{"v":1}')

    async def test_tail_starts_at_the_turns_last_assistant_message(
        self, store: SessionStore
    ) -> None:
        turn, fence = await begin(store)
        roles: tuple[Role, ...] = ("user", "assistant", "tool", "assistant", "tool")
        await store.commit(
            fence,
            Writes(
                turns=(replace(turn, opening=0),),
                messages=tuple(message(turn, k, f'"{k}"', roles[k]) for k in range(5)),
                steps=(step(turn, "model:1", 1), step(turn, "tool:1:c1", 2)),
            ),
        )
        view = await look(store, Ask(head=True, tail=True))
        assert [(m.index, m.role, m.turn_id) for m in view.tail] == [
            (3, "assistant", "t1"),
            (4, "tool", "t1"),
        ]
        assert {s.step for s in view.steps} == {"model:1", "tool:1:c1"}
        plain = await look(store, Ask(head=True))
        assert (plain.tail, plain.steps) == ((), ())

    async def test_tail_before_any_reply_is_the_opening(self, store: SessionStore) -> None:
        first, fence = await begin(store)
        opened = (message(first, 0, "{}", "user"), message(first, 1, "{}", "assistant"))
        await store.commit(fence, Writes(messages=opened))
        await save(store, fence, replace(first, opening=0), "completed")
        second = await accept(store, turn_id="t2")
        assert (await look(store, Ask(head=True, tail=True))).tail == ()
        opening = message(second, 2, "{}", "user")
        await store.commit(fence, Writes(messages=(opening,), turns=(replace(second, opening=2),)))
        view = await look(store, Ask(head=True, tail=True))
        assert [(m.index, m.role, m.turn_id) for m in view.tail] == [(2, "user", "t2")]

    async def test_a_request_is_shown_to_its_own_session_only(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await begin(store, OTHER)
        await store.commit(fence, Writes(requests=(request(turn),), votes=(vote(),)))
        view = await look(store, Ask(request="r1"))
        assert view.request == request(turn)
        assert view.votes == (vote(),)
        elsewhere = await look(store, Ask(request="r1"), OTHER)
        assert (elsewhere.request, elsewhere.votes) == (None, ())
        assert (await look(store, Ask(request="r2"))).request is None

    async def test_an_owner_lives_while_it_beats(self, store: SessionStore) -> None:
        await begin(store)
        row = await store.session(REF)
        assert row is not None
        assert (row.owner, row.owner_alive, row.epoch) == ("host-a", False, 1)
        await store.beat("host-b")
        assert not (await store.backlog(MINUTE))[0].owner_alive
        await store.beat("host-a")
        await store.beat("host-a")
        (waiting,) = await store.backlog(MINUTE)
        assert (waiting.ref, waiting.owner, waiting.owner_alive) == (REF, "host-a", True)
        assert not (await store.backlog(Millis(0)))[0].owner_alive
        view = await look(store)
        assert view.session is not None
        assert view.session.owner_alive
        await patch(store, SessionPatch(release=True))
        (waiting,) = await store.backlog(MINUTE)
        assert (waiting.owner, waiting.owner_alive) == (None, False)


class OpenWorkPromises:
    async def test_backlog_holds_what_waits_for_an_attempt(self, store: SessionStore) -> None:
        refs = {
            name: SessionRef("june", name)
            for name in (
                "queued",
                "running",
                "done",
                "parked",
                "behind",
                "answered",
                "reset",
                "new",
            )
        }
        await accept(store, refs["queued"])
        await begin(store, refs["running"])
        turn, fence = await begin(store, refs["done"])
        await save(store, fence, turn, "completed")
        for name in ("parked", "behind", "answered"):
            turn, fence = await begin(store, refs[name])
            turn = await save(store, fence, turn, "suspended", "r1")
            if name != "parked":
                await accept(store, refs[name], "t2")
            if name == "answered":
                await save(store, fence, turn, "queued")
        turn, fence = await begin(store, refs["reset"])
        await save(store, fence, turn, "suspended")
        await patch(store, SessionPatch(reset_at=at(1)), refs["reset"])
        await look(store, Ask(create=True), refs["new"])
        backlog = {row.ref.key: row.resetting for row in await store.backlog(MINUTE)}
        assert backlog == {"queued": False, "running": False, "answered": False, "reset": True}

    async def test_backlog_lists_a_session_once(self, store: SessionStore) -> None:
        await accept(store)
        await accept(store, turn_id="t2")
        await patch(store, SessionPatch(reset_at=at(1)))
        assert [(row.ref, row.resetting) for row in await store.backlog(MINUTE)] == [(REF, True)]

    async def test_due_lists_open_requests_of_parked_turns(self, store: SessionStore) -> None:
        for k, (expires, state) in enumerate(
            [(10, "suspended"), (20, "suspended"), (10, "queued"), (None, "suspended")]
        ):
            ref = SessionRef("june", f"s{k}")
            turn, fence = await begin(store, ref)
            deadline = None if expires is None else at(expires)
            asked = request(turn, f"r{k}", expires=deadline)
            await store.commit(fence, Writes(requests=(asked,)))
            await save(store, fence, turn, "suspended" if state == "suspended" else "queued")
        assert list(await store.due(at(9))) == []
        ((ref, found),) = await store.due(at(10))
        assert (ref.key, found.id, found.expires_at) == ("s0", "r0", at(10))
        assert {asked.id for _, asked in await store.due(at(20))} == {"r0", "r1"}
        turn_row = found.turn
        fence = await attempt(store, ref)
        decided = replace(found, outcome="expired", decided_at=at(11))
        await store.commit(fence, Writes(requests=(decided,)))
        assert [asked.id for _, asked in await store.due(at(10))] == []
        assert [asked.outcome for asked in await store.requests(turn_row)] == ["expired"]

    async def test_open_requests_are_listed_oldest_first(self, store: SessionStore) -> None:
        for k in (3, 1, 2):
            ref = SessionRef("june", f"s{k}")
            turn, fence = await begin(store, ref)
            asked = replace(request(turn, f"r{k}"), created_at=at(k))
            await store.commit(fence, Writes(requests=(asked,), votes=(vote(f"r{k}"),) * (k - 1)))
            await save(store, fence, turn, "suspended", f"r{k}")
        turn, fence = await begin(store)
        await store.commit(fence, Writes(requests=(request(turn, "r9"),)))
        listed = await store.list_requests()
        assert [(row.ref.key, row.request.id, row.votes) for row in listed] == [
            ("s1", "r1", 0),
            ("s2", "r2", 1),
            ("s3", "r3", 2),
        ]
        assert [row.request.id for row in await store.list_requests(limit=1)] == ["r1"]

    async def test_sessions_are_listed_with_their_status(self, store: SessionStore) -> None:
        names = ("new", "queued", "running", "idle", "suspended", "resetting")
        refs = {name: SessionRef("june", name) for name in names}
        await look(store, Ask(create=True), refs["new"])
        await accept(store, refs["queued"])
        await begin(store, refs["running"])
        turn, fence = await begin(store, refs["idle"])
        await store.commit(fence, Writes(messages=(message(turn, 0),)))
        await save(store, fence, turn, "completed")
        for name in ("suspended", "resetting"):
            turn, fence = await begin(store, refs[name])
            await store.commit(fence, Writes(requests=(request(turn, f"r-{name}"),)))
            await save(store, fence, turn, "suspended", f"r-{name}")
            await accept(store, refs[name], "t2")
        await patch(store, SessionPatch(reset_at=at(1)), refs["resetting"])
        await accept(store, SessionRef("max", "elsewhere"))

        listed = {row.row.ref.key: row for row in await store.list_sessions(agent="june")}
        assert {key: row.status for key, row in listed.items()} == {
            **{name: name for name in names},
            "queued": "running",
        }
        assert listed["suspended"].pending == "r-suspended"
        assert listed["running"].pending is None
        assert (listed["suspended"].turns, listed["new"].turns) == (2, 0)
        assert listed["idle"].row == await store.session(refs["idle"])
        assert len(await store.list_sessions()) == 7
        running = await store.list_sessions(status="running")
        assert {row.row.ref.key for row in running} == {"queued", "running", "elsewhere"}
        assert len(await store.list_sessions(limit=2)) == 2
        assert len(await store.list_sessions(status="suspended", limit=5)) == 1

    async def test_a_reset_session_counts_as_new(self, store: SessionStore) -> None:
        turn, fence = await begin(store)
        await store.commit(fence, Writes(messages=(message(turn, 0),)))
        await save(store, fence, turn, "cancelled")
        await patch(store, SessionPatch(generation=1))
        (listed,) = await store.list_sessions()
        assert listed.status == "new"

    async def test_turns_are_listed_newest_first(self, store: SessionStore) -> None:
        await begin(store)
        await accept(store, turn_id="t2")
        await accept(store, OTHER, "t3")
        everything = await store.list_turns()
        assert [(row.ref, row.turn.turn_id) for row in everything] == [
            (OTHER, "t3"),
            (REF, "t2"),
            (REF, "t1"),
        ]
        assert everything[2].turn == await store.turn(REF, "t1")
        assert [row.turn.turn_id for row in await store.list_turns(ref=REF)] == ["t2", "t1"]
        assert [row.turn.turn_id for row in await store.list_turns(state="running")] == ["t1"]
        both = await store.list_turns(ref=REF, state="queued")
        assert [row.turn.turn_id for row in both] == ["t2"]
        assert [row.turn.turn_id for row in await store.list_turns(limit=1)] == ["t3"]
