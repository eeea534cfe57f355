"""A turn's events as a reader in Slack sees them."""

from __future__ import annotations

from typing import Any

import pytest

from channels.slack.words.doc import FILE_TOOL, Doc, Task, fold, title_of
from gateway.engine import events as ev
from gateway.engine.kinds import Millis
from gateway.engine.messages import ToolCall
from gateway.engine.model import Usage
from gateway.engine.wire.events import UNMADE

TITLES = {"find_order": "Looking up order {order_id}"}


class Turn:
    """Writes a turn's events, numbered as the engine numbers them."""

    def __init__(self) -> None:
        self.seq = 0
        self.doc = Doc()

    def tell(self, kind: type[ev.Event], **fields: Any) -> Doc:
        base: dict[str, Any] = {"turn_id": "t1", "session": "s1", "at": Millis(0)}
        if kind.durable:
            self.seq += 1
            base["seq"] = self.seq
        event: Any = kind(**base, **fields)
        self.doc = fold(self.doc, event, TITLES)
        return self.doc

    def say(self, text: str, block: int = 0, offset: int = 0) -> Doc:
        return self.tell(ev.MessageDeltaEvent, text=text, block=block, offset=offset)

    def call(self, call_id: str, tool: str = "find_order", **given: Any) -> Doc:
        return self.tell(ev.ActionRequested, call=ToolCall(call_id, tool, given), message=1)

    def done(self, call_id: str, error: str | None = None, result: str = "r") -> Doc:
        fields: dict[str, Any] = {"name": "x", "result": result, "error": error, "message": 2}
        return self.tell(ev.ActionCompleted, call_id=call_id, **fields)


def started() -> Turn:
    turn = Turn()
    turn.tell(ev.TurnQueued, position=1)
    assert turn.doc.state == "queued"
    turn.tell(ev.TurnStarted, trigger="inbound")
    return turn


def ask(turn: Turn, request: str) -> Doc:
    return turn.tell(
        ev.InputRequested,
        id=request,
        name="refund",
        prompt="Refund?",
        schema={"type": "boolean"},
        answerers={"policy": "refunds"},
        digest="d",
    )


def test_words_are_provisional_until_their_step_commits() -> None:
    turn = started()
    turn.say("Let me ")
    doc = turn.say("look.", offset=7)
    assert (doc.text, doc.live, doc.committed) == ("Let me look.", "Let me look.", 0)
    doc = turn.tell(ev.MessageCompleted, text="Let me look.", message=1)
    assert (doc.text, doc.live, doc.committed) == ("Let me look.", "", 12)
    turn.tell(ev.UsageEvent, usage=Usage(), message=1)
    doc = turn.say("It is sent.")
    assert doc.text == "Let me look.\n\nIt is sent."
    assert doc.committed == 12
    assert turn.tell(ev.MessageCompleted, text="It is sent.", message=3).text == doc.text


def test_a_reply_of_several_blocks_is_one_text() -> None:
    turn = started()
    turn.say("One", block=0)
    turn.say(" two", block=2)
    assert turn.say("!", block=2, offset=4).text == "One two!"
    assert turn.say("late", block=0, offset=3).text == "One two!"


def test_what_a_model_took_back_is_gone() -> None:
    turn = started()
    turn.say("Wrong")
    assert turn.tell(ev.ModelRetrying, attempt=1, delay=1.0, error="x").text == ""
    assert turn.say("Right").text == "Right"
    turn.tell(ev.TurnStarted, trigger="resume")
    assert turn.doc.text == ""


def test_a_reader_who_missed_a_piece_waits_for_the_commit() -> None:
    turn = started()
    doc = turn.say("the end", offset=40)
    assert (doc.text, doc.deaf) == ("", True)
    assert turn.say(" of it", offset=47).text == ""
    turn.tell(ev.MessageCompleted, text="All of the end of it", message=1)
    assert turn.say("More").text == "All of the end of it\n\nMore"

    turn = started()
    turn.say("Hello wor")
    assert turn.say("world", offset=6).text == "Hello world", "heard twice, taken once"
    assert turn.say("wor", offset=6).text == "Hello world"
    assert turn.say("Anew").deaf, "nobody said that it begins again"


def test_an_event_seen_before_changes_nothing() -> None:
    turn = started()
    turn.tell(ev.MessageCompleted, text="Once", message=1)
    again: Any = ev.MessageCompleted(
        turn_id="t1", session="s1", at=Millis(0), seq=turn.seq, text="Once", message=1
    )
    assert fold(turn.doc, again) is turn.doc


def test_a_task_goes_from_asked_to_done_and_a_throwing_one_shows_it() -> None:
    turn = started()
    turn.tell(ev.MessageCompleted, text="Looking.", message=1)
    turn.call("c1", order_id="1042")
    turn.call("c2", order_id="1043")
    assert turn.doc.tasks == (
        Task("c1", "Looking up order 1042", "in_progress", 8),
        Task("c2", "Looking up order 1043", "in_progress", 8),
    )
    turn.tell(ev.ActionProgress, call_id="c1", text="half\nway")
    assert turn.doc.tasks[0].line == "Looking up order 1042 · half way"
    turn.done("c1")
    turn.done("c2", error="KeyError: 1043")
    assert [(task.state, task.line) for task in turn.doc.tasks] == [
        ("complete", "Looking up order 1042"),
        ("error", "Looking up order 1043"),
    ]
    turn.tell(ev.ActionProgress, call_id="c1", text="late")
    assert turn.doc.tasks[0].state == "complete"
    assert "KeyError" not in str(turn.doc)


