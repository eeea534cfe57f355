"""The menu of what may go wrong between the mail server and the gateway."""

from __future__ import annotations

from channels.email.emulator.faults import Fault, Kind
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Entry:
    """``about`` says what will be seen of it."""

    name: str
    about: str
    kind: Kind
    on: str
    seconds: float = 1.0
    count: int = 1

    @property
    def embedded(self) -> bool:
        """Whether it takes the embedded server as the one that is read from."""
        return self.on.startswith("imap:")

    def fault(self) -> Fault:
        return Fault(self.kind, self.on, count=self.count, seconds=self.seconds)


MENU: tuple[Entry, ...] = (
    Entry(
        name="Cut the line after the next letter",
        about="The server has the letter and can't say so. In half a minute the same goes once more, shown once.",
        kind="cut_after",
        on="smtp:END",
    ),
    Entry(
        name="Cut the line before the next letter is in",
        about="Nothing arrived. It is sent again.",
        kind="cut_before",
        on="smtp:DATA",
    ),
    Entry(
        name="Come again later (451)",
        about="The server takes no letter now. It is tried again.",
        kind="tempfail",
        on="smtp:RCPT",
    ),
    Entry(
        name="Refuse the next letter (550)",
        about="It can't be delivered, and the console says so: it may be sent from there once more.",
        kind="refuse",
        on="smtp:END",
    ),
    Entry(
        name="Take letters slowly, three times",
        about="Each of the next three letters takes three seconds.",
        kind="slow",
        on="smtp:END",
        seconds=3.0,
        count=3,
    ),
    Entry(
        name="Cut the line while mail is read",
        about="The gateway connects again, and reads what it hadn't read.",
        kind="cut_before",
        on="imap:FETCH",
    ),
)


def called(fault: Fault) -> str:
    """What the menu calls a fault that was planned."""
    found = (one.name for one in MENU if (one.kind, one.on) == (fault.kind, fault.on))
    return next(found, fault.kind)
