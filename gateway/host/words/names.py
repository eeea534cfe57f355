"""What people and places are called. Whoever shows somebody an id asks here, and shows both: the name to be
read, the id to be used.

Names are labels: people choose their own, and nothing is ever decided by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from channels.protocol import Channel
from gateway.engine.kinds import Json, JsonObject
from gateway.host.words.text import one_line

FIELDS = ("speaker", "session", "place", "by", "asked_by", "paused_by", "target", "ref")
"""What of a row may be an id that somebody knows by a name. It stands beside as ``<field>_name``."""
MOST = 5000
LONGEST = 80
VIA = " via "

Called = Callable[[str], str | None]


class Names:
    """Turns say who spoke, and a channel may know its people and places by now: by an optional method
    ``called(id) -> str | None``, which waits for nobody."""

    def __init__(self, channels: Mapping[str, Channel] | None = None) -> None:
        self._channels = channels or {}
        self._people: dict[str, str] = {}

    def of(self, word: str) -> str | None:
        """The name behind an identity, a place, a post or a session, if it is known."""
        who, via, token = word.partition(VIA)
        channel = self._channels.get(who.partition(":")[0])
        ask = cast("Called | None", getattr(channel, "called", None))
        name = (ask(who) if ask is not None else None) or self._people.get(who)
        return f"{one_line(name, LONGEST)}{via}{token}" if name else None

    def shown(self, word: str) -> str:
        """The name, or what there is."""
        return self.of(word) or word

    def beside(self, row: JsonObject, fields: Sequence[str] = FIELDS) -> JsonObject:
        """The row with names beside its ids; ``None`` where none is known. A row that brings the name
        of its speaker is where it is learned."""
        speaker, name = row.get("speaker"), row.get("speaker_name")
        if isinstance(speaker, str) and isinstance(name, str) and name:
            self._people.pop(speaker, None)
            self._people[speaker] = name
            if len(self._people) > MOST:
                del self._people[next(iter(self._people))]
        named = {f"{field}_name": self._name(row[field]) for field in fields if field in row}
        return {**row, **named}

    def throughout(self, row: JsonObject) -> JsonObject:
        """The same for all rows that are inside it, too."""
        return self.beside({name: self._inside(value) for name, value in row.items()})

    def _inside(self, value: Json) -> Json:
        match value:
            case dict():
                return self.throughout(value)
            case list():
                return [self._inside(one) for one in value]
            case _:
                return value

    def _name(self, found: Json) -> str | None:
        return self.of(address(found) if isinstance(found, dict) else str(found or ""))


def address(target: JsonObject) -> str:
    """A delivery's target as an id: ``slack:T1:C1:1700000000.000100``."""
    words = (target.get(name) for name in ("source", "installation", "channel", "thread_ts"))
    known = [word for word in words if isinstance(word, str) and word]
    if not target.get("channel"):
        known = [str(target.get("source") or ""), str(target.get("address") or "")]
    return ":".join(known)
