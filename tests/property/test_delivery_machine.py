"""However deliveries are opened, marked, claimed, lost, settled and retried: every store says of them
what a plain list says, and nobody writes on a lease that was lost."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from typing_extensions import override

from gateway.engine.errors import LeaseLostError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Delivery, Ledger, Part, PartState, Receipt, SettledState
from gateway.engine.ports import SessionStore
from gateway.engine.records import DeliveryMark
from gateway.stores.memory import MemoryStore
from gateway.stores.sqlite import SqliteStore
from tests.conformance.store.ledger.kit import LAPSED, LONG, SLACK, opened
from tests.conformance.store_kit import T0, accept, at
from tests.property.plain_views import Plain, View

T = TypeVar("T")
PATIENCE = 20.0
STATES: tuple[SettledState, ...] = get_args(SettledState)
PART_STATES: tuple[PartState, ...] = get_args(PartState)


class DeliveryMachine(RuleBasedStateMachine):
    """The same is done to every store, and each must answer as the plain list does."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="june-views-")
        self.loop = asyncio.new_event_loop()
        self.plain = Plain()
        self.now = 0
        self.held: list[tuple[str, int]] = []
        """Every right to write that was ever given, most of them lost by now."""
        self.stores = self.make(Path(self.folder.name) / "june.db")
        for store in self.stores:
            self.do(store.open())

    def make(self, path: Path) -> list[SessionStore]:
        return [MemoryStore(), SqliteStore(path)]

    @override
    def teardown(self) -> None:
        if hasattr(self, "loop"):
            for store in self.stores:
                self.do(store.close())
            self.loop.close()
            self.folder.cleanup()

    def do(self, work: Awaitable[T]) -> T:
        async def within() -> T:
            async with asyncio.timeout(PATIENCE):
                return await work

        return self.loop.run_until_complete(within())

    def row(self, ledger: Ledger, turn: str) -> Delivery:
        (found,) = self.do(ledger.deliveries(turn_id=turn))
        return found

    def right(self, data: st.DataObject) -> tuple[str, int]:
        """A right to write: half the time one that still holds, if there is any."""
        ours = [(turn, token) for turn, token in self.held if self.plain.of(turn).ours(token)]
        best = bool(ours) and data.draw(st.booleans())
        return data.draw(st.sampled_from(ours if best else self.held))

    def every(self, act: Callable[[Ledger], Awaitable[T]]) -> list[T]:
        return [self.do(act(store.ledger)) for store in self.stores]

    # -- what happens --------------------------------------------------------------------------
    @rule(lane=st.sampled_from("aab"), wait=st.sampled_from((0, 0, 0, 2)))
    def open_view(self, lane: str, wait: int) -> None:
        turn = f"t{len(self.plain.views)}"
        row = opened(lane=lane, at=at(self.now + wait))
        for store in self.stores:
            self.do(accept(store, turn_id=turn, companions=(row,)))
        self.plain.views.append(View(turn, lane, self.now + wait))

    @rule(data=st.data())
    def mark(self, data: st.DataObject) -> None:
        if not self.plain.views:
            return
        view = data.draw(st.sampled_from(self.plain.views))
        for store in self.stores:
            row = self.row(store.ledger, view.turn)
            self.do(store.ledger.note([DeliveryMark(turn=row.turn, at=at(self.now))]))
        self.plain.mark(view.turn, self.now)

    @rule(limit=st.integers(1, 4), lapsed=st.sampled_from((False, False, True)))
    def claim(self, limit: int, lapsed: bool) -> None:
        self.claimed(limit, lapsed=lapsed)

    def claimed(self, limit: int, *, lapsed: bool) -> list[tuple[str, int, bool]]:
        lease = LAPSED if lapsed else LONG
        expected = self.plain.claim(self.now, limit, lapsed=lapsed)
        for found in self.every(lambda led: led.claim("host", SLACK, at(self.now), lease, limit)):
            assert [(row.turn_id, row.token, row.recovered) for row in found] == expected
        self.held += [(turn, token) for turn, token, _ in expected]
        return expected

    @rule(state=st.sampled_from(["resting", "done", "silent"]))
    def show_all(self, state: SettledState) -> None:
        """What a host does all day: take what is due, show it, let go."""
        for turn, token, _ in self.claimed(10, lapsed=False):
            self.let_go(turn, token, state, self.plain.of(turn).wanted)

    @rule(
        data=st.data(), state=st.sampled_from(STATES), wait=st.none() | st.integers(0, 4),
        remind=st.none() | st.integers(0, 6), behind=st.integers(0, 1),
    )  # fmt: skip
    def settle(
        self,
        data: st.DataObject,
        state: SettledState,
        wait: int | None,
        remind: int | None,
        behind: int,
    ) -> None:
        if not self.held:
            return
        turn, token = self.right(data)
        satisfied = max(self.plain.of(turn).wanted - behind, 0)
        self.let_go(turn, token, state, satisfied, (wait, remind))

    def let_go(
        self,
        turn: str,
        token: int,
        state: SettledState,
        satisfied: int,
        later: tuple[int | None, int | None] = (None, None),
    ) -> None:
        view = self.plain.of(turn)
        next_try, remind_at = (None if wait is None else self.now + wait for wait in later)
        ours = view.ours(token)
        for store in self.stores:
            receipt = Receipt(
                delivery=self.row(store.ledger, turn).id,
                token=token,
                satisfied=satisfied,
                state=state,
                seq=0,
                next_try=None if next_try is None else at(next_try),
                remind_at=None if remind_at is None else at(remind_at),
            )
            if ours:
                self.do(store.ledger.settle(receipt))
            else:
                with pytest.raises(LeaseLostError):
                    self.do(store.ledger.settle(receipt))
        if ours:
            self.plain.settle(view, state, satisfied, next_try, remind_at)

    @rule(data=st.data(), n=st.integers(1, 3), state=st.sampled_from(PART_STATES))
    def journal(self, data: st.DataObject, n: int, state: PartState) -> None:
        if not self.held:
            return
        turn, token = self.right(data)
        view = self.plain.of(turn)
        for store in self.stores:
            part = Part(
                delivery=self.row(store.ledger, turn).id,
                n=n,
                kind="stream",
                state=state,
                nonce="n",
                opened_at=T0,
            )
            if view.ours(token):
                assert self.do(store.ledger.journal(token, [part])) == view.wanted
            else:
                with pytest.raises(LeaseLostError):
                    self.do(store.ledger.journal(token, [part]))
        if view.ours(token):
            view.parts[n] = state

    @rule(lapsed=st.booleans())
    def renew(self, lapsed: bool) -> None:
        kept = {turn for turn, token in self.held if self.plain.of(turn).ours(token)}
        for store in self.stores:
            ids = {turn: self.row(store.ledger, turn).id for turn, _ in self.held}
            asked = [(ids[turn], token) for turn, token in self.held]
            found = self.do(store.ledger.renew(asked, LAPSED if lapsed else LONG))
            assert set(found) == {ids[turn] for turn in kept}
        for turn in kept:
            self.plain.of(turn).lapsed = lapsed

    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        if not self.plain.views:
            return
        view = data.draw(st.sampled_from(self.plain.views))
        dead = view.state == "dead"
        for store in self.stores:
            number = self.row(store.ledger, view.turn).id
            assert self.do(store.ledger.retry(id=number, now=at(self.now))) == int(dead)
        if dead:
            self.plain.mark(view.turn, self.now)
            view.state = "due"

    @rule(passed=st.integers(1, 4))
    def wait(self, passed: int) -> None:
        self.now += passed

    @rule()
    def restart(self) -> None:
        for store in self.stores:
            self.do(store.close())
            self.do(store.open())
        self.plain.void()

    # -- what must hold ------------------------------------------------------------------------
    @invariant()
    def every_store_says_the_same(self) -> None:
        if not hasattr(self, "plain"):
            return
        expected = [view.seen() for view in reversed(self.plain.views)]
        for found in self.every(lambda ledger: ledger.deliveries(limit=1000)):
            assert [_seen(row) for row in found] == expected
        due = self.plain.next_due()
        assert self.every(lambda ledger: ledger.next_due(SLACK)) == (
            [None if due is None else at(due)] * len(self.stores)
        )

    @invariant()
    def a_lane_has_one_sender_at_most(self) -> None:
        if not hasattr(self, "plain"):
            return
        lanes = [view.lane for view in self.plain.views if view.state == "sending"]
        assert len(lanes) == len(set(lanes))


