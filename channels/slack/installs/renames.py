"""Channels that got another id, by installation, as the ledger keeps them.

Source: "channel_id_changed event" in Slack's docs (docs.slack.dev): sharing a private channel with another
organisation changes its id for good, and nothing can be done under the old one. What was written keeps the name
under which it is known here; calls go to the id of today.
"""

from __future__ import annotations

from typing import Final, cast

from channels.slack.calls import NO_CHANNEL, NotNow, Outcome, Refused, reopens
from channels.slack.installs.ground import Ground
from channels.slack.parsing.envelope import text
from channels.slack.parsing.identity import Renamed
from channels.slack.writing.acts import TODAY
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.ledger import Delivery, Document
from gateway.engine.struct import replace

__all__ = ["Renames"]

KIND: Final = "slack-renamed"
FIELDS: Final = ("channel", "channel_id")
"""The arguments of Slack's methods that name a channel."""
TRIES = 5


class Renames:
    """Raises ``StoreUnavailableError`` where nothing else is said."""

    def __init__(self, ground: Ground) -> None:
        self._ledger = ground.ledger
        self._clock = ground.clock
        self._known: dict[str, tuple[Renamed, ...]] = {}

    async def read(self, installation: str) -> tuple[Renamed, ...]:
        """In the order in which it happened."""
        return _renamed(await self._look(installation))

    async def _look(self, installation: str) -> Document | None:
        found = await self._ledger.document(KIND, installation)
        self._known[installation] = _renamed(found)
        return found

    async def add(self, installation: str, one: Renamed) -> None:
        """Keep it, and have what died of the old id sent. Doing it twice does the same."""
        for _ in range(TRIES):
            before = await self._look(installation)
            known = self._known[installation]
            if one in known or await self._kept(installation, before, (*known, one)):
                await self._ledger.retry(
                    revive_on=reopens(installation, one.old), now=self._clock.now()
                )
                return
        raise StoreUnavailableError(
            f"the channels of {installation} are being written by others", fix="send it again"
        )

    async def _kept(
        self, installation: str, before: Document | None, all_of: tuple[Renamed, ...]
    ) -> bool:
        ordered = sorted(all_of, key=lambda one: float(one.at))
        rows: list[Json] = [[one.old, one.new, one.at] for one in ordered]
        row = Document(kind=KIND, key=installation, body={"renamed": rows})
        if not await self._ledger.put_document(row, None if before is None else before.version):
            return False
        self._known[installation] = tuple(ordered)
        return True

    # -- for calls -------------------------------------------------------------------------------------
    def today(self, installation: str, args: JsonObject) -> JsonObject:
        """The arguments of a call, with the channel as it is called by now, as far as is known here."""
        renamed = self._known.get(installation, ())
        return {
            name: _today(renamed, value) if name in FIELDS and isinstance(value, str) else value
            for name, value in args.items()
        }

    def addressed(self, delivery: Delivery) -> Delivery:
        """With the id of today beside the one that its target names: by that goes what is written now."""
        target = delivery.target
        now = self.today(text(target, "installation"), {"channel": text(target, "channel")})
        if now["channel"] == text(target, "channel"):
            return delivery
        return replace(delivery, target={**target, TODAY: now["channel"]})

    async def again(self, installation: str, args: JsonObject, found: Outcome) -> Outcome:
        """What came of a call, or that it may be made again at once: Slack doesn't know the channel, which
        has another id that wasn't known here yet. Never raises."""
        if not isinstance(found, Refused) or found.code != NO_CHANNEL:
            return found
        sent = self.today(installation, args)
        try:
            await self._look(installation)
        except StoreUnavailableError:
            return NotNow(
                1.0, "whether the channel has another id can't be read from the store now"
            )
        if self.today(installation, args) == sent:
            return found
        return NotNow(0.0, "the channel has another id by now")


def _today(renamed: tuple[Renamed, ...], channel: str) -> str:
    for one in renamed:
        if one.old == channel:
            channel = one.new
    return channel


def _renamed(found: Document | None) -> tuple[Renamed, ...]:
    rows = [] if found is None else cast("list[list[str]]", found.body["renamed"])
    return tuple(Renamed(*row) for row in rows)
