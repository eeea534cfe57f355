"""A mail comes in, is answered, and the process dies at each of its writes: the mailbox still has what wasn't
taken, the next process goes on, and what is left equals what an uninterrupted run leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from gateway.approvals.authorise import decide_as
from gateway.engine.errors import StaleAnswerError, StoreUnavailableError
from gateway.engine.ledger import Ledger, Part
from gateway.engine.ports import SessionStore
from gateway.testing.crash import Crash, CrashingStore
from tests.faults.mail_stage import (
    MailStage,
    Outcome,
    beside,
    mail,
    serving,
)
from tests.support.mail.office import SUPPORT

pytestmark = pytest.mark.crash

ASKED = {
    "question": "Hello, where is order 1042?",
    "refund": "Please refund order 1042, it arrived broken.",
}
WRITES = ("note", "settle_inbox", "settle", "keep_file", "put_document", "drop_document", "retry")
"""Of the ledger. What only says who is at work is taken back by the next process, and isn't counted."""
OPENED, SENT = "after journal opening", "before journal final"
"""In between a letter is on its way, and what died there had perhaps sent it: the very same one goes once
more."""


class DyingLedger:
    """The ledger of a store that dies: its writes are write points, too."""

    def __init__(self, store: CrashingStore) -> None:
        self._store = store
        self._inner = store.inner.ledger

    def __getattr__(self, name: str) -> Any:
        if self._store.dead:
            raise Crash(name)
        found = getattr(self._inner, name)
        if name not in WRITES:
            return found

        async def write(*given: Any, **more: Any) -> Any:
            return await self._store._write(name, lambda: found(*given, **more))

        return write

    async def journal(self, token: int, parts: Sequence[Part]) -> int:
        name = f"journal {parts[-1].state}"
        return await self._store._write(name, lambda: self._inner.journal(token, parts))


class Life:
    """One mailbox and one database, many processes."""

    def __init__(self, stage: MailStage, name: str) -> None:
        self.stage = stage
        self.name = name
        self.raw = mail(ASKED[name])
        self.points: list[str] = []
        """Of the first process."""

    async def live(self, at: int | str | None) -> bool:
        """One process, dying at write point ``at``. Whether it saw the story to its end."""
        made: list[CrashingStore] = []

        def dying(inner: SessionStore) -> SessionStore:
            store = CrashingStore(inner, at)
            store.ledger = cast("Ledger", DyingLedger(store))
            made.append(store)
            return store

        try:
            async with serving(self.stage, dying):
                return await self._story(made[0])
        except BaseExceptionGroup as group:
            _, other = group.split((Crash, StoreUnavailableError))
            if other is not None:
                raise
            return False
        except (Crash, StoreUnavailableError):
            return False
        finally:
            self.points = self.points or [point for one in made for point in one.survived]
            self.stage.post.cut()

    async def _story(self, store: CrashingStore) -> bool:
        async def ended() -> bool:
            if store.dead:
                return True
            with contextlib.suppress(Crash, AssertionError):
                if self.name == "refund":
                    await decided(self.stage)
                return await self.stage.rests(self.raw)
            return False

        try:
            await self.stage.until(ended)
        except Crash:
            return False
        over = not store.dead
        store.die()
        return over


async def decided(stage: MailStage) -> None:
    """Approve what is asked, once the customer was told that somebody is."""
    if not any(row.state == "resting" for row in await stage.ledger.deliveries(limit=5)):
        return
    runtime = stage.host.runtime
    for one in await runtime.store.list_requests(limit=5):
        session = runtime.session(one.ref.agent, one.ref.key)
        with contextlib.suppress(StaleAnswerError):
            await decide_as(
                session, one, True, by="api:lead", principal=None, reason=None, digest=None
            )


async def play(folder: Path, name: str, at: int | None) -> tuple[Outcome, list[str]]:
    """What is left, and the points that the first process passed."""
    await asyncio.to_thread(folder.mkdir)
    async with beside(folder) as stage:
        life = Life(stage, name)
        await stage.deliver(life.raw)
        if at is None or not await life.live(at):
            for _ in range(4):
                if await life.live(None):
                    break
            else:
                pytest.fail(f"the story never came to its end after a crash at {at}")
        async with serving(stage):
            assert await stage.rests(life.raw)
            assert len(stage.post.mails(SUPPORT, "Processed")) == 1
            return await stage.outcome(life.raw, 0), life.points


async def check(tmp_path: Path, name: str, part: slice) -> None:
    calm, points = await play(tmp_path / "calm", name, None)
    assert calm.once
    assert {"after keep_file", "after enter", OPENED, SENT} <= set(points)
    for at in range(len(points))[part]:
        found, passed = await play(tmp_path / f"{at}", name, at)
        told = f"{at}, after {passed[-1:]}"
        assert (found.letters, found.paid) == (calm.letters, calm.paid), told
        assert found.verdicts[-1] == calm.verdicts[-1], told
        most = 2 if passed.count(OPENED) > passed.count(SENT) else 1
        assert max(Counter(found.arrived).values()) <= most, told


async def test_a_sample_of_all_writes_of_a_question(tmp_path: Path) -> None:
    """The next test is all of them."""
    await check(tmp_path, "question", slice(1, None, 6))


async def test_killed_each_time_a_letter_went_out_it_goes_twice_and_no_more(
    tmp_path: Path,
) -> None:
    async with beside(tmp_path) as stage:
        life = Life(stage, "question")
        await stage.deliver(life.raw)
        for _ in range(2):
            assert not await life.live(SENT)
        async with serving(stage):

            async def dead() -> bool:
                return any(row.state == "dead" for row in await stage.rows(life.raw))

            await stage.until(dead)
            assert len(stage.post.journal.kept()) == 2
            await stage.revive("cant_tell")
            await stage.until(partial(stage.rests, life.raw))
        sent = stage.post.journal.kept()
        assert len(sent) == 3
        assert len({(one.message_id, one.sha256) for one in sent}) == 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", ASKED)
async def test_every_write(tmp_path: Path, name: str) -> None:
    await check(tmp_path, name, slice(None))
