"""What each Claude model takes, as a table: thinking, effort, limits, retirement.

Sources: the models overview and the "Thinking" and "Effort" pages of platform.claude.com (November
2026) and the model tables of the ``anthropic`` package 2.14. A model that isn't listed gets careful
defaults and a warning: nothing is sent that an unknown model might refuse.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Thinking = Literal["adaptive", "budget", "unknown"]
"""``budget``: the older kind that is turned on with a number of tokens."""

_ALL: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
_NO_XHIGH: tuple[Effort, ...] = ("low", "medium", "high", "max")
_UP_TO_HIGH: tuple[Effort, ...] = ("low", "medium", "high")

DEFAULT_MAX_TOKENS = 32_000
"""Room for an answer and its thinking (which counts inside), small enough to reserve a budget by."""

_LARGEST_BUDGET = 16_000
_SMALLEST_BUDGET = 1_024


@struct(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """One model's row.

    ``off`` is the ``thinking.type`` that turns thinking off, ``None`` where nothing does;
    ``off_efforts`` are the efforts that may be asked for with thinking off.
    """

    thinking: Thinking = "adaptive"
    off: Literal["disabled", "between_tools"] | None = None
    efforts: tuple[Effort, ...] = _ALL
    off_efforts: tuple[Effort, ...] = _ALL
    max_output: int = 128_000
    context: int = 1_000_000
    retires: date | None = None
    known: bool = True


_ALWAYS = Capabilities()
_CLASSIC = Capabilities(
    thinking="budget", off="disabled", efforts=(), max_output=64_000, context=200_000
)

MODELS: dict[str, Capabilities] = {
    "claude-fable-5": _ALWAYS,
    "claude-fable-5-1": _ALWAYS,
    "claude-fable-5-2": _ALWAYS,
    "claude-mythos-5": _ALWAYS,
    "claude-mythos-5-1": _ALWAYS,
    "claude-mythos-5-2": _ALWAYS,
    "claude-mythos-preview": Capabilities(retires=date(2026, 6, 30)),
    "claude-opus-5-5": _ALWAYS,
    "claude-opus-5": Capabilities(off="disabled", off_efforts=_UP_TO_HIGH),
    "claude-opus-4-8": Capabilities(off="disabled"),
    "claude-opus-4-7": Capabilities(off="disabled"),
    "claude-opus-4-6": Capabilities(off="disabled", efforts=_NO_XHIGH),
    "claude-opus-4-5": Capabilities(
        thinking="budget",
        off="disabled",
        efforts=_UP_TO_HIGH,
        max_output=64_000,
        context=200_000,
        retires=date(2027, 1, 22),
    ),
    "claude-sonnet-5-5": Capabilities(off="between_tools"),
    "claude-sonnet-5": Capabilities(off="disabled"),
    "claude-sonnet-4-6": Capabilities(off="disabled", efforts=_NO_XHIGH, max_output=64_000),
    "claude-sonnet-4-5": Capabilities(
        thinking="budget",
        off="disabled",
        efforts=(),
        max_output=64_000,
        context=200_000,
        retires=date(2026, 11, 30),
    ),
    "claude-haiku-5-5": Capabilities(off="disabled", off_efforts=_UP_TO_HIGH),
    "claude-haiku-4-5": _CLASSIC,
}

UNKNOWN = Capabilities(
    thinking="unknown", max_output=8_192, context=200_000, efforts=_ALL, known=False
)

# ``claude-opus-4-5-20251101``, ``us.anthropic.claude-opus-4-6-v1:0``, ``claude-haiku-4-5@20251001``
_ID = re.compile(r"(?:^|[./])(claude-[a-z]+-[a-z0-9-]+?)(?:[-@]20\d{6})?(?:-v\d+(?::\d+)?)?$")


def capabilities(model: str) -> Capabilities:
    """The model's row, found under its plain, dated, or cloud platform id."""
    found = _ID.search(model)
    return MODELS.get(found.group(1), UNKNOWN) if found else UNKNOWN


def warning_for(model: str) -> str | None:
    """What the operator should know at load; a sentence for the log.

    For the log, not ``warnings.warn``: a deployment that runs with ``-W error`` must not lose its
    agent over a date (T27).
    """
    row = capabilities(model)
    if not row.known:
        return (
            f"model {model!r} is not in this release's table: whether it thinks is left to it, and"
            f" its replies end at {row.max_output} tokens unless max_tokens says otherwise"
        )
    if row.retires is not None:
        return f"model {model!r} is retired from {row.retires.isoformat()} on: name a newer one"
    return None


def settings_for(
    model: str, *, thinking: bool, max_tokens: int | None, effort: Effort | None
) -> JsonObject:
    """The request parameters this choice comes to, or a ``ConfigError`` that names the way out.

    Refused here and not at the first request, because the API answers each of these with a 400 on
    every turn (T16).
    """
    row = capabilities(model)
    limit = _max_tokens(model, row, max_tokens)
    settings: JsonObject = {"max_tokens": limit}
    if row.thinking != "unknown":
        settings["thinking"] = _thinking(model, row, thinking, limit)
    if effort is not None:
        allowed = row.efforts if thinking else _both(row.efforts, row.off_efforts)
        if effort not in allowed:
            named = ", ".join(allowed) or "none at all"
            off = "" if thinking else " with thinking off"
            raise ConfigError(
                f"model {model!r} doesn't take effort {effort!r}{off}",
                fix=f"effort may be: {named}",
            )
        settings["effort"] = effort
    return settings


def _max_tokens(model: str, row: Capabilities, asked: int | None) -> int:
    if asked is None:
        return min(DEFAULT_MAX_TOKENS, row.max_output)
    if asked < 1 or (row.known and asked > row.max_output):
        raise ConfigError(
            f"max_tokens={asked} is outside what model {model!r} can write",
            fix=f"max_tokens may be 1 to {row.max_output}",
        )
    return asked


def _thinking(model: str, row: Capabilities, wanted: bool, limit: int) -> Json:
    if not wanted:
        if row.off is None:
            raise ConfigError(
                f"model {model!r} always thinks; thinking=False is refused with a 400",
                fix="leave thinking on (effort='low' thinks least), or name another model",
            )
        return {"type": row.off}
    if row.thinking == "adaptive":
        # Some models think without showing it by default; a summary is what people may read.
        return {"type": "adaptive", "display": "summarized"}
    budget = min(_LARGEST_BUDGET, limit // 2)
    if budget < _SMALLEST_BUDGET:
        raise ConfigError(
            f"max_tokens={limit} leaves model {model!r} no room to think",
            fix=f"max_tokens of {2 * _SMALLEST_BUDGET} or more, or thinking=False",
        )
    return {"type": "enabled", "budget_tokens": budget}


def _both(left: tuple[Effort, ...], right: tuple[Effort, ...]) -> tuple[Effort, ...]:
    return tuple(effort for effort in left if effort in right)
