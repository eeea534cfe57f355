"""A mention in two events, a message behind its open request, an approval and an edit come in, and the
process dies at each of its writes: the platform sends again what wasn't acknowledged, the next process
goes on, and what is left equals what an uninterrupted run leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from channels.contract import Parsed
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import InboxRow, Ledger
from gateway.engine.ports import SessionStore
from gateway.engine.records import Companion
from gateway.stores import open_store
from gateway.testing.crash import Crash, CrashingStore
from tests.unit.intake.events import edited, pressed, reply_to, said
from tests.unit.intake.world import Stage, World, stage, until

pytestmark = pytest.mark.crash

FIRST, SECOND = "talk:T1:C1:1.1", "talk:T1:C1:2.1"
EDITED = f"{SECOND}:e5.5"
MENTION = said("refund 1042", event="EvMention")
MESSAGE = said("refund 1042", event="EvMessage")
BEHIND = reply_to("1.1", "hello", ts="2.1")
PARTS = 4
"""The write points are shared out, so that no test takes long."""
EDIT = edited(BEHIND, "good evening")


class DyingLedger:
    """The ledger of a store that dies: its writes of the way in are write points too."""

    def __init__(self, store: CrashingStore) -> None:
        self._store = store
        self._inner = store.inner.ledger

    def __getattr__(self, name: str) -> Any:
        if self._store.dead:
            raise Crash(name)
        return getattr(self._inner, name)

    async def note(self, rows: Sequence[Companion]) -> None:
        await self._store._write("note", lambda: self._inner.note(rows))

    async def settle_inbox(
        self,
        row: InboxRow,
        done: bool,
        next_try: Millis | None,
        rows: Sequence[Companion] = (),
        *,
        error: str | None = None,
    ) -> None:
        settle = self._inner.settle_inbox
        await self._store._write("settle", lambda: settle(row, done, next_try, rows, error=error))


class Platform:
    """Sends an event until it is acknowledged."""

    def __init__(self) -> None:
        self.unheard: list[Parsed] = []
        self.heard: list[str] = []

    async def send(self, here: Stage, *events: Parsed) -> None:
        known = {*self.heard, *(event.event_id for event in self.unheard)}
        self.unheard += [event for event in events if event.event_id not in known]
        while self.unheard:
            await here.receive(self.unheard[0])
            self.heard.append(self.unheard.pop(0).event_id)


class Life:
    """One database, many processes."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self.world = World()
        self.platform = Platform()
        self.points: list[str] = []

    async def live(self, at: int | None) -> bool:
        """One process, dying at write point ``at``. Whether it saw the story to its end."""
        inner = await asyncio.to_thread(open_store, self.url)
        store = CrashingStore(inner, at)
        store.ledger = cast("Ledger", DyingLedger(store))
        try:
            async with stage(store=store, world=self.world) as here:
                try:
                    return await self._story(here, store)
                finally:
                    store.dead = store.dead or at is not None
        except BaseExceptionGroup as group:
            _, other = group.split((Crash, StoreUnavailableError))
            if other is not None:
                raise
            return False
        except (Crash, StoreUnavailableError):
            return False
        finally:
            self.points = self.points or store.survived
            with contextlib.suppress(Crash):
                await inner.close()

    async def _story(self, here: Stage, store: CrashingStore) -> bool:
        send = self.platform.send

        async def alive(holds: Callable[[], Awaitable[bool]]) -> None:
            async def checked() -> bool:
                if store.dead:
                    raise Crash("somewhere else")
                return await holds()

            await until(checked)

        async def ended(turn_id: str) -> bool:
            turn = await here.turn(turn_id)
            return turn is not None and turn.ended_at is not None

        async def decided() -> bool:
            return (await here.verdict("EvPress")).rule != "answer:kept"

        await send(here, MENTION, MESSAGE)
        await alive(lambda: asks(here))
        request = await the_request(here)
        await send(here, BEHIND)
        with contextlib.suppress(AssertionError):  # it may be shown already
            await here.show(f"card:{request}")
        here.work()
        await send(here, EDIT)
        await alive(lambda: ended(SECOND))
        await send(here, pressed(request, event="EvPress"))
        await alive(decided)
        await alive(lambda: ended(FIRST))
        await alive(lambda: ended(EDITED))
        return True

    async def leaves(self) -> dict[str, object]:
        store = await asyncio.to_thread(open_store, self.url)
        await store.open()
        try:
            return await left_behind(store)
        finally:
            await store.close()


async def asks(here: Stage) -> bool:
    turn = await here.turn(FIRST)
    return turn is not None and bool(await here.store.requests(turn.row))


async def the_request(here: Stage) -> str:
    turn = await here.turn(FIRST)
    assert turn is not None
    return (await here.store.requests(turn.row))[-1].id


async def left_behind(store: SessionStore) -> dict[str, object]:
    turns = [one.turn for one in await store.list_turns()]
    verdicts = await store.ledger.verdicts()
    deliveries = await store.ledger.deliveries()
    requests = [one for turn in turns for one in await store.requests(turn.row)]
    return {
        "turns": sorted((turn.turn_id, turn.state, turn.cancel) for turn in turns),
        "verdicts": sorted((v.event_id, v.verdict, v.rule, v.turn_id, v.said) for v in verdicts),
        "views": sorted((d.turn_id, d.part.partition(":")[0], d.lane) for d in deliveries),
        "decided": [(one.outcome, one.by, one.value) for one in requests],
    }


async def play(path: Path, at: int | None) -> Life:
    life = Life(path)
    if at is not None and await life.live(at):
        return life
    for _ in range(4):
        if await life.live(None):
            return life
    raise AssertionError(f"the story never came to its end after a crash at {at}")


async def check(path: Path, at: int, want: dict[str, object]) -> None:
    life = await play(path, at)
    assert await life.leaves() == want, life.points[-2:]
    assert set(life.world.refunds) == {"1042"}
    assert life.world.talk.said == []


async def calm(path: Path) -> tuple[dict[str, object], list[str]]:
    life = await play(path, None)
    want = await life.leaves()
    assert want["decided"] == [("approved", "talk:T1:LEAD", "true")]
    assert [turn[0] for turn in cast("list[tuple[str, ...]]", want["turns"])] == [
        FIRST,
        SECOND,
        EDITED,
    ]
    return want, life.points


@pytest.mark.parametrize("part", range(PARTS))
async def test_nothing_that_came_in_is_lost_or_doubled_wherever_the_process_dies(
    tmp_path: Path, part: int
) -> None:
    want, points = await calm(tmp_path / "calm.db")
    assert {"before note", "after note", "before settle", "after settle"} <= set(points)
    assert "after enter" in points, "a message and its keys are one write"
    for at in range(part, len(points), PARTS):
        await check(tmp_path / f"{at}.db", at, want)
