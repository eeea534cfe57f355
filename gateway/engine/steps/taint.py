"""The taint gate: with unverified content in the conversation, a person decides what reaches out."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.engine.errors import InputExpired
from gateway.engine.kinds import Effect, JsonObject
from gateway.engine.steps.calls import Scenery
from gateway.engine.steps.context import (
    RequestParts,
    answered,
    build_request,
)
from gateway.engine.steps.results import (
    Result,
    failure,
)
from gateway.engine.struct import replace

GATE = "taint-gate"
GATED: frozenset[Effect] = frozenset({"external", "money"})
"""The effects that a person decides on then."""


def gate(scenery: Scenery) -> Result | RequestParts | None:
    """``None`` lets the call run; a request stops it until it is answered. With unverified content
    in the conversation, what reaches outside or moves money needs a person first, whatever the
    tool's own rule says."""
    attempt, tool, scene = scenery.attempt, scenery.tool, scenery.scene
    if not attempt.transcript.tainted or tool.effect not in GATED:
        return None
    answerers = tool.answerers or gate_policy(attempt.world.agent.approvals)
    if answerers is None:
        return Result.error(
            f"{tool.name} was not run: the conversation holds unverified content, and nobody is"
            " configured to approve this call; agent.py names them, in approvals"
        )
    prompt = f"Run {tool.name}? The conversation holds content from an unverified sender."
    try:
        asked = build_request(scene, name=GATE, prompt=prompt, schema=bool, answerers=answerers)
        scene.asked[asked.key] = asked.digest
        answer = attempt.answers.get(asked.key)
        if answer is None or answer.outcome is None or answer.digest != asked.digest:
            return asked
        value = answered(scene, answer, bool)
    except InputExpired as error:
        return replace(failure(error), decision=scenery.decision)
    if value is not True:
        return Result(
            output={"error": f"{tool.name} was not run: denied"},
            is_error=True,
            decision=scenery.decision,
        )
    scene.gate = asked.body.answerers
    return None


def gate_policy(approvals: Mapping[str, str]) -> JsonObject | None:
    """The configured answerer: the policy ``taint``, else the only policy there is."""
    if "taint" in approvals:
        return {"policy": "taint"}
    named = {key.rpartition(":")[2] for key in approvals}
    return {"policy": named.pop()} if len(named) == 1 else None
