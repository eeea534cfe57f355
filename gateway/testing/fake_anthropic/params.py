"""What the API refuses in a request's parameters: each rule is one 400.

Sources: the parameter reference of the Messages API (version 2026-10-21, as typed in anthropic
2.14), platform.claude.com on thinking, effort, tool use and caching. Which model takes what is
written down here a second time on purpose: a fake that shared the adapter's table would agree
with its mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.engine.kinds import Json, JsonObject

NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")

_KNOWN = frozenset(
    {
        "betas", "cache_control", "compaction", "container", "context_management", "diagnostics",
        "fallbacks", "inference_geo", "max_tokens", "mcp_servers", "messages", "metadata", "model",
        "output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "thinking",
        "thread", "tool_choice", "tools", "user_profile_id", "workspace_id",
    }
)  # fmt: skip
_SAMPLING = ("temperature", "top_p", "top_k")
_EFFORTS = frozenset({"low", "medium", "high", "xhigh", "max"})

_ALWAYS_THINK = re.compile(r"claude-(fable|mythos|opus-5-5)")
_BETWEEN_TOOLS = re.compile(r"claude-sonnet-5-5")
_BUDGET = re.compile(r"claude-(opus|sonnet|haiku)-4-5")
_OLD_BUDGET = re.compile(r"claude-(opus|sonnet)-4-[56]|claude-haiku-4-5")
_NO_EFFORT = re.compile(r"claude-(sonnet|haiku)-4-5")
_SHORT = re.compile(r"claude-(opus|sonnet|haiku)-4-5|claude-sonnet-4-6")


class Rejected(Exception):
    """A 400 with the API's message."""


def check_params(body: JsonObject, *, counting: bool = False) -> None:
    """Raise ``Rejected`` for the first parameter the API would refuse."""
    for name in body:
        if name in _SAMPLING:
            raise Rejected(f"{name}: sampling parameters are not supported on this version")
        if name not in _KNOWN:
            raise Rejected(f"{name}: Extra inputs are not permitted")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Rejected("model: Field required")
    if not counting:
        _check_max_tokens(model, body.get("max_tokens"))
    _check_thinking(model, body)
    _check_effort(model, body)
    _check_tools(body)
    _check_tool_choice(model, body)
    _check_system(body.get("system"))
    _check_cache(body)


def thinks(body: JsonObject) -> bool:
    """Whether the reply to this request would open with thinking."""
    thinking = body.get("thinking")
    asked = thinking.get("type") if isinstance(thinking, dict) else None
    return asked in {"adaptive", "enabled"} or bool(_ALWAYS_THINK.search(str(body.get("model"))))


def _check_max_tokens(model: str, value: Json) -> None:
    if value is None:
        raise Rejected("max_tokens: Field required")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Rejected("max_tokens: Input should be greater than or equal to 1")
    most = 64_000 if _SHORT.search(model) else 128_000
    if value > most:
        raise Rejected(f"max_tokens: {value} > {most}, the maximum for {model}")


def _check_thinking(model: str, body: JsonObject) -> None:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in {"adaptive", "enabled", "disabled", "between_tools"}:
        raise Rejected(
            "thinking.type: Input should be adaptive, enabled, disabled or between_tools"
        )
    if kind == "adaptive" and _BUDGET.search(model):
        raise Rejected("thinking.type: adaptive thinking is not supported on this model")
    if kind == "disabled" and (_ALWAYS_THINK.search(model) or _BETWEEN_TOOLS.search(model)):
        raise Rejected("thinking.type: thinking cannot be disabled on this model")
    if kind == "between_tools" and not _BETWEEN_TOOLS.search(model):
        raise Rejected("thinking.type: between_tools is not supported on this model")
    if kind == "enabled" and isinstance(thinking, dict):
        _check_budget(model, thinking.get("budget_tokens"), body.get("max_tokens"))


def _check_budget(model: str, budget: Json, max_tokens: Json) -> None:
    if not _OLD_BUDGET.search(model):
        raise Rejected("thinking.type: budgets are not supported on this model, use adaptive")
    if not isinstance(budget, int) or budget < 1024:
        raise Rejected("thinking.budget_tokens: Input should be greater than or equal to 1024")
    if isinstance(max_tokens, int) and budget >= max_tokens:
        raise Rejected("max_tokens: must be greater than thinking.budget_tokens")


def _check_effort(model: str, body: JsonObject) -> None:
    config = body.get("output_config")
    effort = config.get("effort") if isinstance(config, dict) else None
    if effort is None:
        return
    if effort not in _EFFORTS:
        raise Rejected("output_config.effort: Input should be low, medium, high, xhigh or max")
    if _NO_EFFORT.search(model):
        raise Rejected("output_config.effort: effort is not supported on this model")


def _check_tools(body: JsonObject) -> None:
    seen: set[str] = set()
    tools = body.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(tool, dict) or not isinstance(name, str) or not NAME.match(name):
            raise Rejected(
                f"tools.{index}.custom.name: String should match pattern '{NAME.pattern}'"
            )
        if name in seen:
            raise Rejected("tools: Tool names must be unique.")
        seen.add(name)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise Rejected(f"tools.{index}.custom.input_schema.type: Input should be 'object'")


def _check_tool_choice(model: str, body: JsonObject) -> None:
    choice = body.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind in {"any", "tool"} and (thinks(body) or _BETWEEN_TOOLS.search(model)):
        raise Rejected("tool_choice: forcing tool use is not supported while thinking")


def _check_system(system: Json) -> None:
    for index, block in enumerate(system if isinstance(system, list) else ()):
        if not isinstance(block, dict) or not str(block.get("text") or "").strip():
            raise Rejected(f"system.{index}: text content blocks must contain non-whitespace text")


def _check_cache(body: JsonObject) -> None:
    marked = [block for block in _blocks(body) if "cache_control" in block]
    count = len(marked) + ("cache_control" in body)
    if count > 4:
        raise Rejected(f"A maximum of 4 blocks with cache_control may be provided. Found {count}.")
    for block in marked:
        if block.get("type") in {"thinking", "redacted_thinking"}:
            raise Rejected("cache_control cannot be set for thinking blocks")
        if block.get("type") == "text" and not str(block.get("text") or "").strip():
            raise Rejected("cache_control cannot be set for empty text blocks")


def _blocks(body: JsonObject) -> Iterator[JsonObject]:
    """Every block that may carry a cache marker."""
    for name in ("system", "tools"):
        yield from _objects(body.get(name))
    for message in _objects(body.get("messages")):
        for block in _objects(message.get("content")):
            yield block
            yield from _objects(block.get("content"))


def _objects(value: Json) -> Iterator[JsonObject]:
    yield from (
        item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict)
    )
