"""The engine's whole suite. A test module imports all of it and brings its own ``bench``."""

from __future__ import annotations

from tests.conformance.engine_suite_acceptance import (
    TestAcceptance,
    TestResults,
)
from tests.conformance.engine_suite_answers import (
    TestAnswers,
    TestDefaultAnswerers,
    TestExpiry,
    TestWhoMayAnswer,
)
from tests.conformance.engine_suite_calls import (
    TestEndlessCalls,
    TestKeys,
    TestSideBySide,
)
from tests.conformance.engine_suite_ending import (
    TestCancel,
    TestReplace,
    TestReset,
)
from tests.conformance.engine_suite_parks import (
    TestParks,
    TestSwallowedParks,
)
from tests.conformance.engine_suite_tools import (
    TestTools,
)

__all__ = [
    "TestAcceptance",
    "TestAnswers",
    "TestCancel",
    "TestDefaultAnswerers",
    "TestEndlessCalls",
    "TestExpiry",
    "TestKeys",
    "TestParks",
    "TestReplace",
    "TestReset",
    "TestResults",
    "TestSideBySide",
    "TestSwallowedParks",
    "TestTools",
    "TestWhoMayAnswer",
]
