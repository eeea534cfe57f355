"""A database that the release before this one wrote: it opens, whole, with the schema of a new one."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.stores.sql import load_migrations
from gateway.stores.sqlite import SqliteStore
from gateway.stores.sqlite.rows import SQL
from gateway.stores.sqlite.schema import connect, fingerprint, migrate
from tests.conformance.store.ledger.kit import opened, take, view_of
from tests.conformance.store_kit import REF, accept, claim

WRITTEN = """
INSERT INTO gw_sessions (id, agent, key, next_number, created_at, active_at)
  VALUES (1, 'june', 'slack:T1:C1:1700000000.000100', 2, 5, 5);
INSERT INTO gw_turns (id, session, turn_id, number, generation, body, content_hash, source, queued_at,
    state, ran, attempts, crashes, suspect, alone)
  VALUES (1, 1, 't1', 1, 0, '{"v":1}', 'h', 'api', 5, 'completed', 0, 1, 0, 0, 0);
INSERT INTO gw_messages (session, generation, idx, turn, role, body)
  VALUES (1, 0, 0, 1, 'user', '{"text":"hello"}');
INSERT INTO gw_claims (key, turn, at, expires_at) VALUES ('k1', 1, 5, 9000000000000);
"""


ROWS = {"claimable": "SCAN d", "next_due": "SCAN d"}
"""How the plan names the table where the statement gives it a short name."""


async def written_by_the_first_release(path: Path) -> None:
    await asyncio.to_thread(_write, path)


def _write(path: Path) -> None:
    with closing(connect(path)) as connection:
        migrate(connection, path, load_migrations("sqlite")[:1])
        connection.executescript(WRITTEN)


def _schema(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return fingerprint(connection)


async def test_the_data_of_the_first_release_opens(tmp_path: Path) -> None:
    await written_by_the_first_release(tmp_path / "june.db")
    store = SqliteStore(tmp_path / "june.db")
    await store.open()
    turn = await store.turn(REF, "t1")
    assert turn is not None
    assert turn.state == "completed"
    assert [row.body for row in await store.messages(REF, 0)] == ['{"text":"hello"}']
    later = await accept(store, turn_id="t2", companions=(claim("k2"), opened()))
    assert (await view_of(store.ledger, "t2")).turn == later.row
    assert len(await take(store.ledger)) == 1
    await store.close()
    assert list(tmp_path.glob("june.db.v1-*.bak"))


async def test_an_old_database_gets_the_schema_of_a_new_one(tmp_path: Path) -> None:
    await written_by_the_first_release(tmp_path / "old.db")
    found = []
    for name in ("old.db", "new.db"):
        store = SqliteStore(tmp_path / name)
        await store.open()
        await store.close()
        found.append(await asyncio.to_thread(_schema, tmp_path / name))
    assert found[0] == found[1]


def test_work_is_found_by_an_index(tmp_path: Path) -> None:
    """What every poll asks must not walk over all that was ever delivered."""
    asked = (
        *("claimable", "next_due", "wake_reminded", "inbox_due", "delivery_mark", "shown_at"),
        *("dead_deliveries", "old_deliveries", "verdicts_at_place", "known", "void_deliveries"),
        *("void_inbox", "forget_claims", "forget_inbox", "forget_places", "forget_verdicts"),
        *("forget_files", "deliveries_by_id"),
    )
    with closing(connect(tmp_path / "june.db")) as connection:
        migrate(connection, tmp_path / "june.db", load_migrations("sqlite"))
        for name in asked:
            numbered = [int(n) for n in re.findall(r"\?(\d+)", SQL[name])]
            given = (None,) * max(numbered, default=SQL[name].count("?"))
            plan = connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", given).fetchall()
            walks = [
                step for *_, step in plan if step.startswith(("SCAN gw_", ROWS.get(name, "-")))
            ]
            assert [step for step in walks if "INDEX" not in step] == [], name
