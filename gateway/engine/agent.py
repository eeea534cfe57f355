"""An agent as the engine runs it: assembled once, immutable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Literal, Protocol

from gateway.engine.kinds import JsonObject, Speaker
from gateway.engine.ports import Model
from gateway.engine.struct import struct
from gateway.engine.tool import Tool


@struct(frozen=True, slots=True, kw_only=True)
class Surface:
    """How turns from one source differ: the overlay's mode and the tools they may not use.

    ``mode`` is how ``instructions.<source>.md`` meets the base prompt.
    """

    mode: Literal["append", "replace"] = "append"
    deny_tools: frozenset[str] | set[str] = frozenset()


@struct(frozen=True, slots=True, kw_only=True)
class AskedRequest:
    """What an ``authorize_answer`` hook is shown of the request it decides on."""

    tool: str
    arguments: JsonObject
    prompt: str
    digest: str


class AuthorizeAnswer(Protocol):
    """May this person answer this request? ``False`` or raising refuses; raising is a 500."""

    async def __call__(  # noqa: PLR0913 - the contract's own signature
        self,
        *,
        policy: str,
        scope: str | None,
        by: str,
        principal: Speaker | None,
        request: AskedRequest,
        speaker: Speaker | None,
        services: object,
    ) -> bool: ...


@struct(frozen=True, slots=True, kw_only=True)
class TurnError:
    """What ``on_turn_error`` gets of a failed turn."""

    agent: str
    session: str
    turn_id: str
    phase: str | None
    step: str | None
    error: BaseException


OnTurnError = Callable[[TurnError], Awaitable[None] | None]


@struct(frozen=True, slots=True, kw_only=True)
class AgentDef:
    """``overlays`` maps a source to the text of its ``instructions.<source>.md``; ``approvals``
    maps a policy to the surface its requests are shown on (``slack:C0123``). The policy ``taint``,
    when named there, answers for calls that the taint gate stops and whose tool names nobody."""

    name: str
    model: Model
    instructions: str = ""
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    overlays: Mapping[str, str] = field(default_factory=dict[str, str])
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, Surface])
    approvals: Mapping[str, str] = field(default_factory=dict[str, str])
    authorize_answer: AuthorizeAnswer | None = None
    services: object = None
    on_turn_error: OnTurnError | None = None
