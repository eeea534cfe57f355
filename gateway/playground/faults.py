"""The menu of what may go wrong between Slack and the gateway, in the emulator's own words for it."""

from __future__ import annotations

from channels.slack.emulator import Fault
from channels.slack.emulator.faults import Kind
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Entry:
    """``about`` says what will be seen of it: nothing, if the gateway does its work."""

    name: str
    about: str
    kind: Kind
    on: str = "*"
    seconds: float = 1.0
    count: int = 1

    def fault(self) -> Fault:
        return Fault(self.kind, self.on, count=self.count, seconds=self.seconds)


MENU: tuple[Entry, ...] = (
    Entry(
        name="Send the next event twice",
        about="Slack delivers a message a second time. It is answered once.",
        kind="event_twice",
    ),
    Entry(
        name="Lose our receipt for the next event",
        about="Slack doesn't hear that the event arrived, and sends it again.",
        kind="ack_lost",
    ),
    Entry(
        name="Turn the next two events round",
        about="What was said second arrives first.",
        kind="event_reordered",
    ),
    Entry(
        name="Lose the connection after the next post",
        about="The message stands there, and nobody told the gateway. It looks before it posts again.",
        kind="drop_after",
        on="chat.postMessage",
    ),
    Entry(
        name="Break off the next stream",
        about="Slack ends a message in the middle. It is made whole.",
        kind="stream_expired",
        on="chat.appendStream",
    ),
    Entry(
        name="Too many calls: wait 5 s (429)",
        about="Slack refuses the next call for five seconds.",
        kind="rate_limited",
        seconds=5.0,
    ),
    Entry(
        name="Answer slowly for five calls",
        about="Each of the next five calls takes two seconds.",
        kind="slow",
        seconds=2.0,
        count=5,
    ),
    Entry(
        name="Fail the next three calls (503)",
        about="Slack answers with an error page.",
        kind="http_503_html",
        count=3,
    ),
)


def called(fault: Fault) -> str:
    """What the menu calls a fault that was planned."""
    found = (one.name for one in MENU if (one.kind, one.on) == (fault.kind, fault.on))
    return next(found, fault.kind)
