"""What installations and tokens stand on: the part of a channel's context that they need."""

from __future__ import annotations

from typing import Protocol

from channels.protocol import Sealer
from gateway.engine.ledger import Ledger
from gateway.engine.limits import Clock, Waits

__all__ = ["Ground"]


class Ground(Protocol):
    """Any ``ChannelContext`` will do."""

    @property
    def clock(self) -> Clock: ...

    @property
    def waits(self) -> Waits: ...

    @property
    def ledger(self) -> Ledger: ...

    @property
    def sealer(self) -> Sealer | None: ...

    @property
    def public_url(self) -> str | None: ...
