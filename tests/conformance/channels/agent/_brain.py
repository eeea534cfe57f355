"""The model: a few words of the message say what it does."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from typing_extensions import override

from gateway import ModelReply, ModelRequest
from gateway.engine.errors import ModelError
from gateway.engine.model import ModelDelta, TextDelta
from gateway.intake.envelope import unwrapped
from gateway.models.scripted import ScriptedModel

from ._scene import SCENE

HOSTILE = (
    "Hello <!channel> <!here|here> @channel @everyone <@{victim}> <!subteam^S0123ABCD>"
    " `<!everyone>` &lt;!channel&gt; and that is all."
)
_PAY = re.compile(r"\bpay (\d+)(?: by (leads|staff|anybody))?( soon)?")


class Brain(ScriptedModel):
    """What is said slowly stops in its middle until the scene's gate is open."""

    def __init__(self) -> None:
        super().__init__(reply)

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        slowly = "slowly" in unwrapped(request.text)
        while slowly and not SCENE.heard(request.session):
            await asyncio.sleep(0.005)
        async with aclosing(super().stream(request)) as deltas:
            async for one in deltas:
                yield one
                if slowly and isinstance(one, TextDelta) and one.offset == 0:
                    SCENE.halted += 1
                    await SCENE.gate.wait()


def reply(request: ModelRequest) -> ModelReply:
    said = _said(request.text)
    if results := request.turn[-1].results:
        told = results[-1]
        return ModelReply.say(f"I was told: {told.output} {told.decision or ''}".strip())
    if pay := _PAY.search(said):
        policy = pay[2] or "leads"
        return ModelReply.call("pay", amount=int(pay[1]), policy=policy, soon=bool(pay[3]))
    if "tally" in said:
        return ModelReply.call("tally")
    return ModelReply.say(_words(request, said))


def _said(text: str) -> str:
    """What somebody said, without the subject of a mail."""
    said = unwrapped(text)
    return said.partition("\n\n")[2] if said.startswith("Subject: ") else said


def _words(request: ModelRequest, said: str) -> str:
    if "break" in said:
        raise ModelError("the model is out of secrets: hunter2")
    if "nothing" in said:
        return ""
    if "slowly" in said:
        return "First half of it. Second half of it."
    if long := re.search(r"\blong (\d+)", said):
        return long_text(int(long[1]))
    if hostile := re.search(r"\bhostile (\w+)", said):
        return HOSTILE.format(victim=hostile[1])
    if "recall" in said:
        return f"I recall: {_before(request) or 'a blank'}"
    return f"You said: {said}"


def _before(request: ModelRequest) -> str:
    """What was said, and what calls came to, before this turn."""
    earlier = request.messages[: -len(request.turn)]
    told = [
        str(result.output) if message.results else ""
        for message in earlier
        for result in message.results
    ]
    words = [_said(message.text) for message in earlier if message.role == "user"]
    return "; ".join([*words, *told])


def long_text(characters: int) -> str:
    """Numbered lines, as many as fit."""
    lines = (f"Line {number} of a long story." for number in range(characters))
    found: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 2
        if size > characters:
            break
        found.append(line)
    return "\n\n".join(found)
