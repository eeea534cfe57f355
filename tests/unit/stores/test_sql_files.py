"""Statements by name, migrations by number, and companion rows that fit their tables."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import fields

import pytest

from gateway.engine.records import COMPANIONS, Companion
from gateway.stores.sql import load_migrations, load_queries

FRAGMENT = re.compile(r"^(INSERT|SELECT|UPDATE|DELETE|WITH)\b")


def test_references_are_filled_in() -> None:
    queries = load_queries("sqlite")
    assert "{" not in "".join(queries.values())
    assert "julianday" in queries["beat"]
    assert not any(line.startswith("--") for line in "\n".join(queries.values()).splitlines())


def test_migrations_are_numbered_without_gaps() -> None:
    migrations = load_migrations("sqlite")
    assert [migration.version for migration in migrations] == list(range(1, len(migrations) + 1))


def test_every_sqlite_statement_compiles() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in load_migrations("sqlite"):
            connection.executescript(migration.script)
        for statement in load_queries("sqlite").values():
            if FRAGMENT.match(statement):
                numbered = [int(n) for n in re.findall(r"\?(\d+)", statement)]
                count = max(numbered, default=statement.count("?"))
                connection.execute(f"EXPLAIN {statement}", (None,) * count).fetchall()


def test_every_engine_table_carries_the_prefix() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in load_migrations("sqlite"):
            connection.executescript(migration.script)
        names = connection.execute("SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
        assert all(name.startswith("gw_") for (name,) in names)


@pytest.mark.parametrize("kind", COMPANIONS, ids=lambda kind: kind.TABLE)
def test_a_companion_statement_takes_the_fields_in_order(kind: type[Companion]) -> None:
    statement = load_queries("sqlite")[f"insert_{kind.TABLE}"]
    found = re.match(r"INSERT INTO (\w+) \(([^)]*)\)", statement)
    assert found is not None
    assert found[1] == f"gw_{kind.TABLE}"
    columns = [column.strip() for column in found[2].split(",")]
    assert columns == [item.name for item in fields(kind)]  # type: ignore[arg-type]
