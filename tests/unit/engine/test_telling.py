"""Which writes carry marks, and where a request is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.decisions.position import Owed
from gateway.engine.decisions.telling import TOLD, call_ended, card_view, lane_of, telling, told
from gateway.engine.kinds import JsonObject, Millis, SessionRef, TurnRow
from gateway.engine.messages import ToolCall
from gateway.engine.records import (
    Audit,
    DeliveryMark,
    EventRow,
    Plan,
    RequestRecord,
    SessionView,
    TurnRecord,
    Writes,
)

NOW = Millis(7)
TURN = TurnRecord(
    row=TurnRow(3),
    turn_id="t",
    number=1,
    generation=0,
    body="",
    content_hash="",
    source="slack",
    speaker=None,
    queued_at=Millis(1),
    delivers=True,
)
REQUEST = RequestRecord(
    id="req_1",
    key="k",
    turn=TURN.row,
    turn_id="t",
    position=4,
    call_id="c2",
    name="ok",
    tool="refund",
    digest="d",
    body="{}",
    created_at=NOW,
)
MARK = DeliveryMark(turn=TURN.row, at=NOW)
AUDIT = Audit(
    at=NOW, kind="k", agent="june", session="s", turn_id="t", subject="x", by=None, digest=None,
    outcome="unknown",
)  # fmt: skip


def fact(kind: str, turn: int = 3) -> EventRow:
    return EventRow(turn=TurnRow(turn), seq=1, at=NOW, type=kind)


class TestMarks:
    @pytest.mark.parametrize("kind", sorted(TOLD))
    def test_what_is_told_of_a_saved_turn_is_marked_beside_its_other_rows(self, kind: str) -> None:
        writes = Writes(turns=(TURN,), events=(fact(kind),), companions=(AUDIT,))
        assert told(writes).companions == (AUDIT, MARK)

    def test_two_facts_of_one_turn_are_one_mark(self) -> None:
        events = (fact("input.answered"), fact("turn.cancelled"))
        assert told(Writes(turns=(TURN,), events=events)).companions == (MARK,)

    @pytest.mark.parametrize("kind", ["turn.started", "action.completed", "message.completed"])
    def test_what_a_stream_shows_by_itself_is_not(self, kind: str) -> None:
        writes = Writes(turns=(TURN,), events=(fact(kind),))
        assert told(writes) is writes

    def test_only_those_that_are_shown_are_marked(self) -> None:
        other = replace(TURN, row=TurnRow(4), delivers=False)
        events = (fact("turn.cancelled"), fact("turn.cancelled", 4))
        assert told(Writes(turns=(TURN, other), events=events)).companions == (MARK,)
        silent = Writes(turns=(other,), events=events[1:])
        assert told(silent) is silent

    def test_a_turn_that_is_only_spoken_of_counts_too(self) -> None:
        writes = Writes(events=(fact("input.voted"),))
        assert told(writes, TURN).companions == (MARK,)
        assert told(writes, replace(TURN, delivers=False)) is writes
        assert told(Writes(), TURN) == Writes()

    def test_a_decision_keeps_its_name_and_its_result(self) -> None:
        @telling
        def decide(view: SessionView, ref: SessionRef, more: int) -> Plan[str]:
            return Plan(f"{ref.key} {more}", Writes(events=(fact("input.voted"),)))

        plan = decide(SessionView(session=None, turn=TURN), SessionRef("june", "s"), more=2)
        assert (plan.result, plan.writes.companions) == ("s 2", (MARK,))
        assert decide.__name__ == "decide"

    @pytest.mark.parametrize(
        ("call", "position", "delivers", "marked"),
        [("c2", 4, True, True), ("c1", 4, True, False), ("c2", 6, True, False),
         ("c2", 4, False, False)],
    )  # fmt: skip
    def test_a_calls_end_is_told_of_if_people_decided_on_it(
        self, call: str, position: int, delivers: bool, marked: bool
    ) -> None:
        owed = Owed(ToolCall(call, "refund", {}), position, position + 1)
        record = replace(TURN, delivers=delivers)
        assert call_ended(record, [REQUEST], owed, NOW) == ((MARK,) if marked else ())


class TestViews:
    @pytest.mark.parametrize(
        ("target", "lane"),
        [
            ({"lane": "slack:T1:C1:1.2", "address": "C1"}, "slack:T1:C1:1.2"),
            ({"address": "C1"}, "slack:C1"),
            ({"lane": None, "address": "C1"}, "slack:C1"),
            ({}, "slack:"),
        ],
    )
    def test_a_lane_is_named_or_made_of_the_address(self, target: JsonObject, lane: str) -> None:
        assert lane_of("slack", target) == lane

    def test_the_policys_place_comes_before_the_turns_own(self) -> None:
        view = card_view(
            TURN,
            REQUEST,
            answerers={"policy": "leads", "scope": "eu"},
            approvals={"leads": "slack:C0123:x"},
            target={"source": "slack", "lane": "here"},
        )
        assert view is not None
        assert (view.part, view.request, view.turn) == ("card:req_1", "req_1", TURN.row)
        assert view.target == {"source": "slack", "address": "C0123:x"}
        assert (view.source, view.lane, view.at) == ("slack", f"slack:C0123:x#{view.request}", NOW)

    @pytest.mark.parametrize(("source", "place"), [("email", "C1"), ("slack", "C2")])
    def test_a_policy_may_have_a_place_for_turns_of_one_source(
        self, source: str, place: str
    ) -> None:
        view = card_view(
            replace(TURN, source=source),
            REQUEST,
            answerers={"policy": "leads"},
            approvals={"email:leads": "slack:C1", "leads": "slack:C2"},
            target={"source": source, "lane": "here"},
        )
        assert view is not None
        assert view.target["address"] == place

    @pytest.mark.parametrize(
        ("answerers", "delivers", "target", "source"),
        [
            ({"user": "slack:T1:U1"}, True, {"lane": "x"}, "slack"),
            ({"policy": "others"}, True, {"source": "crisp"}, "crisp"),
            ({"policy": "nowhere"}, True, {"lane": "x"}, "slack"),
            ({"user": "slack:T1:U1"}, False, {"lane": "x"}, None),
            ({"anyone": True}, True, None, None),
        ],
    )
    def test_else_it_is_shown_where_the_turn_is(
        self,
        answerers: JsonObject,
        delivers: bool,
        target: JsonObject | None,
        source: str | None,
    ) -> None:
        view = card_view(
            replace(TURN, delivers=delivers),
            REQUEST,
            answerers=answerers,
            approvals={"leads": "slack:C0123", "nowhere": "console"},
            target=target,
        )
        assert (None if view is None else view.source) == source
        assert view is None or view.target == target
