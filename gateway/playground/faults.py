"""The menu of what may go wrong between Slack and the gateway, in the emulator's own words for it; and what
any such menu is."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from channels.slack.emulator import Fault, Impossible

F = TypeVar("F", bound="Mishap")


class Mishap(Protocol):
    """A fault of either emulator."""

    @property
    def kind(self) -> str: ...

    @property
    def on(self) -> str: ...

    @property
    def struck(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[F]):
    """``about`` says what will be seen of it: nothing, if the gateway does its work."""

    name: str
    about: str
    sample: F

    def fault(self) -> F:
        """A new one: it counts for itself."""
        return copy(self.sample)


E = TypeVar("E", bound=Entry[Any])


def chosen(menu: Sequence[E], number: str) -> E:
    """Raises ``Impossible`` where the menu has no such entry."""
    found = {str(at): entry for at, entry in enumerate(menu)}.get(number)
    if found is None:
        raise Impossible("the menu has no such entry")
    return found


def planned(menu: Sequence[Entry[F]], faults: Sequence[F]) -> list[dict[str, object]]:
    """What is to come, as the menu calls it."""
    names = {(entry.sample.kind, entry.sample.on): entry.name for entry in menu}
    return [
        {"name": names.get((fault.kind, fault.on), fault.kind), "struck": fault.struck > 0}
        for fault in faults
    ]


MENU: Sequence[Entry[Fault]] = (
    Entry(
        name="Send the next event twice",
        about="Slack delivers a message a second time. It is answered once.",
        sample=Fault("event_twice"),
    ),
    Entry(
        name="Lose our receipt for the next event",
        about="Slack doesn't hear that the event arrived, and sends it again.",
        sample=Fault("ack_lost"),
    ),
    Entry(
        name="Turn the next two events round",
        about="What was said second arrives first.",
        sample=Fault("event_reordered"),
    ),
    Entry(
        name="Lose the connection after the next post",
        about="The message stands there, and nobody told the gateway. It looks before it posts again.",
        sample=Fault("drop_after", "chat.postMessage"),
    ),
    Entry(
        name="Break off the next stream",
        about="Slack ends a message in the middle. It is made whole.",
        sample=Fault("stream_expired", "chat.appendStream"),
    ),
    Entry(
        name="Too many calls: wait 5 s (429)",
        about="Slack refuses the next call for five seconds.",
        sample=Fault("rate_limited", seconds=5.0),
    ),
    Entry(
        name="Answer slowly for five calls",
        about="Each of the next five calls takes two seconds.",
        sample=Fault("slow", count=5, seconds=2.0),
    ),
    Entry(
        name="Fail the next three calls (503)",
        about="Slack answers with an error page.",
        sample=Fault("http_503_html", count=3),
    ),
)
