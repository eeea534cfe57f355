"""What a turn's events add up to, for who reads it as a letter: all that was said, and how it ended. Pure."""

from __future__ import annotations

from gateway.engine import events as ev
from gateway.engine.messages import ToolCall
from gateway.engine.struct import replace, struct
from gateway.engine.wire.events import UNMADE
from gateway.outbox.tools import attach_file

__all__ = ["Enclosed", "Story", "fold"]


@struct(frozen=True, slots=True)
class Enclosed:
    """A file of the answer, as its call gave it. ``done`` once the call was made and has succeeded."""

    call_id: str
    name: str
    text: str
    done: bool = False


@struct(frozen=True, slots=True)
class Story:
    """``said`` are the committed messages of the model; ``waits`` the requests that are open."""

    said: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    asked: tuple[Enclosed, ...] = ()

    @property
    def files(self) -> tuple[Enclosed, ...]:
        return tuple(file for file in self.asked if file.done)

    @property
    def text(self) -> str:
        return "\n\n".join(self.said)


def fold(story: Story, event: ev.TurnEvent) -> Story:
    """The story after one more event. Text that isn't committed is no part of it."""
    match event:
        case ev.MessageCompleted(text=text) if text.strip():
            return replace(story, said=(*story.said, text.strip()))
        case ev.ActionRequested(call=call) if call.name == attach_file.name:
            return replace(story, asked=(*story.asked, _enclosed(call)))
        case ev.ActionCompleted(call_id=call_id, error=None, result=result) if result != UNMADE:
            found = (
                replace(file, done=True) if file.call_id == call_id else file
                for file in story.asked
            )
            return replace(story, asked=tuple(found))
        case ev.InputRequested(id=request):
            return replace(story, waits=(*story.waits, request))
        case ev.InputAnswered(id=request):
            return replace(story, waits=tuple(one for one in story.waits if one != request))
        case _:
            return story


def _enclosed(call: ToolCall) -> Enclosed:
    name, text = call.input.get("name"), call.input.get("text")
    return Enclosed(
        call.id, name if isinstance(name, str) else "", text if isinstance(text, str) else ""
    )
