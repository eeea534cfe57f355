"""A store that refuses to let anything become of a turn that those who watch it aren't told of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from typing_extensions import override

from gateway.engine.kinds import SessionRef, TurnRow
from gateway.engine.ports import SessionStore
from gateway.engine.records import (
    NEW_TURN,
    Ask,
    DeliveryMark,
    DeliveryOpened,
    Fence,
    LocalCall,
    Plan,
    SessionView,
    Writes,
)
from gateway.testing.crash import CrashingStore

T = TypeVar("T")

RESTS = ("suspended", "completed", "failed", "cancelled", "timed_out")


class Attentive(CrashingStore):
    """Knows by its deliveries alone which turns are watched. Of those, a write that parks or ends one,
    that answers or replaces a request or adds a vote to it has to carry a mark."""

    def __init__(self, inner: SessionStore, followed: set[TurnRow], silent: list[str]) -> None:
        super().__init__(inner)
        self._followed = followed
        self._silent = silent
        """What was refused: whoever asked may not be heard."""

    @override
    async def amend(self, ref: SessionRef, ask: Ask, decide: Callable[[SessionView], Plan[T]]) -> T:
        made: list[Writes] = []

        @wraps(cast("Any", getattr(decide, "func", decide)))
        def checked(view: SessionView) -> Plan[T]:
            plan = decide(view)
            request = None if view.request is None else view.request.turn
            made[:] = [self._check(plan.writes, request)]
            return plan

        result = await super().amend(ref, ask, checked)
        new = made[-1].new_turn if made else None
        if new is not None and NEW_TURN in _opened(made[-1]):
            record = await self.inner.turn(ref, new.turn_id)
            assert record is not None
            self._followed.add(record.row)
        return result

    @override
    async def commit(self, fence: Fence, writes: Writes) -> None:
        await super().commit(fence, self._check(writes))

    @override
    async def run_local(self, fence: Fence, call: LocalCall) -> None:
        def settle(value: object, error: BaseException | None) -> Writes:
            return self._check(call.settle(value, error))

        await super().run_local(fence, replace(call, settle=settle))

    def _check(self, writes: Writes, voted_on: TurnRow | None = None) -> Writes:
        self._followed |= _opened(writes) - {NEW_TURN}
        marked = {row.turn for row in writes.companions if isinstance(row, DeliveryMark)}
        facts = dict[TurnRow, str]()
        facts |= {turn.row: turn.state for turn in writes.turns if turn.state in RESTS}
        facts |= {request.turn: request.outcome or "asked" for request in writes.requests}
        if writes.votes and voted_on is not None:
            facts[voted_on] = "voted"
        for row, fact in facts.items():
            if row in self._followed and row not in marked:
                self._silent.append(f"turn {row}: {fact}")
                raise AssertionError(self._silent[-1])
        return writes


def _opened(writes: Writes) -> set[TurnRow]:
    return {row.turn for row in writes.companions if isinstance(row, DeliveryOpened)}
