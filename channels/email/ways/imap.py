"""A mailbox that is looked after: every mail in it is handed over, in order, and then moved away.

The connection lives in a thread of its own (``wire.py``); this half decides. A mail that can't be kept now
stays where it is and is tried again, later each time, while those behind it go on. What the mailbox holds is
what is left to do, so that a restart, a new UIDVALIDITY or a day without us needs no bookkeeping; who takes
the mails knows the same one again by its content.
"""

from __future__ import annotations

import logging
import ssl
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from channels.email.mail import RawMail
from channels.email.ways.account import Account
from channels.email.ways.taking import Take, Taken, plain
from channels.email.ways.wire import BrokenError, DeniedError, Found, RefusedError, Wire
from channels.email.ways.worker import Worker
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.limits import Clock, Waits
from gateway.engine.struct import struct
from gateway.log import wordless

__all__ = ["PROCESSED", "QUARANTINE", "Mailbox", "Pace"]

T = TypeVar("T")

PROCESSED, QUARANTINE = "Processed", "Quarantine"
FOLDERS: dict[Taken, str] = {"done": PROCESSED, "quarantine": QUARANTINE}

log = logging.getLogger("gateway.email")


@struct(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds."""

    connect: float = 10.0
    answer: float = 30.0
    """Longest silence of a server that was asked something."""
    call: float = 90.0
    """Longest time for one question, however slowly the answer trickles in."""
    fetch: float = 600.0
    glance: float = 1.0
    """How long the thread waits for mail before it looks up."""
    renew: float = 120.0
    """How long an idle connection is believed, and a quiet mailbox not listed. Servers and what lies
    between end one after 5 to 30 minutes, some without a word."""
    anew: float = 900.0
    """How often the mailbox is opened anew, for its UIDVALIDITY."""
    nap: float = 20.0
    """Between two looks, where the server can't tell of new mail."""
    retry: float = 1.0
    retry_most: float = 60.0
    refused: float = 30.0
    refused_most: float = 600.0
    again: float = 5.0
    again_most: float = 600.0
    leave: float = 1.0


@struct(frozen=True, slots=True)
class Kept:
    """A mail that is still there after it was handed over. ``folder`` is where it belongs by now."""

    tries: int = 0
    due: float = 0.0
    folder: str | None = None


class Mailbox:
    """``run`` it while no other process does. Mail from before ``since`` is left alone. ``problem`` says in
    words what is wrong now, ``heard_at`` when the server last answered; ``counted`` has the mails by what
    became of them."""

    def __init__(  # noqa: PLR0913 - what it works with
        self,
        account: Account,
        take: Take,
        *,
        clock: Clock,
        waits: Waits,
        since: Millis = Millis(0),
        pace: Pace | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.heard_at: Millis | None = None
        self.counted: Counter[str] = Counter()
        self.connects = 0
        self._account = account
        self._take = take
        self._clock = clock
        self._waits = waits
        self._since = since
        self._pace = pace or Pace()
        self._tls = tls
        self._validity: int | None = None
        self._kept: dict[int, Kept] = {}
        self._broken: str | None = None
        self._stuck: dict[int, str] = {}
        self._away = 0
        self._worker = Worker("email-imap")

    @property
    def problem(self) -> str | None:
        return self._broken or next(iter(self._stuck.values()), None)

    async def run(self) -> None:
        """Until it is cancelled. No connection is open then, and its thread is at its end."""
        self._worker = Worker("email-imap")
        failed = 0
        try:
            while True:
                began = self._waits.monotonic()
                refused = False
                try:
                    await self._connection()
                except (BrokenError, DeniedError) as error:
                    refused = isinstance(error, RefusedError)
                    self._say(str(error))
                except Exception as error:  # noqa: BLE001 - it is looked after all the same
                    name = self._account.name
                    log.error("email: looking after %s broke: %s", name, wordless(error))  # noqa: TRY400
                proven = self._waits.monotonic() - began > self._pace.retry_most
                failed = 1 if proven else failed + 1
                await self._waits.sleep(self._backoff(failed, refused=refused))
        finally:
            await self._worker.end(self._pace.leave)

    # -- one connection --------------------------------------------------------------------------------
    async def _connection(self) -> None:
        wire = Wire(self._account, self._pace.connect, self._pace.answer, self._tls)
        try:
            await self._attend(wire)
        finally:
            wire.cut()
            await self._closed(wire)

    async def _attend(self, wire: Wire) -> None:
        """Until the connection is over, which it says by ``BrokenError``."""
        await self._do(wire, partial(wire.open, tuple(FOLDERS.values())))
        self.connects += 1
        opened = self._waits.monotonic()
        while True:
            if self._waits.monotonic() - opened >= self._pace.anew:
                await self._do(wire, wire.select)
                opened = self._waits.monotonic()
            until = await self._sweep(wire)
            await self._rest(wire, until)

    async def _sweep(self, wire: Wire) -> float:
        """Hand over all that is there and due. When to look again at the latest."""
        if wire.validity != self._validity:
            self._validity = wire.validity
            self._kept.clear()
            self._stuck.clear()
        there = await self._do(wire, partial(wire.listed, self._since))
        self._say(None)
        self._kept = {uid: self._kept[uid] for uid in there if uid in self._kept}
        self._stuck = {uid: self._stuck[uid] for uid in there if uid in self._stuck}
        for uid in there:
            kept = self._kept.get(uid, Kept())
            if kept.due > self._waits.monotonic():
                continue
            try:
                await self._mail(wire, uid, kept)
            except StoreUnavailableError:
                self._away += 1
                return self._waits.monotonic() + self._later(self._away)
            self._away = 0
        renew = self._waits.monotonic() + self._pace.renew
        return min([renew, *(kept.due for kept in self._kept.values())])

    async def _mail(self, wire: Wire, uid: int, kept: Kept) -> None:
        folder = kept.folder
        if folder is None:
            found = await self._found(wire, uid, kept)
            if found is None:
                return
            taken = await self._taken(uid, found)
            self.counted[taken] += 1
            if taken == "again":
                self._put_off(uid, kept)
                return
            folder = FOLDERS[taken]
        self._put_off(uid, kept, folder)
        try:
            await self._do(wire, partial(wire.move, uid, folder))
        except DeniedError as error:
            where = f"{folder} of {self._account.name}"
            self._trouble(uid, f"mails can't be moved to {where}: {error}")
            return
        self._kept.pop(uid, None)
        self._stuck.pop(uid, None)

    async def _found(self, wire: Wire, uid: int, kept: Kept) -> Found | None:
        try:
            found = await self._do(wire, partial(wire.fetch, uid), self._pace.fetch)
        except DeniedError as error:
            self._put_off(uid, kept)
            where = f"mail {uid} of {self._account.name}"
            self._trouble(uid, f"{where} can't be read, it stays where it is: {error}")
            return None
        except BrokenError:
            # Once may be chance, and its turn is still the next. A mail over which the server stumbles
            # each time must not hold up those behind it.
            self._put_off(uid, kept)
            if not kept.tries:
                self._kept[uid] = Kept(tries=1)
            raise
        if found is None:
            self._kept.pop(uid, None)
        return found

    async def _taken(self, uid: int, found: Found) -> Taken:
        raw = RawMail(
            raw=found.raw,
            way="imap",
            way_id=f"{self._account.name}/{self._account.folder}/{self._validity}/{uid}",
            at=self._clock.now() if found.at is None else found.at,
            whole=found.whole,
        )
        try:
            return await self._take(raw)
        except StoreUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - those behind it go on
            log.error("email: mail %s couldn't be taken: %s", uid, wordless(error))  # noqa: TRY400
            return "again"

    # -- waiting for mail ------------------------------------------------------------------------------
    async def _rest(self, wire: Wire, until: float) -> None:
        """Until there is mail, or it is time to look."""
        if not wire.idles:
            nap = self._waits.monotonic() + self._pace.nap
            await self._waits.sleep(max(0.0, min(until, nap) - self._waits.monotonic()))
            await self._do(wire, wire.noop)
            return
        if self._waits.monotonic() >= until:
            return
        heard = await self._do(wire, wire.idle)
        while heard == "quiet" and self._waits.monotonic() < until:
            heard = await self._do(wire, partial(wire.listen, self._pace.glance))
        await self._do(wire, wire.wake)

    # -- the thread ------------------------------------------------------------------------------------
    async def _do(self, wire: Wire, work: Callable[[], T], within: float | None = None) -> T:
        try:
            done = await self._worker.do(work, within or self._pace.call)
        except TimeoutError:
            wire.cut()
            raise BrokenError(f"{self._account.host} takes too long to answer") from None
        self.heard_at = self._clock.now()
        return done

    async def _closed(self, wire: Wire) -> None:
        try:
            await self._worker.last(wire.close, self._pace.leave)
        except TimeoutError:
            log.warning("email: the connection to %s is slow to end", self._account.host)

    # -- what is remembered and told -------------------------------------------------------------------
    def _put_off(self, uid: int, kept: Kept, folder: str | None = None) -> None:
        tries = kept.tries + 1
        due = self._waits.monotonic() + self._later(tries)
        self._kept[uid] = Kept(tries, due, folder)

    def _later(self, tries: int) -> float:
        return float(min(self._pace.again * 2.0 ** min(tries - 1, 32), self._pace.again_most))

    def _backoff(self, failed: int, *, refused: bool) -> float:
        pace, double = self._pace, 2.0 ** min(failed - 1, 32)
        if refused:
            return float(min(pace.refused * double, pace.refused_most))
        return float(min(pace.retry * double, pace.retry_most))

    def _trouble(self, uid: int, words: str) -> None:
        if self._stuck.get(uid) != words:
            log.warning("email: %s", words)
        self._stuck[uid] = words

    def _say(self, words: str | None) -> None:
        if words != self._broken:
            told = f"{plain(self._account.name)} is looked after" if words is None else words
            log.log(logging.INFO if words is None else logging.WARNING, "email: %s", told)
        self._broken = words
