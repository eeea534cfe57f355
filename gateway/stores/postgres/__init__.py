"""The PostgreSQL store: several hosts on one database."""

from __future__ import annotations

from gateway.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
