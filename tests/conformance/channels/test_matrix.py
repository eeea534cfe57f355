"""The matrix is the rules' own, and its gaps excuse nothing that matters."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from tests.conformance.channels import rules as folder
from tests.conformance.channels import suite
from tests.conformance.channels.gaps import DRIVERS, GAPS, Gap
from tests.conformance.channels.matrix import (
    COMMAND,
    DOCUMENT,
    document,
    rule_of,
    rules,
    written_in,
)
from tests.conformance.channels.rule import NO_GAPS, Rule
from tests.meta.tree import text

WRITTEN = {f"{rule.__name__}.{test}": rule for rule in rules() for test in written_in(rule)}


def test_the_page_says_what_the_rules_say() -> None:
    if text(DOCUMENT) != document():
        pytest.fail(f"{DOCUMENT} is stale: run `{COMMAND}`", pytrace=False)


def test_every_rule_that_is_written_is_played() -> None:
    found: set[str] = set()
    for path in Path(folder.__path__[0]).glob("*.py"):
        module = importlib.import_module(f"{folder.__name__}.{path.stem}")
        found |= {
            name
            for name, one in inspect.getmembers(module, inspect.isclass)
            if issubclass(one, Rule) and one.__module__ == module.__name__
        }
    assert found == set(suite.__all__)


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: f"{gap.driver} {gap.rule}")
def test_a_gap_is_of_a_rule_that_a_platform_may_excuse(gap: Gap) -> None:
    assert gap.driver in DRIVERS
    assert gap.fact
    assert WRITTEN[rule_of(gap)].promise not in NO_GAPS


def test_every_channel_has_a_name_in_the_matrix() -> None:
    played = {
        path.stem.removeprefix("test_channel_")
        for path in Path(__file__).parent.glob("test_channel_*.py")
    }
    assert {name.replace("_", "-") for name in played} == set(DRIVERS)
