"""JSON <-> records: what is stored, and what readers get."""

from __future__ import annotations

from gateway.engine.wire.records import (
    block_from,
    block_json,
    cost_text,
    edition_from,
    make_edition,
    message_body,
    message_from,
    message_json,
    message_row,
    speaker_from,
    speaker_json,
    totals_json,
    usage_from,
    usage_json,
)
from gateway.engine.wire.text import (
    WIRE_VERSION,
    UnknownWireVersion,
    canonical,
    clean,
    digest,
    dumps,
    dumps_known,
    loads,
    versioned,
)

__all__ = [
    "WIRE_VERSION",
    "UnknownWireVersion",
    "block_from",
    "block_json",
    "canonical",
    "clean",
    "cost_text",
    "digest",
    "dumps",
    "dumps_known",
    "edition_from",
    "loads",
    "make_edition",
    "message_body",
    "message_from",
    "message_json",
    "message_row",
    "speaker_from",
    "speaker_json",
    "totals_json",
    "usage_from",
    "usage_json",
    "versioned",
]
