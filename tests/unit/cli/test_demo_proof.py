"""The demo's proofs can fail: each is shown what it has to catch."""

from __future__ import annotations

import pytest

from gateway.cli.demo.proof import gapless, paired
from gateway.engine.kinds import Json, JsonObject


def event(seq: int, kind: str = "usage") -> JsonObject:
    return {"seq": seq, "type": kind}


END = "turn.completed"


@pytest.mark.parametrize(
    ("events", "held"),
    [
        ([event(1), event(2), event(3, END)], True),
        ([], False),
        ([event(1), event(3, END)], False),
        ([event(1), event(1), event(2, END)], False),
        ([event(2), event(3, END)], False),
        ([event(1), event(2)], False),
        ([event(1, END), event(2, END)], False),
        ([event(1, END), event(2)], False),
    ],
)
def test_an_event_log_is_gapless_and_ends_once(events: list[JsonObject], held: bool) -> None:
    assert gapless(events).held is held


def call(identity: str) -> Json:
    return {"type": "tool_call", "id": identity}


def result(identity: str) -> Json:
    return {"type": "tool_result", "call_id": identity}


@pytest.mark.parametrize(
    ("content", "held"),
    [
        ([call("a"), call("b"), result("a"), result("b")], True),
        ([], False),
        ([call("a")], False),
        ([call("a"), result("a"), result("a")], False),
        ([call("a"), call("a"), result("a"), result("a")], False),
        ([call("a"), result("b")], False),
    ],
)
def test_each_call_has_one_result(content: list[Json], held: bool) -> None:
    messages: list[JsonObject] = [{"content": [block]} for block in content]
    assert paired(messages).held is held
