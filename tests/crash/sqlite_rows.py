"""Reads a database left behind by a crash, and checks that every step in it is whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def whole_steps(path: Path) -> dict[int, int]:
    """Steps per session, each with its message, its events, its usage and, where a sync tool made
    it, its order; without gaps. Sessions are counted from 0; an empty file has none."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        found: dict[int, int] = {}
        if not _count(connection, "sqlite_master WHERE name = ?", "gw_turns"):
            return found
        for session, turn in connection.execute("SELECT session, id FROM gw_turns").fetchall():
            count = _count(connection, "gw_messages WHERE session = ?", session)
            assert _count(connection, "gw_steps WHERE turn = ?", turn) == count
            assert _count(connection, "gw_usage WHERE turn = ?", turn) == count
            assert _count(connection, "gw_events WHERE turn = ?", turn) == 3 * count
            last = "SELECT coalesce(max({0}), -1) FROM {1} WHERE {2} = ?"
            top = connection.execute(last.format("idx", "gw_messages", "session"), (session,))
            assert top.fetchone() == (count - 1,)
            if _count(connection, "sqlite_master WHERE name = ?", "orders"):
                orders = _count(connection, "orders WHERE session = ?", session - 1)
                assert orders == count // 2
            found[session - 1] = count
        return found


def _count(connection: sqlite3.Connection, what: str, value: object) -> int:
    (count,) = connection.execute(f"SELECT count(*) FROM {what}", (value,)).fetchone()
    return int(count)
