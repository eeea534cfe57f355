"""Each rule of the API about transcripts, by its id: what the adapter sends instead of breaking it.

Every body is also shown to the strict rules of the fake API, so "not refused" is part of each test.
Rules that are the engine's duty first (results for every call, say) still have a last line here.
"""

from __future__ import annotations

import json
import logging

import pytest

from gateway.engine.errors import ModelError, ModelUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.engine.messages import Attachment, Opaque, Reasoning, Text
from gateway.testing.fake_anthropic.params import Rejected
from gateway.testing.fake_anthropic.transcript import check_transcript
from tests.unit.models.accepting import accepted, results
from tests.unit.models.transcripts import (
    Talk,
    call,
    content,
    result,
    texts,
    thought,
)


def test_t01_a_call_without_a_result_gets_an_error_in_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    talk = Talk().user().model([call("a"), call("b")]).tool(result("a")).user("And?")
    with caplog.at_level(logging.WARNING):
        wire = accepted(talk.body())
    answered = results(wire[2])
    assert [block["tool_use_id"] for block in answered] == ["a", "b"]
    assert answered[1]["is_error"] is True
    assert "no recorded result" in caplog.text


def test_t01_also_when_it_comes_last() -> None:
    wire = accepted(Talk().user().model([call("a")]).body())
    assert results(wire[-1])[0]["is_error"] is True


def test_t02_a_result_without_a_call_is_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    talk = Talk().user().tool(result("nobody")).model([call("a")]).tool(result("a"), result("zz"))
    with caplog.at_level(logging.WARNING):
        wire = accepted(talk.body())
    assert [b["tool_use_id"] for m in wire for b in results(m)] == ["a"]
    assert "nobody" in caplog.text
    assert "zz" in caplog.text


def test_t03_of_two_results_for_a_call_the_first_committed_is_sent() -> None:
    talk = Talk().user().model([call("a")]).tool(result("a", "first"), result("a", "second"))
    (sent,) = results(accepted(talk.body())[-1])
    assert json.loads(texts(sent)[0]) == "first"


def test_t04_a_repeated_call_id_is_made_unique_with_its_result() -> None:
    talk = Talk().user().model([call("a")]).tool(result("a", 1))
    talk.model([call("a"), call("a")]).tool(result("a", 2), result("a", 3))
    wire = accepted(talk.body())
    ids = [str(b["id"]) for m in wire for b in content(m) if b["type"] == "tool_use"]
    assert len(set(ids)) == 3
    assert ids[0] == "a"
    answers = {str(b["tool_use_id"]): json.loads(texts(b)[0]) for m in wire for b in results(m)}
    assert [answers[wire_id] for wire_id in ids] == [1, 2, 3]


def test_t04_an_id_of_another_provider_is_spelled_so_that_the_api_takes_it() -> None:
    talk = Talk().user().model([call("call:1/a"), call("")]).tool(result("call:1/a"), result("", 2))
    wire = accepted(talk.body())
    assert [b["tool_use_id"] for b in results(wire[-1])] == ["call_1_a", "call_1_1"]


@pytest.mark.parametrize("empty", ["", " ", "\n\t"])
def test_t05_empty_text_is_not_sent(empty: str) -> None:
    talk = Talk().user([Text(empty), Text("Hi")]).model([Text(empty), Text("Yes"), Text(empty)])
    wire = accepted(talk.user([Text(empty)]).body())
    assert texts(wire[0]) == ["Hi"]
    assert texts(wire[1]) == ["Yes"]
    assert texts(wire[2]) == ["(empty message)"]


def test_t06_an_assistant_message_with_nothing_left_is_not_sent() -> None:
    talk = Talk().user("One").model([Text(" ")]).user("Two").model([thought()]).user("Three")
    wire = accepted(talk.body())
    assert [m["role"] for m in wire] == ["user"]
    assert texts(wire[0]) == ["One", "Two", "Three"]


def test_t07_user_turns_in_a_row_are_one_message() -> None:
    wire = accepted(Talk().user("One").user("Two").trigger("Three").body())
    assert len(wire) == 1
    assert texts(wire[0])[:2] == ["One", "Two"]


