"""What is known of the ways in and out: the rows, and the half of the store seam that keeps them.

Vocabulary only. ``gateway.intake`` and ``gateway.outbox`` give it meaning, stores keep it.
"""

from __future__ import annotations

from gateway.engine.ledger.port import Ledger
from gateway.engine.ledger.rows import (
    Asked,
    Binding,
    BindingKind,
    Claimed,
    Delivery,
    DeliveryState,
    Document,
    FileRow,
    InboxRow,
    Installation,
    InstallationState,
    Known,
    OccurrenceRow,
    Outcome,
    Pair,
    Part,
    PartKind,
    PartState,
    Receipt,
    Retention,
    SettledState,
    VerdictRow,
)

__all__ = [
    "Asked",
    "Binding",
    "BindingKind",
    "Claimed",
    "Delivery",
    "DeliveryState",
    "Document",
    "FileRow",
    "InboxRow",
    "Installation",
    "InstallationState",
    "Known",
    "Ledger",
    "OccurrenceRow",
    "Outcome",
    "Pair",
    "Part",
    "PartKind",
    "PartState",
    "Receipt",
    "Retention",
    "SettledState",
    "VerdictRow",
]
