"""Closing, keys, answerers, taking hold of a turn, letting go of it: rows in, writes out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.decisions.admission import apply_reset
from gateway.engine.decisions.answerers import answerers_for, namespace, same_person
from gateway.engine.decisions.attempts import (
    accompany,
    blame,
    blame_running,
    broke_off,
    let_go,
    must_run_alone,
)
from gateway.engine.decisions.closing import Ending, Scene, close
from gateway.engine.decisions.keys import idempotency_key, request_digest
from gateway.engine.decisions.opening import open_with
from gateway.engine.decisions.park import (
    Answer,
    RequestBody,
    answer_outcome,
    decide_answer,
    suspend,
)
from gateway.engine.errors import InputRequestError, ResumeAuthorizationError, StaleAttemptError
from gateway.engine.events import ActionCompleted, InputAnswered, TurnCancelled
from gateway.engine.kinds import JsonObject, Millis, SessionId, SessionRef, Speaker, TurnRow
from gateway.engine.loop.recovery import hold_for
from gateway.engine.messages import Message, Text, ToolCall, ToolResult
from gateway.engine.outcomes import TurnInput
from gateway.engine.records import (
    NO_WRITES,
    Fence,
    RequestRecord,
    SessionRow,
    SessionView,
    StepRow,
    TurnRecord,
)
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.engine.wire import dumps

REF = SessionRef("june", "s")
NOW = Millis(1_000)
SESSION = SessionRow(
    id=SessionId(1),
    ref=REF,
    generation=2,
    epoch=7,
    owner="a",
    owner_alive=False,
    next_index=9,
    next_number=4,
    created_at=Millis(1),
    active_at=Millis(1),
)
TURN = TurnRecord(
    row=TurnRow(3),
    turn_id="t",
    number=3,
    generation=2,
    body="",
    content_hash="",
    source="api",
    speaker=None,
    queued_at=Millis(1),
    state="running",
    attempt_at=Millis(5),
    last_seq=4,
)
FENCE = Fence(SESSION.id, 7)
CALLS = (ToolCall("c1", "a", {}), ToolCall("c2", "b", {}), ToolCall("c3", "c", {}))


def message(index: int, *blocks: ToolCall | ToolResult | Text) -> Message:
    role = "assistant" if isinstance(blocks[0], ToolCall) else "tool"
    return Message(index, role, blocks, "t", "api", "agent")  # type: ignore[arg-type]


def scene(**more: object) -> Scene:
    given: dict[str, object] = {
        "record": TURN,
        "session": "s",
        "generation": 2,
        "messages": [message(5, *CALLS), message(6, ToolResult("c1", "a", 1))],
        "started": frozenset[str](),
        "now": NOW,
        **more,
    }
    return Scene(**given)  # type: ignore[arg-type]


class TestClosing:
    @pytest.mark.parametrize(
        ("ending", "output"),
        [
            (Ending.cancelled("requested"), {"cancelled": True}),
            (Ending.timed_out("idle"), {"error": "not run: the turn ran out of time"}),
            (Ending.failed("broke"), {"error": "not run: the turn failed"}),
        ],
    )
    def test_every_terminal_write_answers_each_owed_call(
        self, ending: Ending, output: JsonObject
    ) -> None:
        closed = close(scene(), ending)
        told = [m.results[0] for m in closed.messages]
        assert [(r.call_id, r.output) for r in told] == [("c2", output), ("c3", output)]
        assert [m.index for m in closed.messages] == [7, 8]
        assert [s.step for s in closed.writes.steps] == ["tool:5:c2", "tool:5:c3"]
        assert all(s.done for s in closed.writes.steps)
        assert [e.seq for e in closed.events] == [5, 6, 7]
        assert closed.events[-1].terminal
        assert (closed.record.state, closed.record.last_seq) == (ending.state, 7)

    def test_a_call_that_had_started_has_an_unknown_outcome_never_cancelled(self) -> None:
        closed = close(
            scene(started=frozenset({"tool:5:c2"}), keys={"tool:5:c2": "key"}),
            Ending.cancelled("requested"),
        )
        lost = closed.messages[0].results[0]
        assert lost.is_error
        assert isinstance(lost.output, dict)
        assert "outcome unknown" in str(lost.output["error"])
        assert lost.output["idempotency_key"] == "key"

    def test_a_stored_result_is_kept_and_not_told_of_twice(self) -> None:
        block: JsonObject = {"k": "result", "call_id": "c2", "name": "b", "output": 2}
        step = StepRow(
            turn=TURN.row,
            step="tool:5:c2",
            done=True,
            attempt=1,
            body=dumps({"block": block, "trust": "unattested"}),
            at=NOW,
        )
        closed = close(scene(stored={"tool:5:c2": step}), Ending.cancelled("reset"))
        assert [m.results[0].output for m in closed.messages] == [2, {"cancelled": True}]
        assert closed.messages[0].trust == "unattested"
        told = [e.call_id for e in closed.events if isinstance(e, ActionCompleted)]
        assert told == ["c3"]

    def test_an_open_request_is_cancelled_with_its_turn(self) -> None:
        request = RequestRecord(
            id="req",
            key="k",
            turn=TURN.row,
            turn_id="t",
            position=5,
            call_id="c2",
            name="n",
            tool="b",
            digest="d",
            body="",
            created_at=NOW,
        )
        closed = close(scene(request=request), Ending.cancelled("reset"))
        assert closed.writes.requests[0].outcome == "cancelled"
        kinds = [type(event) for event in closed.events]
        assert kinds[-2:] == [InputAnswered, TurnCancelled]

    def test_a_turn_that_owes_nothing_gets_its_terminal_event_alone(self) -> None:
        closed = close(scene(messages=()), Ending.cancelled("replaced"))
        assert closed.messages == ()
        assert [e.type for e in closed.events] == ["turn.cancelled"]


class TestPark:
    VIEW = SessionView(session=SESSION, turn=TURN)

    def test_a_park_is_written_by_the_attempt_that_holds_the_session(self) -> None:
        assert suspend(self.VIEW, FENCE, NO_WRITES).result is None
        with pytest.raises(StaleAttemptError):
            suspend(self.VIEW, Fence(SESSION.id, 6), NO_WRITES)

    def test_a_cancellation_wins_over_it(self) -> None:
        marked = replace(self.VIEW, turn=replace(TURN, cancel="reset"))
        plan = suspend(marked, FENCE, NO_WRITES)
        assert plan.result == "reset"

    @pytest.mark.parametrize(
        ("given", "spelled"),
        [
            ({"user": "slack:T1:U1"}, {"user": "slack:T1:U1"}),
            (
                {"policy": "p", "scope": 7, "quorum": 2, "not_requester": True},
                {"policy": "p", "scope": "7", "quorum": 2, "not_requester": True},
            ),
            ({"policy": "p", "quorum": 1, "not_requester": False}, {"policy": "p"}),
        ],
    )
    def test_answerers_are_spelled_out(self, given: dict[str, object], spelled: JsonObject) -> None:
        assert answerers_for(given, open_with(TurnInput(message="x"))) == spelled

    @pytest.mark.parametrize(
        ("given", "ok"),
        [
            (TurnInput(message="x"), {"anyone": True}),
            (
                TurnInput(message="x", speaker=Speaker(id="slack:T1:U1", level="provider")),
                {"user": "slack:T1:U1"},
            ),
            (
                TurnInput(message="x", speaker=Speaker(id="a:b", level="linked")),
                {"user": "a:b"},
            ),
            (TurnInput(message="x", speaker=Speaker(id="a@b", level="sender")), None),
            (TurnInput(message="x", speaker=Speaker(id="v", level="none")), None),
            (TurnInput(message="x", event={"a": 1}), None),
            (TurnInput(message="x", target={"a": "b"}), None),
        ],
    )
    def test_the_default_goes_by_how_well_the_speaker_is_known(
        self, given: TurnInput, ok: JsonObject | None
    ) -> None:
        if ok is None:
            with pytest.raises(InputRequestError):
                answerers_for(None, open_with(given))
        else:
            assert answerers_for(None, open_with(given)) == ok

    @pytest.mark.parametrize("answerers", [{}, {"user": ""}, {"policy": "", "quorum": 2}])
    def test_a_request_that_names_nobody_is_answered_by_nobody(self, answerers: JsonObject) -> None:
        body = RequestBody(prompt="?", schema={}, answerers=answerers, arguments={})
        asked = RequestRecord(
            id="r",
            key="k",
            turn=TURN.row,
            turn_id="t",
            position=5,
            call_id="c2",
            name="n",
            tool="b",
            digest="d",
            body=body.body(),
            created_at=NOW,
            expires_at=None,
        )
        waits = replace(
            TURN, body=open_with(TurnInput(message="x")).body(), state="suspended", request="r"
        )
        given = Answer(
            turn_id="t",
            input_id="r",
            value=True,
            by="",
            via=None,
            granted=None,
            issuer=None,
            reason=None,
            digest="d",
            now=NOW,
        )
        view = SessionView(session=SESSION, turn=waits, request=asked)
        with pytest.raises(ResumeAuthorizationError, match="nobody is named"):
            decide_answer(view, REF, given)

    def test_outcomes_and_persons(self) -> None:
        found = [answer_outcome(value) for value in (True, False, "x", None, 0, 1)]
        assert found == ["approved", "denied", "answered", "answered", "answered", "answered"]
        assert namespace("slack:T1:U1") == "slack:T1"
        assert same_person("a:1", "b:2", ("a:1", "b:2"))
        assert not same_person("a:1", "b:2", ("a:1",))


class TestAttempts:
    def test_blame_is_the_turns_alone_or_shared(self) -> None:
        one, shared = blame(TURN, (), only=True), blame(TURN, (), only=False)
        assert (one.crashes, one.suspect) == (1, 0)
        assert (shared.crashes, shared.suspect) == (0, 1)
        assert one.attempt_at is None

    @pytest.mark.parametrize(
        ("at", "ran"), [((), 7), ((3,), 7), ((6, 45, 20), 47)], ids=["none", "before it", "since"]
    )
    def test_an_attempt_that_broke_off_ran_until_its_last_write(
        self, at: tuple[int, ...], ran: int
    ) -> None:
        steps = [
            StepRow(turn=TURN.row, step=f"model:{n}", done=True, attempt=1, at=Millis(n))
            for n in at
        ]
        over = broke_off(replace(TURN, ran=Millis(7)), steps)
        assert (over.ran, over.attempt_at) == (ran, None)
        assert broke_off(over, steps) == over, "it is counted once"

    @pytest.mark.parametrize(
        ("crashes", "suspect", "alone"), [(0, 0, False), (0, 1, False), (0, 2, True), (1, 0, True)]
    )
    def test_who_runs_alone(self, crashes: int, suspect: int, alone: bool) -> None:
        assert must_run_alone(replace(TURN, crashes=crashes, suspect=suspect)) is alone

    def test_only_its_own_attempt_is_told_that_others_run_beside_it(self) -> None:
        alone = replace(TURN, alone=True)
        view = SessionView(session=SESSION, turn=alone)
        assert accompany(view, FENCE).writes.turns == (TURN,)
        for changed in (
            replace(view, turn=TURN),
            replace(view, turn=replace(alone, state="completed")),
            replace(view, session=replace(SESSION, epoch=8)),
        ):
            assert accompany(changed, FENCE).writes == NO_WRITES

    @pytest.mark.parametrize(
        ("crashes", "suspect", "hold"),
        [(1, 0, 5.0), (2, 0, 5.0), (0, 2, 5.0), (0, 3, 20.0), (1, 4, 80.0)],
    )
    def test_a_suspect_holds_the_others_up_longer_the_oftener_it_got_away(
        self, crashes: int, suspect: int, hold: float
    ) -> None:
        assert hold_for(replace(TURN, crashes=crashes, suspect=suspect)) == hold

    def test_a_turn_that_was_left_on_purpose_is_not_blamed(self) -> None:
        left = replace(TURN, attempt_at=None)
        plan = blame_running(SessionView(session=SESSION, turn=left), "b", only=True)
        assert (plan.result, plan.writes) == (left, NO_WRITES)

    def test_a_turn_of_somebody_alive_is_not_blamed(self) -> None:
        alive = replace(SESSION, owner_alive=True)
        plan = blame_running(SessionView(session=alive, turn=TURN), "b", only=True)
        assert plan.result is None

    def test_letting_go_clears_the_attempt_but_never_reopens_what_has_ended(self) -> None:
        plan = let_go(SessionView(session=SESSION, turn=TURN), FENCE, Millis(9))
        assert plan.result is not None
        assert (plan.result.attempt_at, plan.result.ran) == (None, 9)
        ended = replace(TURN, state="completed")
        assert let_go(SessionView(session=SESSION, turn=ended), FENCE, Millis(9)).result is None
        with pytest.raises(StaleAttemptError):
            let_go(SessionView(session=SESSION, turn=TURN), Fence(SESSION.id, 1), Millis(9))

    def test_a_reset_raises_generation_and_fence_and_names_the_archive(self) -> None:
        plan = apply_reset(SESSION)
        assert (plan.result.previous_session, plan.result.generation) == ("s#g2", 3)
        assert plan.writes.session is not None
        assert (plan.writes.session.epoch, plan.writes.session.generation) == (8, 3)


@tool(effect="money", key=("order", "part"))
async def pay(ctx: ToolContext, order: int, part: str = "all", note: str = "") -> None:
    """Pay."""


@tool
async def send(order: int) -> None:
    """Send."""


class TestKeys:
    def key(self, given: JsonObject, *, money: bool = True, turn: str = "t", at: int = 1) -> str:
        used = pay if money else send
        asked = ToolCall("c", used.name, given)
        return idempotency_key(REF, turn, f"tool:{at}:c", asked, used)

    def test_a_calls_key_is_its_place(self) -> None:
        first = self.key({"order": 1}, money=False)
        assert first == self.key({"order": 1}, money=False)
        assert first != self.key({"order": 1}, money=False, at=2)
        assert first != self.key({"order": 1}, money=False, turn="u")

    def test_a_payments_key_is_the_business_fact_however_it_is_spelled(self) -> None:
        first = self.key({"order": 1})
        for same in (
            {"order": 1.0},
            {"order": 1, "part": "all"},
            {"order": 1, "note": "again, please"},
        ):
            assert self.key(same, turn="u", at=9) == first  # type: ignore[arg-type]
        assert self.key({"order": 2}) != first
        assert self.key({"order": 1, "part": "half"}) != first

    def test_a_digest_is_bound_to_all_that_was_shown(self) -> None:
        form: JsonObject = {"type": "boolean"}
        parts = ("pay", JsonObject(order=1), "Pay?", form, JsonObject(user="a"))
        first = request_digest(*parts)
        others = [
            request_digest("other", *parts[1:]),
            request_digest(parts[0], {"order": 2}, *parts[2:]),
            request_digest(*parts[:2], "Pay!", *parts[3:]),
            request_digest(*parts[:3], {"type": "string"}, parts[4]),
            request_digest(*parts[:4], {"user": "b"}),
        ]
        assert len({first, *others}) == 6