def _seen(row: Delivery) -> tuple[object, ...]:
    facts = (row.turn_id, row.lane, row.state, row.wanted, row.shown, row.attempts, row.token)
    parts = tuple((part.n, part.state) for part in row.parts)
    return (*facts, row.next_try - T0, _offset(row.remind_at), parts)


def _offset(moment: Millis | None) -> int | None:
    return None if moment is None else moment - T0


class QuickMachine(DeliveryMachine):
    """The memory store alone: many more lives in the same time."""

    @override
    def make(self, path: Path) -> list[SessionStore]:
        return [MemoryStore()]


class LongMachine(DeliveryMachine):
    pass


DeliveryMachine.TestCase.settings = settings(
    settings.get_profile("seeded"), max_examples=15, stateful_step_count=25
)
QuickMachine.TestCase.settings = settings(
    settings.get_profile("seeded"), max_examples=100, stateful_step_count=70
)
LongMachine.TestCase.settings = settings(
    settings.get_profile("chaos"), max_examples=300, stateful_step_count=60
)

TestDeliveries = pytest.mark.timeout(120)(DeliveryMachine.TestCase)
TestDeliveriesInMemory = pytest.mark.timeout(120)(QuickMachine.TestCase)
TestDeliveriesForLong = pytest.mark.slow(pytest.mark.timeout(900)(LongMachine.TestCase))
