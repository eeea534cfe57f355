"""Acts on what was kept: after the platform was told "received", and over every restart.

A row is taken under a lease, acted on, and settled together with its last verdict. Whatever is cut in
between is done again from the start, and what was done already is recognised. Only words to a person
come after the settling: they are said at most once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import cast

from channels.contract import Answer, Control, Inbound, RetryLater
from channels.protocol import Channel, Conversing
from gateway.engine.errors import GatewayError, LeaseLostError, StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import InboxRow
from gateway.engine.limits import SYSTEM_WAITS, Waits
from gateway.engine.runtime import Runtime
from gateway.engine.steps.foreign import contained
from gateway.intake import words
from gateway.intake.accept import Entrance
from gateway.intake.acting.answers import answer
from gateway.intake.acting.controls import control
from gateway.intake.acting.means import Came, Later, Means, Settled, settle
from gateway.intake.acting.messages import message
from gateway.intake.looks import GIVEN_UP, MOST_PATIENT, retry_at
from gateway.intake.stored import Saying, Stored, stored_from

log = logging.getLogger("gateway.intake")

AT_ONCE = 32
POLL = 1.0
"""Seconds after which the inbox is looked at without being told."""
LEASE = Millis(60_000)
PATIENCE = 45.0
"""Seconds that acting on one event may take: less than its lease."""
GIVING_BACK = 2.0
"""Seconds."""


class Inbox:
    """The worker of one host. ``channels`` by source: what they say and do comes from here."""

    def __init__(
        self,
        *,
        runtime: Runtime,
        agent: str,
        channels: Mapping[str, Channel],
        owner: str,
        waits: Waits = SYSTEM_WAITS,
    ) -> None:
        self._runtime = runtime
        self._ledger = runtime.store.ledger
        self._owner = owner
        self._waits = waits
        self._clock = runtime.clock
        self._means = {
            source: Means(
                runtime=runtime,
                agent=agent,
                # Only channels on which people press buttons have answers and words kept.
                channel=cast("Conversing", channel),
                entrance=Entrance(runtime, agent, source),
            )
            for source, channel in channels.items()
        }
        self._woken = asyncio.Event()
        self._busy = 0

    def wake(self) -> None:
        """There is something new."""
        self._woken.set()

    async def run(self) -> None:
        """Until cancelled. What is under way then is done again by whoever comes next."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._woken.clear()
                for row in await self._take():
                    self._busy += 1
                    group.create_task(self._one(row), name=f"inbox {row.id}")
                try:
                    async with self._waits.timeout(POLL):
                        await self._woken.wait()
                except TimeoutError:
                    continue

    async def _take(self) -> Sequence[InboxRow]:
        if self._busy >= AT_ONCE:
            return ()
        now = self._clock.now()
        try:
            return await self._ledger.take_inbox(self._owner, now, LEASE, AT_ONCE - self._busy)
        except StoreUnavailableError as error:
            log.warning("the inbox can't be read now: %s", error)
            return ()

    async def _one(self, row: InboxRow) -> None:
        try:
            with contained:
                await self._settle(row, await self._act(row))
        except asyncio.CancelledError:
            await self._give_back(row)
            raise
        except LeaseLostError:
            pass  # somebody else has it now, and tells what came of it
        except StoreUnavailableError as error:
            # Its lease lapses, and then it is taken again.
            log.warning("event %s isn't settled yet: %s", row.event_id, error)
        except Exception:
            log.exception("event %s couldn't be settled", row.event_id)
        finally:
            self._busy -= 1
            self._woken.set()

    async def _give_back(self, row: InboxRow) -> None:
        """This worker stops: the next one needn't wait for the lease to lapse."""
        with suppress(GatewayError, TimeoutError):
            async with asyncio.timeout(GIVING_BACK):
                await self._ledger.settle_inbox(row, False, self._clock.now(), error="cut off")

    # -- acting --------------------------------------------------------------------------------------
    async def _act(self, row: InboxRow) -> Came | None:
        """What came of it; ``None`` if it can't be acted on any more."""
        means = self._means.get(row.source)
        now = self._clock.now()
        if means is None:
            return Later(Millis(now + MOST_PATIENT * 1000), f"no channel {row.source!r} runs here")
        try:
            stored = stored_from(row.body)
        except (GatewayError, KeyError, ValueError) as error:
            # Not the error's own words: they may quote what was written.
            log.warning("event %s can't be read: %s", row.event_id, type(error).__name__)
            return None
        try:
            async with self._waits.timeout(PATIENCE):
                with contained:
                    return await _acted(means, row, stored)
        except StoreUnavailableError as error:
            return Later(retry_at(row.attempts, now), str(error))
        except RetryLater as error:
            return self._again(row, means, stored, Later(error.at, error.why))
        except TimeoutError:
            later = Later(retry_at(row.attempts, now), f"took over {PATIENCE:g} s")
            return self._again(row, means, stored, later)
        except Exception as error:
            log.exception("event %s couldn't be acted on", row.event_id)
            later = Later(retry_at(row.attempts, now), type(error).__name__)
            return self._again(row, means, stored, later)

    def _again(self, row: InboxRow, means: Means, stored: Stored, later: Later) -> Came:
        if later.at < row.at + GIVEN_UP:
            return later
        kept = stored.kept
        say = words.BROKEN if isinstance(kept, Answer | Control) else None
        return settle(means, kept, "unsupported", "gave-up", say=say)

    # -- settling ------------------------------------------------------------------------------------
    async def _settle(self, row: InboxRow, came: Came | None) -> None:
        match came:
            case Later(at=at, why=why):
                await self._ledger.settle_inbox(row, False, at, error=why)
            case Settled(rows=rows, say=say):
                await self._ledger.settle_inbox(row, True, None, rows)
                if say is not None:
                    await self._means[row.source].channel.say(say.reply, say.words)
            case None:
                await self._ledger.settle_inbox(row, False, None, error="unreadable")


async def _acted(means: Means, row: InboxRow, stored: Stored) -> Came:
    match stored.kept:
        case Inbound() as inbound:
            return await message(means, inbound, row.at, row.attempts)
        case Answer() as given:
            return await answer(means, given, row.at)
        case Control() as asked:
            return await control(means, asked, row.at, stored.generation, row.attempts)
        case Saying() as saying:
            return Settled(say=saying)
