"""The store of one host: one SQLite file, one writer, many readers."""

from __future__ import annotations

from gateway.stores.sqlite.store import SqliteStore, StoreSize

__all__ = ["SqliteStore", "StoreSize"]