def test_t08_the_models_own_message_is_never_last() -> None:
    with pytest.raises(ModelError, match="nothing to answer") as raised:
        Talk().user().model("Done.").body()
    assert not isinstance(raised.value, ModelUnavailableError)


def test_t08_an_empty_transcript_is_not_sent() -> None:
    with pytest.raises(ModelError, match="empty"):
        Talk().body()


def test_t08_a_conversation_never_opens_with_the_model() -> None:
    wire = accepted(Talk().model("Earlier.").user("Go on").body())
    assert wire[0]["role"] == "user"


def test_t09_results_come_first_and_late_text_is_a_message_of_its_own() -> None:
    talk = Talk().user().model([call("a")]).user("Late", new=False).tool(result("a"))
    wire = accepted(talk.body())
    assert [b["type"] for b in content(wire[2])] == ["tool_result"]
    assert texts(wire[3]) == ["Late"]


def test_t10_a_batch_is_answered_in_one_message_in_call_order() -> None:
    talk = Talk().user().model([call("a"), call("b"), call("c")])
    talk.tool(result("c"), result("a"), result("b"))
    wire = accepted(talk.body())
    assert [b["tool_use_id"] for b in results(wire[2])] == ["a", "b", "c"]
    assert len(wire) == 3


def test_t11_thinking_goes_back_verbatim_and_in_order() -> None:
    first: JsonObject = {"type": "thinking", "thinking": "", "signature": "s1"}
    hidden: JsonObject = {"type": "redacted_thinking", "data": "d2"}
    third: JsonObject = {"signature": "s3", "thinking": "ü\u2028", "type": "thinking"}
    talk = (
        Talk()
        .user()
        .model(
            [
                Reasoning("", first),
                Reasoning("", hidden),
                Text("Hm"),
                Reasoning("ü", third),
                call("a"),
            ]
        )
    )
    wire = accepted(talk.tool(result("a")).body())
    sent = content(wire[1])
    assert [sent[0], sent[1], sent[3]] == [first, hidden, third]
    assert json.dumps(sent[3]) == json.dumps(third), "key order is part of it"


def test_t12_unsigned_thinking_is_not_sent() -> None:
    unsigned: list[JsonObject] = [
        {"type": "thinking", "thinking": "cut"},
        {"type": "thinking", "thinking": "cut", "signature": ""},
        {"type": "redacted_thinking"},
        {"type": "summary", "text": "of another provider"},
    ]
    talk = Talk().user().model([*(Reasoning("", raw) for raw in unsigned), Text("Yes")]).user()
    assert [b["type"] for b in content(accepted(talk.body())[1])] == ["text"]


def test_t13_thinking_of_earlier_editions_is_never_sent() -> None:
    talk = Talk().user().model([thought("old"), Text("One")]).user().model([thought(), Text("Two")])
    wire = accepted(talk.user().body(history=2))
    assert [b["type"] for b in content(wire[1])] == ["text"]
    assert [b["type"] for b in content(wire[3])] == ["thinking", "text"]


def test_t14_attachments_go_as_a_note_so_no_image_can_break_a_request() -> None:
    photo = Attachment(id="att_1", name="damage.png", media_type="image/png", size=99_000_000)
    wire = accepted(Talk().user([Text("Look"), *[photo] * 700]).body())
    assert {b["type"] for b in content(wire[0])} == {"text"}
    assert '"name":"damage.png"' in texts(wire[0])[1]


def test_t15_documents_of_the_models_and_citations_of_users_are_not_sent() -> None:
    cited: JsonObject = {"type": "text", "text": "Cited", "citations": [{"cited_text": "x"}]}
    talk = Talk().user([Text("Hi", raw=cited)])
    talk.model([Opaque({"type": "document", "source": {}}), Text("Cited", raw=cited)])
    wire = accepted(talk.user().body())
    assert "citations" not in content(wire[0])[0]
    assert content(wire[1]) == [cited]


def test_the_rules_themselves_refuse_what_is_tested_here() -> None:
    """A check on this file: the fake does say no to the raw transcripts."""
    with pytest.raises(Rejected, match="immediately after"):
        check_transcript(
            {
                "messages": [
                    {"role": "user", "content": "x"},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]},
                    {"role": "user", "content": "y"},
                ]
            }
        )  # fmt: skip
