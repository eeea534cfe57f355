"""What stands around a sync tool, as scripts: several statements in one round trip.

An error stops a script where it stands, so what follows a check is only reached if it held.
"""

from __future__ import annotations

from gateway.engine.records import Fence
from gateway.engine.struct import struct
from gateway.stores.postgres.schema import Place, literal

IDLE = 2
"""This many limits without a statement and the server takes the locks back: a process that was
frozen inside a tool must not hold its session for ever."""


@struct(frozen=True, slots=True)
class Scripts:
    """The scripts of one store. ``settings`` prepares a new connection."""

    settings: bytes
    role: str
    into: str
    out: str

    @classmethod
    def of(cls, place: Place, limit: float, timeout: float) -> Scripts:
        own, tools = int(timeout * 1000), int(limit * 1000)
        settings = (
            "SET application_name = 'june-gateway tools'; SET search_path = pg_catalog, pg_temp;"
            f" SET statement_timeout = {own}; SET tcp_user_timeout = {own};"
            f" SET idle_in_transaction_session_timeout = {tools * IDLE};"
            " SET standard_conforming_strings = on; SET enable_seqscan = off;"
            " SET default_transaction_isolation = 'read committed'"
        )
        # What a tool leaves in pg_temp is dropped before the next call, and hides no table before.
        path = f"{place.search_path}, pg_temp" if place.search_path else "pg_temp"
        into = _set_locally(
            ("role", place.role),
            ("search_path", path),
            ("statement_timeout", tools),
            ("enable_seqscan", "on"),
        )
        settings += (
            "; PREPARE gw_fence (bigint, bigint) AS SELECT pg_current_xact_id()::text"
            " FROM gw.sessions WHERE id = $1 AND epoch = $2 FOR NO KEY UPDATE"
        )
        out = _set_locally(
            ("role", "none"),
            ("search_path", "pg_catalog, pg_temp"),
            ("statement_timeout", own),
            ("enable_seqscan", "off"),
        )
        return cls(settings.encode(), literal(place.role), into, out)

    def begin(self, fence: Fence) -> bytes:
        """Answers the transaction's number if the fence holds, else nothing."""
        return b"BEGIN; EXECUTE gw_fence (%d, %d)" % (fence.session, fence.epoch)

    def enter(self, fence: Fence, *, tidy: bool) -> bytes:
        """The same, and then the tools' role. ``tidy`` after a tool that left something in
        ``pg_temp``."""
        return b"%s%s; SELECT %s; SAVEPOINT gw_tool" % (
            b"DISCARD TEMP; " if tidy else b"",
            self.begin(fence),
            self.into.encode(),
        )

    def leave(self, transaction: str) -> bytes:
        """Fails unless transaction and role are the tool's still; then it ends the role. Only an
        error stops a script, and the tools' role can call none of the engine's functions, so the
        check divides by zero."""
        return (
            "SET CONSTRAINTS ALL IMMEDIATE; SELECT 1 / CASE WHEN current_user = "
            f"{self.role} AND pg_catalog.pg_current_xact_id_if_assigned()::text ="
            f" {literal(transaction)} THEN 1 ELSE 0 END, {self.out}"
        ).encode()

    def back(self, transaction: str) -> bytes:
        """The same after undoing all that the tool wrote."""
        return b"ROLLBACK TO SAVEPOINT gw_tool; " + self.leave(transaction)


def _set_locally(*settings: tuple[str, object]) -> str:
    return ", ".join(
        f"pg_catalog.set_config({literal(name)}, {literal(str(value))}, true)"
        for name, value in settings
    )
