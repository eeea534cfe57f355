"""Ledger promises about the way in: claims dedupe, verdicts stay, places and pairs are remembered."""

from __future__ import annotations

import asyncio

import pytest

from gateway.engine.errors import DuplicateClaimError
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Known, Ledger, Pair
from gateway.engine.ports import SessionStore
from gateway.engine.records import NEW_TURN, Companion, PairSeen, PlaceBound
from gateway.engine.struct import replace
from tests.conformance.store.ledger.kit import WithLedger, held, judged, opened, take
from tests.conformance.store_kit import PATIENCE, REF, T0, accept, at, claim

THREAD = "slack:T1:C1:1.1"
EVERYTHING = Asked(
    source="slack", event_id="E1", keys=("k2", "k1"), places=("p2", THREAD), pairs=(f"{THREAD}:B1",)
)


def bound(place: str = THREAD, session: str = REF.key, now: int = 0) -> PlaceBound:
    return PlaceBound(
        place=place, agent="june", session=session, kind="thread", turn=NEW_TURN, at=at(now)
    )


def seen(pair: str = f"{THREAD}:B1", now: int = 0, *, reset: bool = False) -> PairSeen:
    return PairSeen(pair=pair, reset=reset, window=Millis(100), at=at(now))


ROWS: tuple[Companion, ...] = (
    claim("k1"), judged(turn=NEW_TURN), bound(), seen(), opened(), held("E2"),
)  # fmt: skip


