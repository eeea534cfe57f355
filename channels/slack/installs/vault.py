"""Installations as they stand in the ledger, with their secrets opened; kept in memory for a moment."""

from __future__ import annotations

import logging

from channels.protocol import Sealer
from channels.slack.calls import revives
from channels.slack.installs.ground import Ground
from channels.slack.installs.held import Held, about, opened, written
from gateway.engine.errors import ConfigError
from gateway.engine.ledger import Installation
from gateway.engine.struct import replace, struct

__all__ = ["REMEMBERED", "Entry", "Vault"]

log = logging.getLogger("gateway.slack")

REMEMBERED = 5.0
"""Seconds after which an installation is read again: as long as another host's change goes unseen here."""


@struct(frozen=True, slots=True)
class Entry:
    """``held`` is ``None`` where there is no token, or none that can be opened."""

    row: Installation
    held: Held | None


class Vault:
    def __init__(self, ground: Ground) -> None:
        self._ledger = ground.ledger
        self._sealer = ground.sealer
        self._clock = ground.clock
        self._waits = ground.waits
        self._known: dict[str, tuple[float, Entry]] = {}
        self._complained: set[tuple[str, int]] = set()

    async def look(self, key: str, *, again: bool = False) -> Entry | None:
        """``again``: as it stands now, whatever is remembered."""
        found = self._known.get(key)
        if found is not None and not again and self._waits.monotonic() - found[0] < REMEMBERED:
            return found[1]
        asked_at = self._waits.monotonic()
        row = await self._ledger.installation(key)
        if row is None:
            self._known.pop(key, None)
            return None
        if found is not None and found[1].row.version == row.version:
            entry = found[1]
        else:
            entry = Entry(row, self._opened(row))
        self._known[key] = (asked_at, entry)
        return entry

    async def keep(self, row: Installation, held: Held | None, expected: int | None) -> bool:
        """Save it in place of the version ``expected``. What couldn't be delivered for want of a token
        is due again once there is one."""
        sealed = b"" if held is None else self._sealing().seal(written(held), about(row.key))
        self._known.pop(row.key, None)
        if not await self._ledger.save_installation(replace(row, sealed=sealed), expected):
            return False
        self._known.pop(row.key, None)
        if held is not None:
            await self._revive(row.key)
        return True

    async def _revive(self, key: str) -> None:
        revived = await self._ledger.retry(revive_on=revives(key), now=self._clock.now())
        if revived:
            log.info("installation %s: %d dead letters are due again", key, revived)

    def _sealing(self) -> Sealer:
        if self._sealer is None:
            raise ConfigError(
                "tokens of workspaces are kept encrypted, and there is no key to do it with",
                fix="set GATEWAY_SECRET_KEYS to the output of `openssl rand -hex 32`",
            )
        return self._sealer

    def _opened(self, row: Installation) -> Held | None:
        if row.state != "active" or not row.sealed:
            return None
        try:
            return opened(self._sealing().open(row.sealed, about(row.key)))
        except ConfigError as error:
            if (row.key, row.version) not in self._complained:
                self._complained.add((row.key, row.version))
                why = f"{error}; {error.fix}"
                log.error("installation %s can't be used: %s", row.key, why)  # noqa: TRY400 - no trace
            return None
