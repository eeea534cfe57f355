"""A commit whose answer is lost: the write is durable, the engine is told that it isn't. The outcome is
settled by reading, so nothing is done twice and nothing is missing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typing_extensions import override

from gateway.engine.errors import StaleAnswerError, StoreUnavailableError
from gateway.engine.kinds import SessionRef
from gateway.engine.outcomes import TurnInput, TurnResult
from gateway.engine.ports import SessionStore
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.sinks.local import LocalSink
from gateway.stores import open_store
from gateway.testing.crash import CrashingStore
from tests.support.turns import ASYNC_EFFECTS, Effects, everything, left_behind

pytestmark = pytest.mark.crash

T = TypeVar("T")
REF = SessionRef("june", "lie")


class LyingStore(CrashingStore):
    """Write number ``at`` goes through and answers that it didn't; or it is made again, as a writer
    does that runs a group's pieces anew, and meets its own rows."""

    def __init__(self, inner: SessionStore, at: int | None, *, again: bool) -> None:
        super().__init__(inner)
        self.writes = 0
        self._lie = at
        self._again = again

    @override
    async def _write(self, name: str, write: Callable[[], Awaitable[T]]) -> T:
        this, self.writes = self.writes, self.writes + 1
        result = await write()
        if this != self._lie:
            return result
        if self._again:
            return await write()
        raise StoreUnavailableError("the answer to a commit was lost")


async def insistently(ask: Callable[[], Awaitable[T]]) -> T:
    """What a client does that is told to try again."""
    for _ in range(20):
        with contextlib.suppress(StoreUnavailableError):
            return await ask()
    raise AssertionError("the store never answered")


async def play(path: Path, at: int | None, *, again: bool) -> tuple[dict[str, Any], Effects, int]:
    effects = Effects()
    store = LyingStore(open_store(f"sqlite:///{path}"), at, again=again)
    await store.open()
    runtime = Runtime({"june": everything(effects)}, store, LocalSink())
    runtime.poll = 0.05
    async with runtime:
        session = runtime.session("june", "lie")
        result = await asked(session)
        assert result.status == "completed"
        found = await left_behind(store.inner, REF, "turn")
    await store.close()
    return found, effects, store.writes


async def asked(session: Session) -> TurnResult:
    go = TurnInput(message="go", turn_id="turn")
    await insistently(lambda: session.start(go, when_suspended="queue"))
    result = await insistently(lambda: session.result("turn"))
    if result.request is not None:
        request = result.request.id
        with contextlib.suppress(StaleAnswerError):
            await insistently(lambda: session.resume("turn", request, True, by="cli:me"))
        result = await insistently(lambda: session.result("turn"))
    return result


@pytest.mark.parametrize("again", [False, True], ids=["answer lost", "made again"])
async def test_a_commit_that_lies_changes_nothing(tmp_path: Path, again: bool) -> None:
    want, _, writes = await play(tmp_path / "calm.db", None, again=again)
    for at in range(0, writes, 2):
        async with asyncio.timeout(20):
            got, effects, _ = await play(tmp_path / f"{at}.db", at, again=again)
        assert got == want, f"after write {at}"
        for name in ASYNC_EFFECTS:
            assert 1 <= effects.count(name) <= 2
