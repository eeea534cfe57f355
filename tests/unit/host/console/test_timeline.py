"""The steps of a turn, made from its events."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, cast

from gateway.engine import events as ev
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.messages import ToolCall
from gateway.engine.model import Usage
from gateway.host.console.views.timeline import timeline
from tests.unit.host.world import refund


class Log:
    """Events in order, each a moment after the other."""

    def __init__(self) -> None:
        self.events: list[ev.TurnEvent] = []
        self.at = 1000

    def _base(self, after: int) -> dict[str, object]:
        self.at += after
        seq = len(self.events) + 1
        return {"turn_id": "t", "session": "s", "at": Millis(self.at), "seq": seq}

    def add(self, event: type[ev.Event], after: int = 0, **more: Any) -> None:
        made = cast("type[ev.TurnCompleted]", event)(**self._base(after), **more)  # type: ignore[arg-type]
        self.events.append(made)

    def steps(self, *, thinking: bool = False) -> list[JsonObject]:
        rows = timeline(self.events, {"refund": refund}, thinking=thinking)
        return cast("list[JsonObject]", rows)


def test_a_reply_is_one_step_with_its_tokens_time_and_cost() -> None:
    log = Log()
    log.add(ev.TurnStarted, trigger="inbound")
    log.add(ev.ReasoningCompleted, 400, text="hm", message=1)
    log.add(ev.MessageCompleted, text="Let me\nlook.", message=1)
    call = ToolCall("c1", "refund", {"order": "7"})
    log.add(ev.ActionRequested, call=call, message=1)
    usage = Usage(model="claude", input=10, cache_read=5, output=3, cost=Decimal("0.0012"))
    log.add(ev.UsageEvent, usage=usage, message=1)
    started, model, tool = log.steps()
    assert (started["kind"], started["title"], started["detail"]) == ("turn", "started", "inbound")
    assert (model["title"], model["detail"], model["word"]) == ("claude", "Let me look.", "calls")
    assert (model["took"], model["tokens"], model["cost"]) == (400, [15, 3], "0.0012")
    assert model["badges"] == ["thought first"]
    assert (tool["word"], tool["took"], tool["detail"]) == ("runs", None, "order=7")
    assert tool["badges"] == ["at least once, under one key", "money"]


def test_a_call_waits_with_its_request_and_ends_with_its_result() -> None:
    log = Log()
    call = ToolCall("c1", "refund", {"order": "7"})
    log.add(ev.ActionRequested, call=call, message=1)
    asked: dict[str, Any] = {"id": "r1", "name": "approve", "prompt": "Refund 7?"}
    log.add(ev.InputRequested, **asked, schema={}, answerers={}, digest="d")
    *_, tool, decision = log.steps()
    assert (tool["word"], decision["word"], decision["request"]) == ("waits", "waits", "r1")
    log.add(ev.InputVoted, 10, id="r1", by="slack:T:A", votes=1, quorum=2)
    assert log.steps()[-1]["word"] == "1 of 2 votes"
    log.add(ev.InputAnswered, 90, id="r1", outcome="approved", value=True, by="u", reason="ok")
    *_, tool, decision = log.steps()
    assert (tool["word"], decision["word"], decision["took"]) == ("runs", "approved", 100)
    assert decision["detail"] == "Refund 7? · approved by u: ok"
    log.add(ev.TurnStarted, 5, trigger="resume", by="asker")
    done: dict[str, Any] = {"call_id": "c1", "name": "refund", "result": "sent"}
    log.add(ev.ActionCompleted, 30, **done, duration=Millis(30), message=2)
    # By time: it ran after the decision that it waited for, and whoever pressed let it.
    model, decision, resumed, tool = log.steps()
    assert (resumed["title"], resumed["detail"]) == ("resumed", "by u")
    assert [one["at"] for one in log.steps()] == sorted(cast("int", s["at"]) for s in log.steps())
    assert (tool["at"], tool["n"]) == (1105, 4)
    assert (tool["word"], tool["took"], tool["detail"]) == ("done", 30, "order=7 → sent")
    # How long people took says nothing of how long the work did.
    assert (tool["share"], decision["share"]) == (100, 100)
    assert model["kind"] == "model"


def test_the_part_of_a_log_that_is_shown_may_begin_anywhere() -> None:
    log = Log()
    done: dict[str, Any] = {"call_id": "c0", "name": "refund", "result": "", "message": 2}
    log.add(ev.ActionCompleted, **done, error="it broke", duration=Millis(5))
    log.add(ev.InputAnswered, id="r0", outcome="expired")
    log.add(ev.TurnFailed, error="x" * 500, phase="model", step="m1")
    tool, decision, failed = log.steps()
    assert (tool["word"], tool["output"]) == ("failed", "it broke")
    assert (decision["word"], decision["detail"]) == ("expired", "expired")
    assert failed["detail"] == "x" * 500 + " (model m1)"


def test_a_running_turn_says_who_is_at_work() -> None:
    log = Log()
    log.add(ev.TurnStarted, trigger="resume", by="ada")
    assert log.steps()[0]["detail"] == "", "who asked didn't resume it"
    assert [one["word"] for one in log.steps(thinking=True)] == ["resumed", "at work"]
    log.add(ev.ActionRequested, call=ToolCall("c1", "refund", {}), message=1)
    assert [one["word"] for one in log.steps(thinking=True)][-1] == "runs"


def test_what_only_makes_sense_live_is_no_step() -> None:
    log = Log()
    log.add(ev.MessageDeltaEvent, text="He", block=0, offset=0)
    log.add(ev.TurnQueued, position=1)
    assert log.steps() == []


def test_each_ending_and_guardrail_has_a_step_of_its_own() -> None:
    log = Log()
    found: dict[str, Any] = {
        "checkpoint": "tool",
        "kind": "taint",
        "subject": "refund",
        "action": "asked",
    }
    log.add(ev.GuardrailFound, **found)
    log.add(ev.TurnCancelled, reason="requested")
    log.add(ev.TurnTimedOut, deadline="ceiling")
    log.add(ev.TurnCompleted, text="", totals={})
    assert [(one["title"], one["detail"], one["tone"]) for one in log.steps()] == [
        ("guardrail", "taint at tool: refund → asked", "wait"),
        ("cancelled", "requested", "off"),
        ("timed out", "ceiling", "bad"),
        ("completed", "", "good"),
    ]
    assert len({(one["kind"], one["seq"]) for one in log.steps()}) == 4
