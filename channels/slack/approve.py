"""What a person chose or filled in, as the value that the request asks for. Pure."""

from __future__ import annotations

from channels.contract import Answer, Missing
from channels.slack.cards.entered import FormErrors, filled
from channels.slack.cards.schemas import choices
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace

__all__ = ["FormErrors", "completed"]


def completed(answer: Answer, schema: JsonObject) -> Answer | FormErrors:
    """The answer with its value, by the schema of its request. It stays without one when what was
    pressed was never offered."""
    if not isinstance(answer.value, Missing):
        return answer
    state = answer.reply.get("state")
    if isinstance(state, dict):
        found = filled(schema, state)
        return found if isinstance(found, FormErrors) else _with(answer, found)
    number, options = answer.reply.get("choice"), choices(schema) or []
    if isinstance(number, int) and 0 <= number < len(options):
        return _with(answer, options[number])
    return answer


def _with(answer: Answer, value: Json) -> Answer:
    reply = {name: given for name, given in answer.reply.items() if name not in {"state", "choice"}}
    return replace(answer, value=value, reply=reply)
