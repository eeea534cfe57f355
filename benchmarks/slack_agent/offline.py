"""``work 40`` keeps a turn busy for so many rounds, a step each time a tool has waited; anything else is
answered at once."""

from __future__ import annotations

from gateway import ModelReply, ModelRequest


def reply(request: ModelRequest) -> ModelReply:
    if request.text.startswith("work "):
        done = sum(1 for message in request.turn if message.role == "tool")
        if done < int(request.text.split()[1]):
            return ModelReply.call("wait", round=done)
        return ModelReply.say("done")
    return ModelReply.say("It is on its way.")
