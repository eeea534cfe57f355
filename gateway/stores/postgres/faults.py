"""What the drivers raise → what the engine understands, and the URL as it may be shown."""

from __future__ import annotations

from urllib.parse import urlsplit

import psycopg

from gateway.engine.errors import (
    ConfigError,
    DuplicateClaimError,
    GatewayError,
    InvalidInputError,
    StoreUnavailableError,
    WriteConflictError,
)
from gateway.stores.postgres.text import restored

RERUN = frozenset({"40001", "40P01"})
"""Serialization failure, deadlock: nothing is wrong but the moment."""

# First two characters of SQLSTATE, or all five: https://www.postgresql.org/docs/current/errcodes-appendix.html
_UNAVAILABLE = frozenset({"08", "53", "57", "58", "25006", "25P03", "55P03", "40001", "40P01"})
_CONFIG = frozenset({"28", "3D", "42501"})

FORM = "postgresql://user:password@host:5432/database"


class RerunError(Exception):
    """The transaction lost a race that it may win the next time."""


def translated(exc: BaseException) -> BaseException:
    """The engine's error for a driver's, or the error itself when it is a fault of ours."""
    state = sqlstate(exc)
    if state in RERUN:
        return RerunError(str(exc))
    if state is None:
        return StoreUnavailableError(
            f"PostgreSQL does not answer: {_reason(exc)}",
            fix="check that the server runs and that DATABASE_URL names its host and port",
        )
    return _by_state(state, exc) or exc


def sqlstate(exc: BaseException) -> str | None:
    """``None`` when the server said nothing: the connection is lost, or was never made."""
    found: object = getattr(exc, "sqlstate", None)
    return found if isinstance(found, str) else None


def _by_state(state: str, exc: BaseException) -> GatewayError | None:
    if state == "GW001":
        return DuplicateClaimError(restored(_detail(exc)))
    if state == "GW002" or state.startswith("23"):
        return WriteConflictError(str(exc).partition("\n")[0])
    if state in _UNAVAILABLE or state[:2] in _UNAVAILABLE:
        return StoreUnavailableError(
            f"PostgreSQL can't do this now: {exc}", fix="see the server's log"
        )
    if state in _CONFIG or state[:2] in _CONFIG:
        return ConfigError(
            f"PostgreSQL refuses DATABASE_URL: {exc}",
            fix=f"check user, password, database and rights ({FORM})",
        )
    if state == "54000":
        return InvalidInputError("a key is too long to be indexed", fix="use a shorter key")
    if state[:2] == "22":
        # The driver's own message repeats the value, which may be what a person wrote.
        return InvalidInputError("a value can't be stored as text or number of the database")
    return None


def _detail(exc: BaseException) -> str:
    if isinstance(exc, psycopg.Error):
        return exc.diag.message_detail or ""
    return str(getattr(exc, "detail", "") or "")


def _reason(exc: BaseException) -> str:
    if isinstance(exc, TimeoutError):
        return "no answer in time"
    if isinstance(exc, OSError):
        return exc.strerror or type(exc).__name__
    return str(exc).partition("\n")[0] or type(exc).__name__


def checked_url(url: str) -> str:
    """The URL, or an error that shows no part of it that could be a password."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"postgresql", "postgres"} and (parts.port or 1) > 0
    except ValueError:
        known = False
        parts = urlsplit("")
    # A password with a bare / or @ in it ends up in host or path, and then in every message.
    if not known or "@" in parts.path or parts.netloc.count("@") > 1:
        raise ConfigError(
            "DATABASE_URL is not a PostgreSQL URL",
            fix=f"write {FORM}; characters like / and @ in the password as %2F and %40",
        ) from None
    return url


def address(url: str) -> str:
    """Where the server is, fit for a log line."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
