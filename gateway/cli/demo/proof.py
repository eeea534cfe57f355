"""What the demo looks at to believe it: the books, the log, the transcript, the tables. Reads only."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from gateway.cli.timeline import TERMINAL
from gateway.cli.told import objects_of, text_of, whole
from gateway.engine.kinds import JsonObject


@dataclass(frozen=True, slots=True)
class Proven:
    """One claim, and whether it held. ``seen`` is what was found instead."""

    claim: str
    held: bool
    seen: str = ""


def gapless(events: Sequence[JsonObject]) -> Proven:
    numbers = [whole(event.get("seq")) for event in events]
    ends = [index for index, event in enumerate(events) if event.get("type") in TERMINAL]
    last = len(events) - 1
    return Proven(
        f"event log: seq 1 to {len(events)} without a gap, one terminal event, and it is the last",
        bool(events) and numbers == list(range(1, len(events) + 1)) and ends == [last],
        f"seq {numbers}, terminal at {ends}",
    )


def paired(messages: Sequence[JsonObject]) -> Proven:
    """Each call stands in the transcript once, with one result."""
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for message in messages:
        for block in objects_of(message.get("content")):
            if block.get("type") == "tool_call":
                calls[text_of(block.get("id"))] += 1
            elif block.get("type") == "tool_result":
                results[text_of(block.get("call_id"))] += 1
    return Proven(
        f"transcript: {calls.total()} calls, each there once with one result",
        bool(calls) and calls == results and set(calls.values()) == {1},
        f"calls {dict(calls)}, results {dict(results)}",
    )


# -- tables ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Refund:
    key: str
    order_id: str
    amount: str
    asked: int


def refunds(state: Path) -> list[Refund]:
    """The payments provider's own books."""
    rows = _read(state / "payments-stub.db", "refunds", "key, order_id, amount, asked")
    return [Refund(str(r[0]), str(r[1]), str(r[2]), whole(r[3])) for r in rows]


def notes(state: Path) -> list[str]:
    """Every note in the orders' table, oldest first."""
    rows = _read(state / "gateway.db", "shop_notes", "note")
    return [str(row[0]) for row in rows]


def _read(path: Path, table: str, columns: str) -> list[tuple[str | int, ...]]:
    """Rows in the order they were written; none while there is no such file or table."""
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as db:
        found = db.execute("select 1 from sqlite_master where name = ?", (table,)).fetchone()
        if found is None:
            return []
        return db.execute(f"select {columns} from {table} order by rowid").fetchall()
