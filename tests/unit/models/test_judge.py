"""Stop reason → outcome of the step, one row each."""

from __future__ import annotations

import pytest

from gateway.engine.errors import ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.messages import Block, Opaque, Reasoning, Text, ToolCall
from gateway.engine.model import NORMAL_STOPS, ModelReply, Usage
from gateway.models._accumulate import Message
from gateway.models._judge import judge

THOUGHT = Reasoning("Hm", {"type": "thinking", "thinking": "Hm", "signature": "s"})
CALL = ToolCall("a", "look_up", {})
BILL = Usage(model="m", output=3)


def judged(*blocks: Block, stop: str | None, details: JsonObject | None = None) -> ModelReply:
    return judge(Message(blocks, stop, details or {}, {}, "m"), lambda _: BILL)


@pytest.mark.parametrize("stop", sorted(NORMAL_STOPS))
def test_a_normal_stop_with_something_said_is_a_reply(stop: str) -> None:
    blocks = (THOUGHT, Text("Yes"), CALL)
    assert judged(*blocks, stop=stop) == ModelReply(blocks, stop, BILL)


@pytest.mark.parametrize("stop", sorted(NORMAL_STOPS))
@pytest.mark.parametrize("blocks", [(), (THOUGHT,), (Text(""),), (Text(" \n"), THOUGHT)])
def test_silence_is_asked_for_again(stop: str, blocks: tuple[Block, ...]) -> None:
    with pytest.raises(ModelUnavailableError):
        judged(*blocks, stop=stop)


def test_a_stop_for_tools_without_a_call_is_asked_for_again() -> None:
    with pytest.raises(ModelUnavailableError, match="made none"):
        judged(Text("Let me look"), stop="tool_use")


@pytest.mark.parametrize(
    ("stop", "fix"),
    [
        ("max_tokens", "max_tokens"),
        ("refusal", "rephrase"),
        ("model_context_window_exceeded", "reset"),
        ("tea_break", "upgrade"),
    ],
)
def test_an_abnormal_stop_with_nothing_said_fails_with_its_name_and_its_fix(
    stop: str, fix: str
) -> None:
    with pytest.raises(ModelError, match=stop) as raised:
        judged(THOUGHT, stop=stop)
    assert not isinstance(raised.value, ModelUnavailableError)
    assert fix in raised.value.fix


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "model_context_window_exceeded", "new"])
def test_an_abnormal_stop_with_something_said_is_a_reply_with_that_stop(stop: str) -> None:
    assert judged(Text("Half"), stop=stop) == ModelReply((Text("Half"),), stop, BILL)


def test_a_refusal_says_why() -> None:
    with pytest.raises(ModelError, match=r"cyber: Looks like malware"):
        judged(stop="refusal", details={"category": "cyber", "explanation": "Looks like malware"})


def test_a_cut_call_alone_is_answered_only_where_a_shorter_one_would_fit() -> None:
    (cut,) = judged(CALL, stop="max_tokens").calls
    assert "did not run" in (cut.problem or "")
    for stop in ("refusal", "model_context_window_exceeded"):
        with pytest.raises(ModelError, match=stop):
            judged(CALL, stop=stop)


def test_a_paused_turn_may_hold_nothing_but_the_providers_own_blocks() -> None:
    search = Opaque({"type": "server_tool_use"})
    assert judged(search, stop="pause_turn").blocks == (search,)