def test_a_title_is_filled_from_plain_arguments_only() -> None:
    def title(tool: str = "find_order", **given: Any) -> str:
        return title_of(ToolCall("c", tool, given), TITLES)

    assert title(order_id=1042) == "Looking up order 1042"
    assert title() == "Find order"
    assert title(order_id=None) == "Find order"
    assert title(order_id=["x"]) == "Find order"
    assert title("__") == "Working"
    assert title(order_id="<!here>\n{x}") == "Looking up order <\u2060!here> {x}"
    assert len(title(order_id="9" * 900)) < 120


def test_an_attached_file_is_no_task() -> None:
    turn = started()
    turn.call("c1", "attach_file", name="orders.csv", text="1042,sent")
    turn.call("c2", "attach_file", name=7)
    assert [(f.name, f.text, f.ready) for f in turn.doc.files] == [
        ("orders.csv", "1042,sent", False)
    ]
    assert [task.id for task in turn.doc.tasks] == ["c2"]
    turn.done("c1")
    assert turn.doc.files[0].ready
    turn.done("c2", error="name must be text")
    assert turn.doc.tasks[0].state == "error"


def test_a_parked_turn_waits_until_each_request_is_answered() -> None:
    turn = started()
    turn.call("c1")
    ask(turn, "r1")
    ask(turn, "r2")
    assert turn.doc.state == "waiting"
    assert [w.id for w in turn.doc.waiting] == ["r1", "r2"]
    assert turn.doc.waiting[0].answerers == {"policy": "refunds"}
    turn.tell(ev.InputAnswered, id="r2", outcome="approved", value=True)
    assert turn.doc.state == "waiting"
    turn.tell(ev.TurnStarted, trigger="resume")
    assert turn.doc.state == "waiting"
    turn.tell(ev.InputAnswered, id="r1", outcome="denied")
    assert (turn.doc.state, turn.doc.waiting) == ("running", ())
    assert turn.doc.tasks[0].state == "in_progress"


@pytest.mark.parametrize("outcome", ["denied", "expired"])
def test_a_call_that_nobody_agreed_to_reads_so_and_not_as_done(outcome: str) -> None:
    turn = started()
    turn.call("c1", order_id="1042")
    turn.done("c1")
    turn.call("c2", order_id="1043")
    turn.call("c3", order_id="1044")
    ask(turn, "r1")
    turn.tell(ev.InputAnswered, id="r1", outcome=outcome, value=False)
    assert turn.doc.tasks[1].line == f"Looking up order 1043 · {outcome}"
    turn.tell(ev.TurnStarted, trigger="resume")
    turn.done("c2")
    turn.done("c3")
    assert [(task.state, task.line) for task in turn.doc.tasks] == [
        ("complete", "Looking up order 1042"),
        ("error", f"Looking up order 1043 · {outcome}"),
        ("complete", "Looking up order 1044"),
    ]


def test_what_a_stopped_turn_never_did_is_not_told_as_done() -> None:
    turn = started()
    for call in ("c1", "c2"):
        turn.call(call, order_id="1042")
    turn.call("f1", FILE_TOOL, name="a.md", text="a")
    turn.done("c1")
    turn.done("c2", result=UNMADE)
    turn.done("f1", result=UNMADE)
    assert [task.state for task in turn.doc.tasks] == ["complete", "complete"], "tools may say so"
    doc = turn.tell(ev.TurnCancelled, reason="requested")
    assert [(task.state, task.line) for task in doc.tasks] == [
        ("complete", "Looking up order 1042"),
        ("error", "Looking up order 1042 · cancelled"),
    ]
    assert doc.files == ()


def test_a_turn_that_was_stopped_keeps_what_was_shown_and_a_failed_step_does_not() -> None:
    def cut_off(kind: type[ev.Event], **fields: Any) -> Doc:
        turn = started()
        turn.tell(ev.MessageCompleted, text="First.", message=1)
        turn.call("c1")
        ask(turn, "r1")
        turn.say("Half a sen")
        return turn.tell(kind, **fields)

    stopped = cut_off(ev.TurnCancelled, reason="replaced")
    assert (stopped.state, stopped.cancelled) == ("cancelled", "replaced")
    assert stopped.text == "First.\n\nHalf a sen"
    assert cut_off(ev.TurnTimedOut, deadline="total").text == "First.\n\nHalf a sen"
    failed = cut_off(ev.TurnFailed, error="boom")
    assert (failed.text, failed.state) == ("First.", "failed")
    whole = cut_off(ev.TurnCompleted, text="First.", totals={})
    assert (whole.text, whole.state) == ("First.", "completed")
    for doc in (stopped, failed, whole):
        assert doc.ended
        assert not doc.waiting
        assert [task.state for task in doc.tasks] == ["error"]


def test_what_nobody_is_shown_changes_nothing() -> None:
    turn = started()
    before = turn.doc
    turn.tell(ev.ReasoningDeltaEvent, text="hm", block=0, offset=0)
    turn.tell(ev.ToolInputDeltaEvent, call_id="c1", name="find_order", characters=3)
    turn.tell(ev.CompactionStarted)
    assert turn.doc == before
    turn.tell(ev.ReasoningCompleted, text="hm", message=1)
    assert turn.doc.text == ""
    assert turn.doc.seq == turn.seq
