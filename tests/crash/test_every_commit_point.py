"""A turn that meets everything is crashed at each of its writes, once before and once after the
commit, and started again: what it leaves must equal what an uninterrupted run leaves."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.engine.errors import StaleAnswerError, StoreUnavailableError
from gateway.engine.kinds import Millis, SessionRef, Speaker
from gateway.engine.outcomes import TurnInput, TurnResult
from gateway.engine.records import NEW_TURN, DeliveryOpened
from gateway.engine.runtime import Runtime
from gateway.engine.steps.context import ToolContext as _Context  # noqa: F401 - resolves hints
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.stores.sqlite import SqliteStore as _Store  # noqa: F401 - its queries are read now
from gateway.testing.crash import Crash, CrashingStore
from tests.support.turns import ASYNC_EFFECTS, Effects, everything, left_behind

pytestmark = pytest.mark.crash

REF = SessionRef("june", "crash")
TURN = "the-turn"


# It is shown in a thread, its approval among those who may give it: what it has to tell there commits
# with what it tells, or a crash would leave the one without the other.
GIVEN = TurnInput(
    message="go",
    turn_id=TURN,
    speaker=Speaker(id="cli:me", level="provider"),
    source="slack",
    target={"address": "C1"},
    deliver=True,
    companions=(
        DeliveryOpened(
            turn=NEW_TURN, part="reply", source="slack", target={}, lane="slack:C1", at=Millis(1)
        ),
    ),
)


class Life:
    """One database, many processes."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self.effects = Effects()
        self.points: list[str] = []

    async def live(self, at: int | None) -> bool:
        """One process, dying at write point ``at``. Whether the turn was seen to its end."""
        store = CrashingStore(open_store(self.url), at)
        await store.open()
        runtime = Runtime({"june": everything(self.effects)}, store, LocalSink())
        try:
            return await self._work(runtime)
        except (Crash, StoreUnavailableError):
            return False
        finally:
            store.dead = store.dead or at is not None
            with contextlib.suppress(Crash):
                await runtime.stop(grace=1)
            self.points.extend(store.survived)
            await store.close()

    async def _work(self, runtime: Runtime) -> bool:
        await runtime.start()
        session = runtime.session("june", "crash")
        await session.start(GIVEN, when_suspended="queue")
        result = await self._rest(runtime)
        if result.status == "suspended" and result.request is not None:
            with contextlib.suppress(StaleAnswerError):
                await session.resume(TURN, result.request.id, True, by="cli:me")
            result = await self._rest(runtime)
        assert result.status == "completed", result
        return True

    async def _rest(self, runtime: Runtime) -> TurnResult:
        """The turn's rest, or the crash that took the process away under the waiter."""
        import asyncio

        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(runtime.session("june", "crash").result(TURN))
            store = runtime.store
            assert isinstance(store, CrashingStore)
            while not waiting.done():
                if store.dead:
                    waiting.cancel()
                    break
                await asyncio.sleep(0.001)
        if waiting.cancelled():
            raise Crash("while waiting")
        return waiting.result()

    async def leaves(self) -> dict[str, Any]:
        store = open_store(self.url)
        await store.open()
        try:
            shown = await store.ledger.deliveries(turn_id=TURN)
            views = [(row.part.split(":")[0], row.lane, row.state, row.wanted) for row in shown]
            return {**await left_behind(store, REF, TURN), "shown": sorted(views)}
        finally:
            await store.close()

    def notes(self) -> list[str]:
        import sqlite3

        with contextlib.closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as db:
            return [row[0] for row in db.execute("select note from notes order by rowid")]


async def play(path: Path, crashes: list[int]) -> Life:
    """Crash at the given points, one process each, then run to the end."""
    life = Life(path)
    for at in crashes:
        if await life.live(at):
            break
    for _ in range(4):
        if await life.live(None):
            return life
    raise AssertionError("the turn never came to its end")


def check(life: Life, got: dict[str, Any], want: dict[str, Any], crashes: int) -> None:
    assert got == want
    assert life.notes() == ["one", "two"]
    for name in ASYNC_EFFECTS:
        assert 1 <= life.effects.count(name) <= 1 + crashes
        assert len({key for seen, key in life.effects.seen if seen == name}) == 1
    sequence = [event[0] for event in got["events"]]
    assert sequence == list(range(1, len(sequence) + 1))
    assert sum(event[1] in TERMINAL for event in got["events"]) == 1


TERMINAL = {"turn.completed", "turn.failed", "turn.cancelled", "turn.timed_out"}


async def test_a_crash_at_every_write_leaves_what_an_uninterrupted_run_leaves(
    tmp_path: Path,
) -> None:
    calm = await play(tmp_path / "calm.db", [])
    want = await calm.leaves()
    check(calm, want, want, 0)
    assert want["shown"] == [("card", "slack:C1", "due", 5), ("reply", "slack:C1", "due", 5)]
    points = len(calm.points)
    assert points > 30, "the turn should meet many writes"
    for at in range(points):
        life = await play(tmp_path / f"{at}.db", [at])
        got = await life.leaves()
        check(life, got, want, 1)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(crashes=st.lists(st.integers(0, 40), min_size=2, max_size=3))
async def test_any_few_crashes_do_the_same(tmp_path: Path, crashes: list[int]) -> None:
    import secrets

    calm = await play(tmp_path / f"{secrets.token_hex(4)}.db", [])
    want = await calm.leaves()
    life = await play(tmp_path / f"{secrets.token_hex(4)}.db", crashes)
    check(life, await life.leaves(), want, len(crashes))
