"""What a turn's events add up to in a letter."""

from __future__ import annotations

from typing import Any

from channels.email.answering.story import Story, fold
from gateway.engine import events as ev
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.messages import ToolCall
from gateway.engine.wire.events import UNMADE

HEAD: dict[str, Any] = {"turn_id": "t", "session": "s", "at": Millis(0)}


def told(*events: ev.TurnEvent) -> Story:
    story = Story()
    for event in events:
        story = fold(story, event)
    return story


def call(number: int, given: JsonObject, name: str = "attach_file") -> ev.ActionRequested:
    return ev.ActionRequested(call=ToolCall(f"c{number}", name, given), message=1, **HEAD)


def done(number: int, error: str | None = None, result: str = "") -> ev.ActionCompleted:
    return ev.ActionCompleted(
        call_id=f"c{number}", name="attach_file", result=result, error=error, message=1, **HEAD
    )


def test_only_committed_words_are_said() -> None:
    story = told(
        ev.MessageDeltaEvent(text="Hel", block=0, offset=0, **HEAD),
        ev.MessageCompleted(text=" Hello. \n", message=1, **HEAD),
        ev.MessageCompleted(text=" \n", message=2, **HEAD),
        ev.MessageCompleted(text="Bye.", message=3, **HEAD),
    )
    assert story.text == "Hello.\n\nBye."


def test_a_file_goes_along_once_its_call_has_succeeded() -> None:
    one: JsonObject = {"name": "a.csv", "text": "1,2"}
    story = told(call(1, one), call(2, one), call(3, one, "find_order"), done(1), done(2, "no"))
    assert [(file.call_id, file.name, file.text) for file in story.files] == [
        ("c1", "a.csv", "1,2")
    ]
    assert told(call(1, one)).files == ()
    assert told(call(1, one), done(1, result=UNMADE)).files == ()  # the turn was stopped before it


def test_requests_are_open_until_they_are_answered() -> None:
    asked = ev.InputRequested(
        id="r1", name="n", prompt="p", schema={}, answerers={}, digest="d", **HEAD
    )
    assert told(asked).waits == ("r1",)
    assert told(asked, ev.InputAnswered(id="r1", outcome="approved", **HEAD)).waits == ()
