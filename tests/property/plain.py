"""The plain model of a session, a list of turns, and the agent whose turns it stands for."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.engine.agent import AgentDef
from gateway.engine.model import ModelReply, ModelRequest
from gateway.engine.steps.context import ToolContext
from gateway.engine.tool import tool
from gateway.models.scripted import ScriptedModel
from tests.support.turns import calls

ENDED = {"completed", "cancelled"}


@tool
def note(ctx: ToolContext, text: str) -> str:
    """Write a row."""
    handle = ctx.store.unwrap()
    assert handle is not None
    handle.execute("create table if not exists notes(turn text)")
    handle.execute("insert into notes values (?)", (ctx.turn_id,))
    return text


@tool
async def call(ctx: ToolContext) -> str:
    """Do something outside."""
    return ctx.idempotency_key


@tool
async def ask(ctx: ToolContext) -> bool:
    """Ask a person."""
    return bool(await ctx.request_input(id="ok", prompt="Go on?"))


def script(request: ModelRequest) -> ModelReply:
    kind = request.text.partition(" ")[0]
    if request.messages[-1].role == "tool" or kind == "say":
        return ModelReply.say(f"done {request.text}")
    if kind == "ask":
        return calls(("ask", {}), ("note", {"text": "x"}))
    return calls(("call", {}), ("note", {"text": "x"}))


def june() -> AgentDef:
    tools = {t.name: t for t in (note, call, ask)}
    return AgentDef(name="june", model=ScriptedModel(script), tools=tools)


@dataclass
class Turn:
    """A turn as the plain model sees it."""

    id: str
    text: str
    generation: int
    state: str = "queued"
    ran: bool = False

    @property
    def kind(self) -> str:
        return self.text.partition(" ")[0]


class Plain:
    """The session as a list of turns: the first open one runs until it ends or asks."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.generation = 0

    @property
    def open(self) -> list[Turn]:
        return [turn for turn in self.turns if turn.state not in ENDED]

    @property
    def parked(self) -> Turn | None:
        return next((turn for turn in self.turns if turn.state == "suspended"), None)

    def go(self) -> None:
        for turn in self.open:
            if turn.state == "suspended":
                return
            turn.ran = True
            turn.state = "suspended" if turn.kind == "ask" else "completed"
            if turn.state == "suspended":
                return
