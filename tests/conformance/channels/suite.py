"""All rules. A test module imports them and brings its own ``driver``."""

from __future__ import annotations

from tests.conformance.channels.rules.changing import TestEdits, TestStop
from tests.conformance.channels.rules.conversation import TestConversation, TestReset
from tests.conformance.channels.rules.deciding import TestDecidedOnce, TestWhoDecides
from tests.conformance.channels.rules.endings import TestAfterwards, TestEndings
from tests.conformance.channels.rules.kept import TestKept
from tests.conformance.channels.rules.once import TestOnce
from tests.conformance.channels.rules.outcomes import TestElsewhere, TestOutcomes
from tests.conformance.channels.rules.replacing import (
    TestReplaceKeeps,
    TestReplaceNothing,
    TestReplaceOwn,
    TestReplaceThread,
)
from tests.conformance.channels.rules.text import TestLongText, TestPings
from tests.conformance.channels.rules.verdicts import TestBots, TestVerdicts
from tests.conformance.channels.rules.waiting_line import TestBehindARequest

__all__ = [
    "TestAfterwards",
    "TestBehindARequest",
    "TestBots",
    "TestConversation",
    "TestDecidedOnce",
    "TestEdits",
    "TestElsewhere",
    "TestEndings",
    "TestKept",
    "TestLongText",
    "TestOnce",
    "TestOutcomes",
    "TestPings",
    "TestReplaceKeeps",
    "TestReplaceNothing",
    "TestReplaceOwn",
    "TestReplaceThread",
    "TestReset",
    "TestStop",
    "TestVerdicts",
    "TestWhoDecides",
]
