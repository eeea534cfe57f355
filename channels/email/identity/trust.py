"""Whom a mailbox believes, as its operator set it."""

from __future__ import annotations

from gateway.engine.struct import struct

__all__ = ["Reason", "Trust"]

Reason = tuple[str, str]
"""One stable word, and a sentence for an operator."""


@struct(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whom to believe.

    - ``authserv_id``: the name that our border writes its results under; ``None`` for one that writes
      none (Microsoft 365).
    - ``border_host``: the host in ``by`` of the ``Received`` that the border writes. Both may begin with
      a dot and stand for all hosts below it then.
    - ``gmail_profile``: the border writes its results below its ``Received``.
    - ``direct``: mail comes from that host by no other, so that its ``Received`` is the first.
    - ``own``: our addresses. ``vouching``: domains that answer for each of their people.
    - ``sealers``: forwarders whose word on an older check is believed (ARC).
    - ``relaxed``: a signature of another domain of the same owner counts, too.
    """

    authserv_id: str | None = None
    border_host: str | None = None
    own: frozenset[str] = frozenset()
    vouching: frozenset[str] = frozenset()
    gmail_profile: bool = False
    direct: bool = False
    sealers: frozenset[str] = frozenset()
    relaxed: bool = False
