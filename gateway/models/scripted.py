"""A model without a provider: a function answers. For the demo, tests and benchmarks.

Deterministic and light: nothing is imported but the engine's vocabulary, nothing is waited for
unless ``latency`` says so.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from decimal import Decimal
from typing import cast

from typing_extensions import override

from gateway.engine.errors import GatewayError, ModelError
from gateway.engine.kinds import JsonObject
from gateway.engine.messages import Block, Opaque, Reasoning, Text, ToolCall
from gateway.engine.model import (
    ABNORMAL_STOPS,
    NORMAL_STOPS,
    ModelDelta,
    ModelReply,
    ModelRequest,
    TextDelta,
    Usage,
)
from gateway.engine.ports import MODEL_SEAM_VERSION, Model
from gateway.engine.struct import replace
from gateway.engine.wire import dumps

Reply = Callable[[ModelRequest], ModelReply | Awaitable[ModelReply]]

STOPS = NORMAL_STOPS | ABNORMAL_STOPS
SAYABLE = (Text, ToolCall, Reasoning, Opaque)


def _check(block: object) -> None:
    """A script is an author's code, and what it says is stored: it must be text and JSON."""
    if not isinstance(block, SAYABLE):
        raise _wrong(f"holds {type(block).__name__}, which a model can't say")
    if isinstance(block, Text) and not isinstance(cast("object", block.text), str):
        raise _wrong(f"says {type(block.text).__name__}, which isn't text")
    if isinstance(block, ToolCall):
        _check_json(block.input, f"calls {block.name} with what isn't JSON")
    if block.raw is not None:
        _check_json(block.raw, "holds a raw block that isn't JSON")


def _check_json(value: JsonObject, wrong: str) -> None:
    try:
        dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _wrong(f"{wrong}: {error}") from error


def _wrong(what: str) -> ModelError:
    return ModelError(
        f"the scripted model's reply {what}", fix="use ModelReply.say(…) and ModelReply.call(…)"
    )


class ScriptedModel(Model):
    """``reply`` may be a plain or an async function of the request.

    ``chunks`` is how many deltas a text is shown in at most, cut between words; 0 shows none.
    ``latency`` in seconds, spread over the deltas. A call without an id gets one made of its place
    in the transcript, so that a replay makes the same.
    """

    seam_version = MODEL_SEAM_VERSION

    def __init__(
        self, reply: Reply, name: str = "scripted", *, chunks: int = 4, latency: float = 0.0
    ) -> None:
        self._reply = reply
        self._name = name
        self._chunks = chunks
        self._latency = latency
        self._free = Usage(model=name, cost=Decimal(0), prices="scripted")

    @property
    @override
    def name(self) -> str:
        return self._name

    @property
    @override
    def settings(self) -> JsonObject:
        return {"provider": "scripted"}

    @override
    async def close(self) -> None:
        """It holds nothing."""

    @override
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelReply]:
        reply = self._complete(await self._ask(request), request)
        deltas = self._deltas(reply) if self._chunks else []
        pause = self._latency / (len(deltas) + 1)
        for delta in deltas:
            if pause:
                await asyncio.sleep(pause)
            yield delta
        if pause:
            await asyncio.sleep(pause)
        yield reply

    async def _ask(self, request: ModelRequest) -> ModelReply:
        try:
            reply = cast("object", self._reply(request))
            if not isinstance(reply, ModelReply) and inspect.isawaitable(reply):
                reply = cast("object", await reply)
        except GatewayError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(
                f"the scripted model's reply() raised {type(error).__name__}: {error}",
                fix="correct the reply function (offline.py, or the one given to ScriptedModel)",
            ) from error
        if not isinstance(reply, ModelReply):
            raise ModelError(
                f"the scripted model's reply() returned {type(reply).__name__}, not a ModelReply",
                fix="return ModelReply.say(…) or ModelReply.call(…)",
            )
        if reply.stop not in STOPS:
            # A provider may make up a new one; in a script it is a slip that would end the turn.
            raise ModelError(
                f"the scripted model's reply stops with {reply.stop!r}, which no model says",
                fix=f"leave stop out, or use one of: {', '.join(sorted(STOPS))}",
            )
        for block in reply.blocks:
            _check(block)
        return reply

    def _complete(self, reply: ModelReply, request: ModelRequest) -> ModelReply:
        """What an author may leave out: call ids, the stop that calls imply, the (zero) bill."""
        messages = request.messages
        index = messages[-1].index + 1 if messages else 0
        calls = False
        blocks: list[Block] = []
        for position, block in enumerate(reply.blocks):
            if isinstance(block, ToolCall):
                calls = True
                if not block.id:
                    block = replace(block, id=f"call_{index}_{position}")  # noqa: PLW2901
            blocks.append(block)
        return ModelReply(
            blocks=tuple(blocks),
            stop="tool_use" if calls and reply.stop == "end_turn" else reply.stop,
            usage=reply.usage if reply.usage.model else self._free,
        )

    def _deltas(self, reply: ModelReply) -> list[TextDelta]:
        return [
            delta
            for number, block in enumerate(reply.blocks)
            if isinstance(block, Text) and block.text
            for delta in self._cut(block.text, number)
        ]

    def _cut(self, text: str, number: int) -> list[TextDelta]:
        words = text.split(" ")
        size = -(-len(words) // self._chunks)
        deltas: list[TextDelta] = []
        offset = 0
        for start in range(0, len(words), size):
            piece = " ".join(words[start : start + size])
            if start + size < len(words):
                piece += " "
            if piece:
                deltas.append(TextDelta(piece, block=number, offset=offset))
            offset += len(piece)
        return deltas
