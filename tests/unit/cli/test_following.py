"""A turn's events on their way to a reader: frames, lines, text that was taken back."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest
from typing_extensions import override

from gateway.cli.desk.client import frames
from gateway.cli.out import Out
from gateway.cli.talk.printer import TurnPrinter
from gateway.cli.timeline import describe
from gateway.engine.kinds import JsonObject

STREAM = (
    b": hello\n\n"
    b'event: turn.started\ndata: {"type":"turn.started","seq":1}\nid: 1\n\n'
    b": beat\n\n"
    b'event: message.completed\r\ndata: {"type":"message.completed",\r\n'
    b'data: "text":"gr\xc3\xbc\xc3\x9fe"}\r\nid: 2\r\n\r\n'
    b"data: not json\n\n"
    b'data: {"type":"cut'
)


async def chunked(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_frames_come_whole_however_the_bytes_are_cut(size: int) -> None:
    seen = [frame async for frame in frames(chunked(STREAM, size))]
    assert seen == [
        {"type": "turn.started", "seq": 1},
        {"type": "message.completed", "text": "grüße"},
    ]


class Terminal(io.StringIO):
    """Says it is a terminal; nobody looks."""

    @override
    def isatty(self) -> bool:
        return True


def printed(events: list[JsonObject], stdout: io.StringIO) -> str:
    printer = TurnPrinter(Out(stdout=stdout, stderr=io.StringIO(), color=False))
    for event in events:
        printer.feed(event)
    printer.finish()
    return stdout.getvalue()


def delta(text: str) -> JsonObject:
    return {"type": "message.delta", "text": text}


def completed(text: str) -> JsonObject:
    return {"type": "message.completed", "text": text}


def test_a_pipe_gets_only_what_was_committed() -> None:
    retried: JsonObject = {"type": "model.retrying"}
    events = [delta("Hel"), retried, delta("Good"), completed("Good day.")]
    shown = printed(events, io.StringIO())
    assert shown.count("Good day.\n") == 1
    assert "Hel" not in shown


def test_a_terminal_gets_each_word_once() -> None:
    assert printed([delta("Good "), delta("day."), completed("Good day.")], Terminal()) == (
        "Good day.\n"
    )
    # Late to the stream: what was missed is filled in when the text is committed.
    assert printed([completed("Good day.")], Terminal()) == "Good day.\n"
    # Joined in the middle: the committed text is shown whole, on a line of its own.
    assert printed([delta("day."), completed("Good day.")], Terminal()) == "day.\nGood day.\n"


def test_a_call_is_told_with_its_arguments_and_its_error() -> None:
    call: JsonObject = {"id": "c1", "name": "issue_refund", "input": {"order_id": "1042"}}
    asked: JsonObject = {"type": "action.requested", "call": call}
    failed: JsonObject = {
        "type": "action.completed",
        "name": "issue_refund",
        "error": "no\x1b",
        "duration": 12,
    }
    events = [asked, failed]
    shown = printed(events, io.StringIO())
    assert "issue_refund(order_id=1042)" in shown
    assert "no\\x1b  12 ms" in shown


@pytest.mark.parametrize(
    ("event", "what", "detail"),
    [
        ({"type": "turn.started", "trigger": "inbound", "by": "a"}, "started", "inbound, by a"),
        ({"type": "turn.started", "trigger": "resume"}, "resumed", ""),
        ({"type": "input.voted", "votes": 1, "quorum": 2, "by": "a"}, "vote", "1 of 2, by a"),
        (
            {"type": "input.answered", "outcome": "denied", "by": "a", "reason": "no"},
            "denied",
            'by a  "no"',
        ),
        ({"type": "input.answered", "outcome": "answered", "value": [1]}, "answered", "[1]"),
        ({"type": "turn.failed", "error": "x", "phase": "model"}, "failed", "x  (model)"),
        ({"type": "turn.timed_out", "deadline": "idle"}, "timed out", "idle"),
        ({"type": "turn.cancelled", "reason": "reset"}, "cancelled", "reset"),
        ({"type": "guardrail.found", "kind": "iban"}, "guardrail", "  iban    "),
    ],
)
def test_each_event_has_its_line(event: JsonObject, what: str, detail: str) -> None:
    line = describe(event)
    assert line is not None
    assert (line.what, line.detail) == (what, detail)


def test_a_reason_that_would_steer_the_terminal_is_shown_whole_and_harmless() -> None:
    failed: JsonObject = {"type": "turn.failed", "error": "\x1b[2J" * 9 + "the end"}
    line = describe(failed, 40)
    assert line is not None
    assert line.detail == "\\x1b[2J" * 9 + "the end"


def test_why_a_turn_failed_is_wrapped_and_never_cut() -> None:
    reason = " ".join(f"word{number}" for number in range(60))
    failed: JsonObject = {"type": "turn.failed", "error": reason, "phase": "model"}
    line = describe(failed, 40)
    assert line is not None
    assert line.detail == f"{reason}  (model)"
    assert reason in printed([failed], io.StringIO())
    lines = printed([failed], Terminal()).splitlines()
    assert len(lines) > 3
    assert all(len(line) <= 100 for line in lines)
    assert " ".join(" ".join(lines).split()) == f"x failed {reason} (model)"


def test_an_event_of_a_later_release_is_no_reason_to_stumble() -> None:
    assert describe({"type": "turn.teleported"}) is None
    assert printed([{"type": "turn.teleported"}, {"no": "type"}], io.StringIO()) == ""
