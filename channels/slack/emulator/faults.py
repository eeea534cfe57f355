"""What goes wrong on demand: at the n-th call of a method, or the n-th event of a type.

``Fault("drop_after", "chat.postMessage")`` posts the message and cuts the line instead of answering;
``Fault("event_twice", "event:app_mention")`` sends one event twice. Without an end
(``count=None``) a fault lasts until ``repair``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from gateway.emulating import Counted, Planned

CallFault = Literal[
    "rate_limited",
    "http_500",
    "http_503_html",
    "not_ok",
    "slow",
    "drop_before",
    "drop_after",
    "cut_body",
    "stream_expired",
    "user_stops",
]
EventFault = Literal["event_twice", "event_reordered", "event_late", "ack_lost"]
SocketFault = Literal["socket_disconnect", "socket_mute"]
Lasting = Literal["token_revoked", "missing_scope", "is_archived", "not_in_channel"]
Kind = CallFault | EventFault | SocketFault | Lasting

CALL_FAULTS: frozenset[str] = frozenset(get_args(CallFault))
EVENT_FAULTS: frozenset[str] = frozenset(get_args(EventFault))
SOCKET_FAULTS: frozenset[str] = frozenset(get_args(SocketFault))
LASTING: frozenset[str] = frozenset(get_args(Lasting))
KINDS = CALL_FAULTS | EVENT_FAULTS | SOCKET_FAULTS | LASTING


@dataclass(slots=True)
class Fault(Counted):
    """``on``: a method, ``event:<type>``, ``socket``, or ``*`` for whatever the kind fits."""

    kind: Kind
    on: str = "*"
    nth: int = 1
    count: int | None = 1
    seconds: float = 1.0
    """For how long: Retry-After, a slow answer, a late event."""
    error: str = "internal_error"
    """What ``not_ok`` answers with."""
    seen: int = 0
    struck: int = 0

    def __post_init__(self) -> None:
        self.check(self.kind, KINDS)
        if self.kind in LASTING:
            self.error = self.kind
            self.count = None

    def strikes(self, on: str) -> bool:
        """Whether it happens to this one. Asking counts, so ask once."""
        if self.on not in {"*", on} and not (self.on == "event:*" and on.startswith("event:")):
            return False
        return self.met()


class Faults(Planned[Fault]):
    def take(self, on: str, among: Collection[str]) -> Fault | None:
        """The fault of one of these kinds that happens here."""
        return self.first(lambda fault: fault.kind in among and fault.strikes(on))
