"""What the ledger of every store must do. Mixed into a store's test class beside ``StoreSuite``; it
needs the same fixtures ``store`` and ``reopen``, the store with a ``ledger``."""

from __future__ import annotations

from tests.conformance.store.ledger.claims import ClaimingPromises
from tests.conformance.store.ledger.durable import DurableLedgerPromises
from tests.conformance.store.ledger.inbox import InboxPromises
from tests.conformance.store.ledger.incoming import IncomingPromises
from tests.conformance.store.ledger.keeping import DocumentPromises, OccurrencePromises
from tests.conformance.store.ledger.settling import SettlingPromises
from tests.conformance.store.ledger.shared import SharingPromises


class LedgerSuite(
    IncomingPromises,
    InboxPromises,
    ClaimingPromises,
    SettlingPromises,
    SharingPromises,
    DocumentPromises,
    OccurrencePromises,
    DurableLedgerPromises,
):
    """All promises of ``gateway.engine.ledger.Ledger``."""
