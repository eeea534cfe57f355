"""Two hosts on one PostgreSQL and one mailbox: one reads at a time, and whichever is lost, each mail is answered
once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from gateway.engine.errors import StoreUnavailableError
from gateway.engine.ledger import Ledger
from gateway.engine.ports import SessionStore
from gateway.testing.crash import Crash, CrashingStore
from tests.crash.mail.hosts import MailHost, MailWorld, forget, mail_world
from tests.crash.mail.test_email_points import DyingLedger
from tests.faults.mail_stage import MailStage, beside, mail, serving
from tests.support.mail.office import ADA, SUPPORT

pytestmark = [pytest.mark.crash, pytest.mark.postgres, pytest.mark.timeout(150)]

MAILS = 4


@dataclass(slots=True)
class Readers:
    """How many look into the inbox, at each step that anybody takes."""

    stage: MailStage | MailWorld
    most: int = 0

    def now(self) -> int:
        account = self.stage.post.accounts.find(SUPPORT)
        assert account is not None
        return len(account.inbox.watchers)

    def count(self, _: str) -> None:
        self.most = max(self.most, self.now())


@dataclass(slots=True)
class OneHost:
    """In this process, and able to die in it. ``stores`` is what it dies by."""

    life: AsyncExitStack = field(default_factory=AsyncExitStack)
    stores: list[CrashingStore] = field(default_factory=list[CrashingStore])

    def dying(self, inner: SessionStore) -> SessionStore:
        store = CrashingStore(inner, None)
        store.ledger = cast("Ledger", DyingLedger(store))
        self.stores.append(store)
        return store

    async def start(self, stage: MailStage, state: Path, database: str) -> None:
        await asyncio.to_thread(state.mkdir)
        more = {"GATEWAY_STATE": str(state), "DATABASE_URL": database}
        await self.life.enter_async_context(serving(stage, self.dying, more))

    async def die(self) -> None:
        """Nothing of it is written from now on, and all its lines end."""
        for store in self.stores:
            store.die()
        try:
            await self.life.aclose()
        except BaseExceptionGroup as group:
            _, other = group.split((Crash, StoreUnavailableError))
            if other is not None:
                raise
        except (Crash, StoreUnavailableError):
            return


@asynccontextmanager
async def gone(*hosts: OneHost) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        for host in hosts:
            with suppress(Crash):
                await host.die()


async def test_one_reads_at_a_time_and_the_other_goes_on_when_it_dies(
    tmp_path: Path, postgres_url: str
) -> None:
    one, two = OneHost(), OneHost()
    async with beside(tmp_path) as stage, gone(one, two):
        readers = Readers(stage)
        stage.steps.told.append(readers.count)
        await one.start(stage, tmp_path / "one", postgres_url)
        await two.start(stage, tmp_path / "two", postgres_url)
        mails = [mail(f"Where is order 104{n}?") for n in range(2, 2 + MAILS)]
        await _answered(stage, mails[:1])
        dies = asyncio.Event()

        def mid(step: str) -> None:
            if step == "imap:MOVE":
                dies.set()

        stage.steps.told.append(mid)
        for raw in mails[1:]:
            await stage.deliver(raw)
        await dies.wait()
        await one.die()
        await asyncio.to_thread(forget, postgres_url)
        await _answered(stage, mails)
        sent = Counter((kept.message_id, kept.sha256) for kept in stage.post.journal.kept())
    assert readers.most == 1
    assert len({message_id for message_id, _ in sent}) == len(sent) == MAILS
    # What it had sent when it died, and not written down, may be there twice.
    assert sum(sent.values()) <= MAILS + 1


async def _answered(stage: MailStage, mails: list[bytes]) -> None:
    if len(mails) == 1:
        await stage.deliver(mails[0])

    async def all_rest() -> bool:
        return all([await stage.rests(raw) for raw in mails])

    await stage.until(all_rest)


# -- hosts that are processes ------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("step", ["imap:FETCH", "imap:MOVE", "smtp:MAIL", "smtp:END"])
async def test_killed_for_real_at_a_step(tmp_path: Path, postgres_url: str, step: str) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        await asyncio.to_thread(folder.mkdir)
    async with mail_world(folders[0], postgres_url) as on:
        two = MailHost(on.post, folders[1], DATABASE_URL=postgres_url)
        readers = Readers(on)
        on.steps.told.append(readers.count)
        try:
            await _until(lambda: readers.now() == 1)
            await two.start()
            _, first = await on.play("question")
            on.steps.told.append(_killing(on, step))
            mails = [mail(f"Where is order {n}?") for n in range(1042, 1042 + MAILS)]
            for raw in mails:
                await on.post.deliver(raw, SUPPORT, ADA)
            await _until(lambda: not on.host.alive)
            await asyncio.to_thread(forget, postgres_url)
            await _until(lambda: len(_letters(on)) == MAILS + 1)
            await _until(lambda: on.post.mails(SUPPORT) == [])
            assert set(first) <= set(_letters(on))
            assert sum(_letters(on).values()) <= MAILS + 2
            assert readers.most == 1
        finally:
            await two.bury()


def _killing(on: MailWorld, step: str) -> Callable[[str], None]:
    def tell(met: str) -> None:
        if met == step:
            on.host.kill()

    return tell


def _letters(on: MailWorld) -> Counter[tuple[str, str]]:
    return Counter((kept.message_id, kept.sha256) for kept in on.post.journal.kept())


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.02)
