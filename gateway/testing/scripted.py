"""A model that says what the test tells it to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.engine.errors import ModelError
from gateway.engine.model import ModelReply, ModelRequest

Line = str | ModelReply | Callable[[ModelRequest], ModelReply]


def script(lines: Sequence[Line]) -> Callable[[ModelRequest], ModelReply]:
    """The nth reply of a turn is the nth line: a text to say, a reply, or a function that makes one.

    Each turn begins with the first line, and a step that is done again after a crash gets the line that
    it got before. A turn that asks for more than there is fails, and says so.
    """

    def reply(request: ModelRequest) -> ModelReply:
        given = sum(message.role == "assistant" for message in request.turn)
        if given >= len(lines):
            raise ModelError(
                f"the script has {len(lines)} lines for a turn, and the model is asked once more",
                fix="add what it says next, or look at why the turn goes on",
            )
        line = lines[given]
        if isinstance(line, str):
            return ModelReply.say(line)
        return line if isinstance(line, ModelReply) else line(request)

    return reply
