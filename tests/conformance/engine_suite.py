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
from tests.conformance.engine_suite_crashes import (
    TestCrashes,
    TestStoreOutage,
)
from tests.conformance.engine_suite_ending import (
    TestCancel,
    TestReplace,
    TestReset,
)
from tests.conformance.engine_suite_events import (
    TestEvents,
)
from tests.conformance.engine_suite_gate import (
    TestProvenance,
    TestTaintGate,
)
from tests.conformance.engine_suite_model import (
    TestDeadlines,
    TestModelRetries,
    TestReplies,
)
from tests.conformance.engine_suite_parks import (
    TestParks,
    TestSwallowedParks,
)
from tests.conformance.engine_suite_runtime import (
    TestEditions,
    TestOnTurnError,
    TestRuntime,
    TestSurfaces,
)
from tests.conformance.engine_suite_tools import (
    TestTools,
)

__all__ = [
    "TestAcceptance",
    "TestAnswers",
    "TestCancel",
    "TestCrashes",
    "TestDeadlines",
    "TestDefaultAnswerers",
    "TestEditions",
    "TestEndlessCalls",
    "TestEvents",
    "TestExpiry",
    "TestKeys",
    "TestModelRetries",
    "TestOnTurnError",
    "TestParks",
    "TestProvenance",
    "TestReplace",
    "TestReplies",
    "TestReset",
    "TestResults",
    "TestRuntime",
    "TestSideBySide",
    "TestStoreOutage",
    "TestSurfaces",
    "TestSwallowedParks",
    "TestTaintGate",
    "TestTools",
    "TestWhoMayAnswer",
]
