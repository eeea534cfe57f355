"""What a turn's events add up to, for who reads it as a letter: all that was said, and how it ended. Pure."""

from __future__ import annotations

from gateway.engine import events as ev
from gateway.engine.struct import replace, struct

__all__ = ["Story", "fold"]


@struct(frozen=True, slots=True)
class Story:
    """``said`` are the committed messages of the model; ``waits`` the requests that are open."""

    said: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(self.said)


def fold(story: Story, event: ev.TurnEvent) -> Story:
    """The story after one more event. Text that isn't committed is no part of it."""
    match event:
        case ev.MessageCompleted(text=text) if text.strip():
            return replace(story, said=(*story.said, text.strip()))
        case ev.InputRequested(id=request):
            return replace(story, waits=(*story.waits, request))
        case ev.InputAnswered(id=request):
            return replace(story, waits=tuple(one for one in story.waits if one != request))
        case _:
            return story
