"""Which model an agent gets: its own, the one the operator names, or the scripted one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from gateway.definition.agentfile import AgentFile
from gateway.definition.author import Agent, Reply
from gateway.engine.errors import ModelError
from gateway.engine.kinds import JsonObject
from gateway.engine.model import ModelDelta, ModelReply, ModelRequest
from gateway.engine.ports import MODEL_SEAM_VERSION, Model

SCRIPTED = "scripted"

ModelFactory = Callable[[str], Model]
ScriptedFactory = Callable[[Reply], Model]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model the agent gets."""

    name: str | None
    factory: ModelFactory | None
    scripted: ScriptedFactory | None
    offline: bool

    def make(self, agent: Agent, reply: Reply | None, file: AgentFile) -> Model | None:
        """``None`` when the choice can't be met; the findings say why."""
        chosen = SCRIPTED if self.offline else (self.name or agent.model)
        if not isinstance(chosen, str):
            return chosen
        if chosen != SCRIPTED:
            return _Absent(chosen) if self.factory is None else self.factory(chosen)
        if reply is None:
            file.refuse(
                "model",
                "is to run on the scripted model, but there is no offline.py",
                "write offline.py with def reply(request): return ModelReply.say(…)",
            )
            return None
        return _Absent(SCRIPTED) if self.scripted is None else self.scripted(reply)


class _Absent:
    """Stands in for a model where an agent is only looked at."""

    seam_version = MODEL_SEAM_VERSION

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def settings(self) -> JsonObject:
        return {}

    async def close(self) -> None:
        """It holds nothing."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelDelta | ModelReply]:
        raise ModelError(
            f"turn {request.turn_id}: this agent was loaded without a way to reach {self._name}",
            fix="load it with model_factory=…",
        )
