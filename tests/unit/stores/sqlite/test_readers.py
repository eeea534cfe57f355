"""A row that a key leads to is read on the event loop, and what would have to wait isn't."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gateway.engine.errors import InvalidInputError, StoreUnavailableError
from gateway.stores.sqlite.readers import Readers

ROW = "SELECT body FROM notes WHERE id = ?"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Without a log written ahead, so that whoever writes locks readers out."""
    made = tmp_path / "notes.db"
    with closing(sqlite3.connect(made)) as db:
        db.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)")
        db.execute("INSERT INTO notes VALUES (1, 'one')")
        db.commit()
    return made


async def test_a_locked_file_is_waited_for_beside_the_event_loop(path: Path) -> None:
    readers = Readers(path)
    await readers.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(readers.one(ROW, 1))
            await asyncio.sleep(0.1)
            assert not asked.done()
            # The loop goes on, or this would come too late.
            other.execute("UPDATE notes SET body = 'two'")
            other.execute("COMMIT")
        assert asked.result() == ("two",)
    await readers.close()


async def test_what_cannot_be_read_is_told_as_the_seam_tells_it(path: Path) -> None:
    readers = Readers(path)
    with pytest.raises(StoreUnavailableError, match="closed"):
        await readers.few(ROW, 1)
    await readers.open()
    assert await readers.one(ROW, 2) is None
    with pytest.raises(InvalidInputError):
        await readers.one(ROW, "\ud800")
    with path.open("r+b") as file:
        file.write(b"not a database at all".ljust(100))
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.DatabaseError):
        other.execute("SELECT * FROM notes").fetchall()
    await readers.close()
    await readers.open()
    with pytest.raises(StoreUnavailableError, match="not a database"):
        await readers.few(ROW, 1)
    await readers.close()
    with pytest.raises(StoreUnavailableError, match="closed"):
        await readers.few(ROW, 1)
