"""Where sessions live: one URL picks the backend.

``memory://`` for tests and trying things out, ``sqlite:///june.db`` (relative) or
``sqlite:////var/lib/june.db`` (absolute) by default, ``postgresql://…`` where a server keeps the data.
"""

from __future__ import annotations

from gateway.engine.errors import ConfigError
from gateway.engine.ports import SessionStore

FORMS = "memory://, sqlite:///relative/path.db, sqlite:////absolute/path.db or postgresql://host/db"


def open_store(url: str) -> SessionStore:
    """The store a URL names, not opened yet. Backends are imported when they are asked for."""
    scheme, separator, rest = url.partition("://")
    if separator and scheme == "memory":
        from gateway.stores.memory import MemoryStore

        return MemoryStore()
    if separator and scheme == "sqlite":
        return _sqlite(url, rest)
    if separator and scheme in {"postgresql", "postgres"}:
        from gateway.stores.postgres import PostgresStore

        return PostgresStore(url)
    # The URL may carry a password, so only its scheme is repeated.
    raise ConfigError(
        f"no store speaks {scheme if separator else 'such a URL'!r}",
        fix=f"set DATABASE_URL to {FORMS}",
    )


def _sqlite(url: str, rest: str) -> SessionStore:
    from gateway.stores.sqlite import SqliteStore

    path = rest.removeprefix("/")
    if not rest.startswith("/") or not path or path == ":memory:":
        raise ConfigError(
            f"{url!r} names no database file",
            fix="write sqlite:///relative/path.db or sqlite:////absolute/path.db,"
            " or memory:// to keep nothing",
        )
    return SqliteStore(path)
