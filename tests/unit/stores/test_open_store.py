"""One URL names one store, and a wrong one says how to write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.engine.errors import ConfigError
from gateway.stores import open_store
from gateway.stores.memory import MemoryStore
from gateway.stores.sqlite import SqliteStore


def test_memory() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///june.db", "june.db"),
        ("sqlite:///data/june.db", "data/june.db"),
        ("sqlite:////var/lib/june.db", "/var/lib/june.db"),
        ("sqlite:///with space%20.db", "with space%20.db"),
    ],
)
def test_sqlite_paths(url: str, path: str) -> None:
    store = open_store(url)
    assert isinstance(store, SqliteStore)
    assert store.path == Path(path)


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///", "sqlite://june.db", "sqlite:///:memory:"]
)
def test_sqlite_without_a_file(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(url)
    assert "sqlite:////absolute/path.db" in caught.value.fix


@pytest.mark.parametrize("url", ["", "june.db", "mysql://u:secret@h/db", "SQLITE:///june.db"])
def test_an_unknown_scheme_names_the_fix_and_no_secret(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_store(url)
    assert "sqlite:///" in caught.value.fix
    assert "postgresql://" in caught.value.fix
    assert "secret" not in str(caught.value)
