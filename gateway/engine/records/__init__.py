"""The rows that cross the store seam. Stores keep them; only the engine gives them meaning.

Every write the engine makes is one ``Writes``: the store applies it whole, in one transaction, or
not at all. Bodies are JSON text, serialised once by ``gateway.engine.wire``.
"""

from __future__ import annotations

from gateway.engine.records.companions import (
    COMPANIONS,
    Audit,
    Claim,
    Companion,
    Delivery,
    Reservation,
    UsageRow,
    Verdict,
)
from gateway.engine.records.rows import (
    NEW_TURN,
    PARKED,
    EditionRow,
    EventRow,
    Fence,
    MessageRow,
    RequestRecord,
    SessionRow,
    StepRow,
    TurnHead,
    TurnRecord,
    VoteRow,
)
from gateway.engine.records.views import (
    Ask,
    AuditEntry,
    LoggedEvent,
    OpenSession,
    RequestSummary,
    SessionSummary,
    SessionView,
    TurnSummary,
)
from gateway.engine.records.writes import (
    NO_WRITES,
    CancelMark,
    LocalCall,
    Plan,
    Rows,
    SessionPatch,
    SqlHandle,
    Writes,
)

__all__ = [
    "COMPANIONS",
    "NEW_TURN",
    "NO_WRITES",
    "PARKED",
    "Ask",
    "Audit",
    "AuditEntry",
    "CancelMark",
    "Claim",
    "Companion",
    "Delivery",
    "EditionRow",
    "EventRow",
    "Fence",
    "LocalCall",
    "LoggedEvent",
    "MessageRow",
    "OpenSession",
    "Plan",
    "RequestRecord",
    "RequestSummary",
    "Reservation",
    "Rows",
    "SessionPatch",
    "SessionRow",
    "SessionSummary",
    "SessionView",
    "SqlHandle",
    "StepRow",
    "TurnHead",
    "TurnRecord",
    "TurnSummary",
    "UsageRow",
    "Verdict",
    "VoteRow",
    "Writes",
]
