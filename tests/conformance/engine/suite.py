"""The engine's whole suite. A test module imports all of it and brings its own ``bench``."""

from __future__ import annotations

from tests.conformance.engine.acceptance import (
    TestAcceptance,
    TestResults,
)
from tests.conformance.engine.billing import (
    TestBilling,
    TestBillsThatCantBeKept,
)
from tests.conformance.engine.crashes import (
    TestCrashes,
    TestStoreOutage,
)
from tests.conformance.engine.ending import (
    TestCancel,
    TestReplace,
)
from tests.conformance.engine.events import (
    TestEvents,
)
from tests.conformance.engine.leaving import (
    TestLeaving,
)
from tests.conformance.engine.model import (
    TestDeadlines,
    TestModelRetries,
    TestReplies,
)
from tests.conformance.engine.people.answers import (
    TestAnswers,
    TestWhoMayAnswer,
)
from tests.conformance.engine.people.expiry import (
    TestDefaultAnswerers,
    TestExpiry,
)
from tests.conformance.engine.people.parks import (
    TestParks,
)
from tests.conformance.engine.people.swallowed import (
    TestSwallowedParks,
)
from tests.conformance.engine.reset import (
    TestReset,
)
from tests.conformance.engine.runtime import (
    TestEditions,
    TestOnTurnError,
    TestRuntime,
    TestSurfaces,
)
from tests.conformance.engine.tools.calls import (
    TestEndlessCalls,
    TestKeys,
    TestSideBySide,
)
from tests.conformance.engine.tools.errors import (
    TestToolErrors,
)
from tests.conformance.engine.tools.gate import (
    TestProvenance,
    TestTaintGate,
)
from tests.conformance.engine.tools.guarantees import (
    TestTools,
)
from tests.conformance.engine.tools.replacing import (
    TestReplacing,
)
from tests.conformance.engine.ways.decisions import (
    TestDecisions,
    TestWhereARequestIsShown,
)
from tests.conformance.engine.ways.endings import (
    TestEndings,
    TestEndingsByOthers,
)
from tests.conformance.engine.ways.foreign import (
    TestAdapters,
    TestForeignCode,
)
from tests.conformance.engine.ways.preparing import (
    TestPreparing,
)

__all__ = [
    "TestAcceptance",
    "TestAdapters",
    "TestAnswers",
    "TestBilling",
    "TestBillsThatCantBeKept",
    "TestCancel",
    "TestCrashes",
    "TestDeadlines",
    "TestDecisions",
    "TestDefaultAnswerers",
    "TestEditions",
    "TestEndings",
    "TestEndingsByOthers",
    "TestEndlessCalls",
    "TestEvents",
    "TestExpiry",
    "TestForeignCode",
    "TestKeys",
    "TestLeaving",
    "TestModelRetries",
    "TestOnTurnError",
    "TestParks",
    "TestPreparing",
    "TestProvenance",
    "TestReplace",
    "TestReplacing",
    "TestReplies",
    "TestReset",
    "TestResults",
    "TestRuntime",
    "TestSideBySide",
    "TestStoreOutage",
    "TestSurfaces",
    "TestSwallowedParks",
    "TestTaintGate",
    "TestToolErrors",
    "TestTools",
    "TestWhereARequestIsShown",
    "TestWhoMayAnswer",
]