class IncomingPromises(WithLedger):
    async def test_an_acceptance_and_its_rows_commit_together(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await accept(store, companions=ROWS)
        known = await ledger.known(EVERYTHING)
        assert known.verdict is not None
        assert (known.verdict.verdict, known.verdict.rule) == ("accepted", "mention")
        assert (known.verdict.agent, known.verdict.session) == (REF.agent, REF.key)
        assert (known.verdict.turn_id, known.verdict.copies, known.verdict.at) == ("t1", 1, T0)
        (place,) = known.bindings
        assert (place.place, place.session, place.turn) == (THREAD, REF.key, turn.row)
        (taken,) = known.claims
        assert (taken.key, taken.turn, taken.turn_id) == ("k1", turn.row, "t1")
        assert (taken.agent, taken.session, taken.expires_at) == (REF.agent, REF.key, at(1000))
        assert known.pairs == (Pair(pair=f"{THREAD}:B1", n=1, first_at=T0, last_at=T0),)
        assert [row.turn_id for row in await take(ledger)] == ["t1"]
        assert len(await ledger.take_inbox("host-a", at(0), Millis(1000), 5)) == 1

    async def test_a_taken_claim_leaves_no_row(self, store: SessionStore, ledger: Ledger) -> None:
        await ledger.note([claim("k1", None)])
        with pytest.raises(DuplicateClaimError):
            await accept(store, companions=(*ROWS[1:], ROWS[0]))
        known = await ledger.known(replace(EVERYTHING, keys=()))
        assert known == Known()
        assert list(await ledger.deliveries()) == []
        assert list(await ledger.take_inbox("host-a", at(0), Millis(1000), 5)) == []

    async def test_a_note_is_one_transaction(self, ledger: Ledger) -> None:
        await ledger.note([claim("k1", None)])
        with pytest.raises(DuplicateClaimError) as caught:
            await ledger.note([judged(), held(), claim("k2", None), claim("k1", None)])
        assert caught.value.key == "k1"
        known = await ledger.known(EVERYTHING)
        assert known.verdict is None
        assert [found.key for found in known.claims] == ["k1"]
        await ledger.note([judged(), held(), claim("k2", None)])
        known = await ledger.known(EVERYTHING)
        assert [found.key for found in known.claims] == ["k2", "k1"]
        assert [found.turn_id for found in known.claims] == [None, None]
        assert known.verdict is not None

    async def test_a_note_makes_no_turn(self, ledger: Ledger) -> None:
        for row in (claim("k1"), judged(turn=NEW_TURN), opened()):
            with pytest.raises(ValueError, match="new turn"):
                await ledger.note([judged("E7"), row])
        asked = Asked(source="slack", event_id="E7", keys=("k1",))
        assert await ledger.known(asked) == Known()

    async def test_one_key_is_claimed_once_however_many_try(self, ledger: Ledger) -> None:
        async def one(number: int) -> bool:
            try:
                await ledger.note([judged(f"E{number}"), claim("k1", None)])
            except DuplicateClaimError:
                return False
            return True

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            racers = [tasks.create_task(one(number)) for number in range(20)]
        assert sum(racer.result() for racer in racers) == 1
        assert len(await ledger.verdicts()) == 1

    async def test_an_expired_claim_is_taken_anew(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await ledger.note([claim("k1", None, life=10)])
        turn = await accept(store, companions=(claim("k1", now=10),))
        (taken,) = (await ledger.known(EVERYTHING)).claims
        assert (taken.turn, taken.expires_at) == (turn.row, at(1010))

    async def test_nothing_is_known_of_what_never_came(self, ledger: Ledger) -> None:
        assert await ledger.known(EVERYTHING) == Known()
        assert await ledger.known(Asked(source="slack", event_id="E1")) == Known()

    # -- verdicts ------------------------------------------------------------------------------
    async def test_the_first_verdict_stays_and_copies_are_counted(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await accept(store, companions=(judged(turn=NEW_TURN, said="hello", place="p"),))
        for _ in range(2):
            await ledger.note([judged("E1", "duplicate", rule="copy", at=at(9))])
        (row,) = await ledger.verdicts()
        assert (row.verdict, row.rule, row.said) == ("accepted", "mention", "hello")
        assert (row.turn_id, row.copies, row.at, row.place) == ("t1", 3, T0, "p")

    async def test_a_held_event_gets_its_verdict_later(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await ledger.note([judged("E1", "held", place="p", speaker="slack:T1:U1")])
        await ledger.note([judged("E1", "held")])
        await accept(store, companions=(judged(turn=NEW_TURN, revises=True, at=at(5)),))
        (row,) = await ledger.verdicts()
        assert (row.verdict, row.turn_id, row.copies, row.at) == ("accepted", "t1", 2, T0)
        assert (row.place, row.speaker) == ("p", "slack:T1:U1")

    async def test_what_revises_nothing_is_the_first(self, ledger: Ledger) -> None:
        await ledger.note([judged("E1", "policy", revises=True)])
        (row,) = await ledger.verdicts()
        assert (row.verdict, row.copies) == ("policy", 1)

    async def test_events_of_different_sources_are_different(self, ledger: Ledger) -> None:
        await ledger.note([judged("E1"), judged("E1", "policy", source="crisp")])
        found = [(row.source, row.verdict, row.copies) for row in await ledger.verdicts()]
        assert found == [("crisp", "policy", 1), ("slack", "accepted", 1)]

    async def test_verdicts_are_asked_by_what_is_known_of_them(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        await accept(store, companions=(judged("E1", turn=NEW_TURN, place="p1"),))
        await accept(store, turn_id="t2", companions=(judged("E2", turn=NEW_TURN, place="p1"),))
        await ledger.note([judged("E3", "loop", place="p2"), judged("E1", source="crisp")])

        async def found(**wanted: str | int) -> list[tuple[str, str]]:
            rows = await ledger.verdicts(**wanted)  # type: ignore[arg-type]
            return [(row.source[0], row.event_id) for row in rows]

        assert await found() == [("c", "E1"), ("s", "E3"), ("s", "E2"), ("s", "E1")]
        assert await found(limit=2) == [("c", "E1"), ("s", "E3")]
        assert await found(event="E1") == [("c", "E1"), ("s", "E1")]
        assert await found(source="slack", event="E1") == [("s", "E1")]
        assert await found(source="slack", event="E1", place="p2") == []
        assert await found(place="p1") == [("s", "E2"), ("s", "E1")]
        assert await found(place="p1", turn_id="t1") == [("s", "E1")]
        assert await found(turn_id="t2") == [("s", "E2")]
        assert await found(turn_id="t2", source="crisp") == []
        assert await found(source="crisp", event="E9") == []
        assert await found(verdict="loop") == [("s", "E3")]
        assert await found(verdict="accepted", source="slack") == [("s", "E2"), ("s", "E1")]
        assert await found(verdict="loop", place="p1") == []
        assert await found(verdict="loop", turn_id="t1") == []
        assert await found(verdict="loop", source="slack", event="E1") == []

    # -- places and pairs ----------------------------------------------------------------------
    async def test_the_first_binding_of_a_place_stays(
        self, store: SessionStore, ledger: Ledger
    ) -> None:
        turn = await accept(store, companions=(bound(now=5),))
        await accept(store, turn_id="t2", companions=(bound(session="other", now=9),))
        await ledger.note([replace(bound(session="third", now=1), turn=None)])
        (place,) = (await ledger.known(EVERYTHING)).bindings
        assert (place.session, place.turn, place.at) == (REF.key, turn.row, at(9))

    async def test_known_places_come_in_the_order_asked(self, ledger: Ledger) -> None:
        await ledger.note([replace(bound(name), turn=None) for name in ("p1", "p2", "p3")])
        asked = Asked(source="slack", event_id="E1", places=("p3", "none", "p1"))
        assert [row.place for row in (await ledger.known(asked)).bindings] == ["p3", "p1"]

    async def test_a_pair_is_counted_within_its_window(self, ledger: Ledger) -> None:
        for now in (0, 40, 100):
            await ledger.note([seen(now=now)])
        (pair,) = (await ledger.known(EVERYTHING)).pairs
        assert pair == Pair(pair=f"{THREAD}:B1", n=3, first_at=T0, last_at=at(100))
        await ledger.note([seen(now=101)])
        (pair,) = (await ledger.known(EVERYTHING)).pairs
        assert pair == Pair(pair=f"{THREAD}:B1", n=1, first_at=at(101), last_at=at(101))

    async def test_a_person_ends_the_count_of_their_own_thread(self, ledger: Ledger) -> None:
        names = [f"{THREAD}:B1", f"{THREAD}:B2", THREAD, f"{THREAD}0:B1", f"{THREAD}é", "a"]
        await ledger.note([seen(name) for name in names])
        await ledger.note([seen(THREAD, 1, reset=True)])
        left = []
        for name in names:
            asked = Asked(source="slack", event_id="E", pairs=(name,))
            if (await ledger.known(asked)).pairs:
                left.append(name)
        assert left == names[3:]
