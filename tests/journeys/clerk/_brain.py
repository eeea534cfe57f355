"""The model: what stands in the message is what it does."""

# ruff: noqa: TID252 - an agent directory is loaded under a private name
from __future__ import annotations

import re

from gateway import ModelReply, ModelRequest
from gateway.engine.errors import ModelError
from gateway.intake.envelope import unwrapped

from ._desk import DESK

_ASK = re.compile(r"\bask about (\w+)(?: under (\w+))?")
_LONG = re.compile(r"\blong (\d+)( in code)?")


async def reply(request: ModelRequest) -> ModelReply:
    said = unwrapped(request.text)
    if results := request.turn[-1].results:
        return _told(said, str(results[-1].output))
    DESK.asked.append(request.text)
    DESK.thinking += 1
    DESK.most = max(DESK.most, DESK.thinking)
    try:
        if "hold on" in said:
            await DESK.gate.wait()
    finally:
        DESK.thinking -= 1
    return _begun(said)


def _begun(said: str) -> ModelReply:
    if "fail" in said:
        raise ModelError("the model can't")
    if "in two halves" in said:
        return ModelReply.call("hold", text="The first half.")
    if ask := _ASK.search(said):
        return ModelReply.call("ask", about=ask[1], policy=ask[2] or "")
    if long := _LONG.search(said):
        return ModelReply.say(long_text(int(long[1]), code=bool(long[2])))
    return ModelReply.say(f"You said: {said.strip()}")


def _told(said: str, output: str) -> ModelReply:
    if "in two halves" in said:
        return ModelReply.say("The second half.")
    return ModelReply.say(f"It came to this: {output}")


def long_text(characters: int, *, code: bool) -> str:
    """Numbered lines of just so many characters; in code, those beside its fences."""
    between = "\n" if code else "\n\n"
    lines, left, number = list[str](), characters, 0
    while left > 0:
        line = f"Line {number} of a long story."
        lines.append(line)
        left -= len(line) + len(between)
        number += 1
    told = between.join(lines)[:characters]
    return f"```py\n{told}\n```" if code else told
