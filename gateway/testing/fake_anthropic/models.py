"""``GET /v1/models``: enough of the catalogue for a client that asks what a model can do."""

from __future__ import annotations

from gateway.engine.kinds import Json, JsonObject

_YES: JsonObject = {"supported": True}
_NO: JsonObject = {"supported": False}

_NAMES = (
    "claude-fable-5-2",
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-opus-4-8",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
)


def catalogue() -> JsonObject:
    data: list[Json] = [_info(name) for name in _NAMES]
    return {"data": data, "has_more": False, "first_id": _NAMES[0], "last_id": _NAMES[-1]}


def model_info(name: str) -> JsonObject | None:
    return _info(name) if name in _NAMES else None


def _info(name: str) -> JsonObject:
    classic = name.endswith("4-5")
    always = "fable" in name or name == "claude-opus-5-5"
    return {
        "id": name,
        "type": "model",
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 200_000 if classic else 1_000_000,
        "max_tokens": 64_000 if classic else 128_000,
        "capabilities": {
            "thinking": {
                "supported": True,
                "types": {
                    "adaptive": _NO if classic else _YES,
                    "enabled": _YES if classic else _NO,
                    "disabled": _NO if always else _YES,
                    "between_tools": _YES if name == "claude-sonnet-5-5" else _NO,
                },
            },
        },
    }
