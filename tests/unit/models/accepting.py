"""A request is shown to the strict rules of the fake API before a test looks at it."""

from __future__ import annotations

from typing import cast

from gateway.engine.kinds import Json, JsonObject
from gateway.testing.fake_anthropic.params import check_params
from gateway.testing.fake_anthropic.transcript import check_transcript
from tests.unit.models.transcripts import content


def accepted(body: JsonObject) -> list[JsonObject]:
    """The wire messages, once the strict fake has nothing to say against the request."""
    messages = cast("list[JsonObject]", body["messages"])
    check_params(body)
    check_transcript(_without_thinking(body))
    return messages


def _without_thinking(body: JsonObject) -> JsonObject:
    """Signatures here are made up, so that one rule is tested elsewhere, against the whole fake."""
    messages = [
        {
            **m,
            "content": [
                b for b in content(m) if b["type"] not in {"thinking", "redacted_thinking"}
            ],
        }
        for m in cast("list[JsonObject]", body["messages"])
    ]
    return {**body, "messages": cast("list[Json]", messages)}


def results(message: JsonObject) -> list[JsonObject]:
    return [block for block in content(message) if block["type"] == "tool_result"]
