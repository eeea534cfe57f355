"""The table of models: what may be asked of each, and that it keeps up with the SDK."""

from __future__ import annotations

from datetime import datetime
from itertools import product
from typing import get_args

import pytest
from anthropic import _constants, _data
from anthropic.types.beta import BetaStopReason
from anthropic.types.model_param import ModelParam

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import JsonObject
from gateway.engine.model import NORMAL_STOPS
from gateway.models._judge import _FIX
from gateway.models.capabilities import (
    MODELS,
    UNKNOWN,
    Effort,
    capabilities,
    settings_for,
    warning_for,
)
from gateway.testing.fake_anthropic.params import check_params

EFFORTS: tuple[Effort, ...] = get_args(Effort)
SUMMARIZED: JsonObject = {"type": "adaptive", "display": "summarized"}


def chosen(
    model: str,
    *,
    thinking: bool = True,
    max_tokens: int | None = None,
    effort: Effort | None = None,
) -> JsonObject:
    return settings_for(model, thinking=thinking, max_tokens=max_tokens, effort=effort)


@pytest.mark.parametrize(
    ("model", "on", "off"),
    [
        ("claude-fable-5-2", SUMMARIZED, None),
        ("claude-mythos-5-1", SUMMARIZED, None),
        ("claude-opus-5-5", SUMMARIZED, None),
        ("claude-opus-5", SUMMARIZED, "disabled"),
        ("claude-opus-4-8", SUMMARIZED, "disabled"),
        ("claude-sonnet-5-5", SUMMARIZED, "between_tools"),
        ("claude-sonnet-4-6", SUMMARIZED, "disabled"),
        ("claude-haiku-5-5", SUMMARIZED, "disabled"),
        ("claude-haiku-4-5", {"type": "enabled", "budget_tokens": 16000}, "disabled"),
        ("claude-opus-4-5-20251101", {"type": "enabled", "budget_tokens": 16000}, "disabled"),
    ],
)
def test_thinking_is_on_by_default_and_off_where_the_model_allows(
    model: str, on: JsonObject, off: str | None
) -> None:
    assert chosen(model)["thinking"] == on
    if off is not None:
        assert chosen(model, thinking=False)["thinking"] == {"type": off}
        return
    with pytest.raises(ConfigError, match="always thinks") as raised:
        chosen(model, thinking=False)
    assert "leave thinking on" in raised.value.fix


@pytest.mark.parametrize("model", sorted(MODELS))
def test_what_the_table_lets_through_the_strict_fake_accepts(model: str) -> None:
    taken = 0
    for thinking, effort in product((True, False), (None, *EFFORTS)):
        try:
            settings = chosen(model, thinking=thinking, effort=effort)
        except ConfigError:
            continue
        taken += 1
        body: JsonObject = {"model": model, "max_tokens": settings["max_tokens"]}
        body["thinking"] = settings["thinking"]
        if "effort" in settings:
            body["output_config"] = {"effort": settings["effort"]}
        check_params(body)
    assert taken


@pytest.mark.parametrize(
    ("model", "thinking", "effort"),
    [
        ("claude-haiku-4-5", True, "low"),
        ("claude-opus-4-6", True, "xhigh"),
        ("claude-opus-5", False, "max"),
        ("claude-haiku-5-5", False, "xhigh"),
    ],
)
def test_an_effort_the_model_refuses_is_a_config_error(
    model: str, thinking: bool, effort: Effort
) -> None:
    with pytest.raises(ConfigError, match="effort") as raised:
        chosen(model, thinking=thinking, effort=effort)
    assert raised.value.fix.startswith("effort may be")


@pytest.mark.parametrize(
    ("model", "most"), [("claude-opus-5-5", 128_000), ("claude-haiku-4-5", 64_000)]
)
def test_max_tokens_is_bounded_by_the_model(model: str, most: int) -> None:
    assert chosen(model)["max_tokens"] == 32_000
    assert chosen(model, max_tokens=most)["max_tokens"] == most
    for wrong in (0, -1, most + 1):
        with pytest.raises(ConfigError, match="max_tokens"):
            chosen(model, max_tokens=wrong)


def test_a_budget_leaves_room_for_an_answer() -> None:
    small = chosen("claude-haiku-4-5", max_tokens=4000)
    assert small["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    with pytest.raises(ConfigError, match="no room to think"):
        chosen("claude-haiku-4-5", max_tokens=2000)
    assert chosen("claude-haiku-4-5", max_tokens=100, thinking=False)["max_tokens"] == 100


@pytest.mark.parametrize("model", ["gpt-9", "claude-opus-9", "claude-opus-5-7", "my/claude", ""])
def test_an_unknown_model_is_sent_nothing_it_might_refuse(model: str) -> None:
    assert capabilities(model) is UNKNOWN
    assert chosen(model) == {"max_tokens": 8192}
    assert chosen(model, max_tokens=100_000, thinking=False) == {"max_tokens": 100_000}
    assert "not in this release's table" in (warning_for(model) or "")


@pytest.mark.parametrize(
    ("model", "known_as"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("us.anthropic.claude-opus-4-6-v1:0", "claude-opus-4-6"),
        ("anthropic.claude-sonnet-5-5", "claude-sonnet-5-5"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
    ],
)
def test_a_model_is_known_under_the_ids_of_other_platforms(model: str, known_as: str) -> None:
    assert capabilities(model) is MODELS[known_as]


def test_only_retiring_models_are_warned_about() -> None:
    assert warning_for("claude-opus-5-5") is None
    assert "2027-01-22" in (warning_for("claude-opus-4-5") or "")


# -- canaries: they fail when the SDK moves, and say what to look at -------------------------------
def test_the_table_lists_every_model_the_sdk_names() -> None:
    literals, _ = get_args(ModelParam)
    missing = [name for name in get_args(literals) if not capabilities(name).known]
    assert not missing, "add these to gateway/models/capabilities.py"


def test_retirement_dates_are_those_of_the_sdk() -> None:
    for model, said in _data.DEPRECATED_MODELS.items():
        plain = said.replace("st,", ",").replace("nd,", ",").replace("rd,", ",").replace("th,", ",")
        assert capabilities(model).retires == datetime.strptime(plain, "%B %d, %Y").date()  # noqa: DTZ007
    listed = {name for name, row in MODELS.items() if row.retires}
    assert listed <= set(_data.DEPRECATED_MODELS)


def test_the_sdk_speaks_the_version_of_the_api_that_the_adapter_was_written_for() -> None:
    assert _constants.ANTHROPIC_API_VERSION == "2026-10-21"


def test_every_stop_reason_of_the_sdk_has_been_thought_about() -> None:
    """``compaction`` answers a request that the adapter never makes; it counts as abnormal."""
    assert set(get_args(BetaStopReason)) == NORMAL_STOPS | set(_FIX) | {"compaction"}
