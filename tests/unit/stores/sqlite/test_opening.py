"""Opening a file: the lock, the pragmas, what isn't a database, migration after a copy."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from gateway.engine.errors import ConfigError, SchemaTooNewError
from gateway.stores.sql import Migration, load_migrations
from gateway.stores.sqlite import SqliteStore
from gateway.stores.sqlite.lockfile import LockFile
from gateway.stores.sqlite.schema import connect, migrate, schema_version, statements
from tests.conformance.store_kit import PATIENCE, REF, accept, begin, model_step
from tests.support.forks import forked

OLD = (Migration(1, "0001_a.sql", "CREATE TABLE gw_schema (version, at); CREATE TABLE gw_a (x);"),)
NEW = (
    *OLD,
    Migration(
        2,
        "0002_b.sql",
        "ALTER TABLE gw_a ADD COLUMN y DEFAULT 'a;b';\nCREATE TRIGGER gw_t AFTER INSERT ON gw_a\n"
        "BEGIN UPDATE gw_a SET y = 1; UPDATE gw_a SET y = 2; END;",
    ),
)
BROKEN = (*NEW, Migration(3, "0003_c.sql", "CREATE TABLE gw_c (x); CREATE TABLE gw_a (x);"))


async def test_one_process_holds_the_file(store: SqliteStore, tmp_path: Path) -> None:
    second = SqliteStore(tmp_path / "june.db")
    with pytest.raises(ConfigError, match=str(os.getpid())) as caught:
        await second.open()
    assert "stop that process" in caught.value.fix
    await accept(store)


async def test_another_name_for_the_file_is_the_same_lock(
    store: SqliteStore, tmp_path: Path
) -> None:
    del store
    alias = tmp_path / "alias.db"
    alias.symlink_to(tmp_path / "june.db")
    with pytest.raises(ConfigError):
        await SqliteStore(alias).open()


async def test_the_lock_ends_with_the_store(store: SqliteStore, tmp_path: Path) -> None:
    await store.close()
    assert {path.name for path in tmp_path.iterdir()} == {"june.db", "june.db.lock"}
    await store.close()
    again = SqliteStore(tmp_path / "june.db")
    await again.open()
    await again.open()
    await again.close()
    await store.open()
    await accept(store)


async def test_a_failed_open_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "june.db"
    path.write_text("This is not a database, and long enough to be sure of it. " * 20)
    for _ in range(2):
        with pytest.raises(ConfigError, match="not an SQLite database") as caught:
            await SqliteStore(path).open()
        assert caught.value.fix
    assert path.read_text().startswith("This is not")
    path.unlink()
    store = SqliteStore(path)
    await store.open()
    await store.close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"file/june\.db"):
        await SqliteStore(tmp_path / "file" / "june.db").open()
    with pytest.raises(ConfigError):
        await SqliteStore(tmp_path).open()


async def test_an_open_that_is_cancelled_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "june.db"
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        opening = tasks.create_task(SqliteStore(path).open())
        await asyncio.sleep(0)
        opening.cancel()
        store = SqliteStore(path)
        while True:
            try:
                await store.open()
                break
            except ConfigError:
                await asyncio.sleep(0.01)
        await accept(store)
        await store.close()


async def test_conversations_are_for_their_owner_only(store: SqliteStore, tmp_path: Path) -> None:
    await accept(store)
    for name in ("june.db", "june.db-wal"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


async def test_folders_are_made(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a" / "b" / "june.db")
    await store.open()
    await store.close()
    assert (tmp_path / "a" / "b" / "june.db").exists()


async def test_pragmas(connection: sqlite3.Connection) -> None:
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}
    for pragma, value in wanted.items():
        assert connection.execute(f"PRAGMA {pragma}").fetchone() == (value,)


async def test_the_authors_tables_may_be_in_the_file_already(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "june.db")) as connection, connection:
        connection.execute("CREATE TABLE orders (item TEXT)")
        connection.execute("INSERT INTO orders VALUES ('kept')")
    store = SqliteStore(tmp_path / "june.db")
    await store.open()
    await accept(store)
    await store.close()
    with closing(sqlite3.connect(tmp_path / "june.db")) as connection:
        assert connection.execute("SELECT item FROM orders").fetchall() == [("kept",)]
    assert list(tmp_path.glob("*.bak")) == []


async def test_the_size_is_told(store: SqliteStore) -> None:
    turn, fence = await begin(store)
    before = await store.size()
    await store.commit(fence, model_step(turn, 0, 1, "x" * 100_000))
    after = await store.size()
    assert after.database + after.log > before.database + before.log + 100_000


def test_a_new_file_gets_every_migration(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with closing(connect(path)) as connection:
        assert schema_version(connection) == 0
        assert migrate(connection, path, NEW) is None
        assert schema_version(connection) == 2
        assert migrate(connection, path, NEW) is None


def test_an_older_schema_is_migrated_after_a_copy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "m.db"
    with closing(connect(path)) as connection:
        migrate(connection, path, OLD)
        connection.execute("INSERT INTO gw_a VALUES ('kept')")
        with caplog.at_level("INFO", "gateway.stores"):
            copy = migrate(connection, path, NEW)
        assert connection.execute("SELECT x, y FROM gw_a").fetchall() == [("kept", "a;b")]
        assert schema_version(connection) == 2
    assert copy is not None
    assert str(copy) in caplog.text
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as old:
        assert old.execute("SELECT * FROM gw_a").fetchall() == [("kept",)]
        assert schema_version(old) == 1


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with closing(connect(path)) as connection:
        migrate(connection, path, NEW)
        with pytest.raises(sqlite3.OperationalError, match="gw_a"):
            migrate(connection, path, BROKEN)
        assert schema_version(connection) == 2
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert {name for (name,) in tables} == {"gw_schema", "gw_a"}


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with closing(connect(path)) as connection:
        migrate(connection, path, NEW)
        with pytest.raises(SchemaTooNewError, match=r"version 2.*up to 1") as caught:
            migrate(connection, path, OLD)
        assert "release" in caught.value.fix


def test_scripts_fall_apart_at_their_statements() -> None:
    for migration in load_migrations("sqlite"):
        parts = list(statements(migration.script))
        assert len(parts) == len(
            re.findall(r"^(?:ALTER|CREATE|DROP) ", migration.script, re.MULTILINE)
        )
    assert len(list(statements(NEW[1].script))) == 2


async def test_an_owner_of_an_earlier_process_is_dead(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "june.db")
    await store.open()
    await begin(store)
    await store.beat("host-a")
    row = await store.session(REF)
    assert row is not None
    assert row.owner_alive
    await store.close()
    await store.open()
    row = await store.session(REF)
    assert row is not None
    assert not row.owner_alive
    await store.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_a_tool_forked_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    lock = LockFile(path)
    with forked():
        with pytest.raises(ConfigError, match="is in use by process"):
            LockFile(path)
        lock.release()
        LockFile(path).release()
