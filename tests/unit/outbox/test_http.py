"""The routes for operators: what is shown where, what died of what, how events were judged."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Part, Receipt
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.records import NEW_TURN, DeliveryOpened, VerdictMade
from gateway.values import ApiToken, Secret
from tests.unit.host.world import Gateway, running

NOW = Millis(1_700_000_000_000)
READER = ApiToken("reader", Secret("reader-secret"), rights=frozenset({"read"}))


@asynccontextmanager
async def shown(*, token: str | None = None) -> AsyncGenerator[Gateway]:
    """A turn that was accepted from Slack, its reply dead and a note done."""
    tokens = () if token is None else (READER,)
    async with running(tokens=tokens, token=token) as gateway:
        await fill(gateway.api.runtime.store, gateway)
        yield gateway


async def fill(store: SessionStore, gateway: Gateway) -> None:
    def row(part: str) -> DeliveryOpened:
        target: JsonObject = {"channel": "C1"}
        return DeliveryOpened(
            turn=NEW_TURN, part=part, source="slack", target=target, lane=part, at=NOW
        )

    judged = VerdictMade(
        source="slack",
        event_id="E1",
        verdict="accepted",
        rule="mention",
        place="slack:T1:C1:1.2",
        speaker="slack:T1:U1",
        turn=NEW_TURN,
        at=NOW,
    )
    given = TurnInput(
        message="hi", turn_id="t1", companions=(row("reply"), row("note:queued"), judged)
    )
    await gateway.api.runtime.session("june", "s1").start(given)
    await gateway.api.runtime.session("june", "s1").result("t1")
    ignored = VerdictMade(
        source="slack", event_id="E2", verdict="not_addressed", rule="none", at=NOW
    )
    await store.ledger.note([ignored])
    for held in await store.ledger.claim("host-x", ("slack",), NOW, Millis(60_000), 9):
        part = Part(delivery=held.id, n=1, kind="post", state="open", nonce="x", opened_at=NOW)
        await store.ledger.journal(held.token, [part])
        dead = held.part == "reply"
        receipt = Receipt(
            delivery=held.id,
            token=held.token,
            satisfied=0 if dead else 1,
            state="dead" if dead else "done",
            seq=3,
            error="is_archived: the channel is archived" if dead else None,
            revive_on="installation:T1" if dead else None,
        )
        await store.ledger.settle(receipt)


async def test_deliveries_are_listed_the_latest_first() -> None:
    async with shown() as gateway:
        rows = (await gateway.client.get("/deliveries")).rows("deliveries")
        assert [(row["part"], row["state"]) for row in rows] == [
            ("note:queued", "done"),
            ("reply", "dead"),
        ]
        (dead,) = (await gateway.client.get("/deliveries?state=dead")).rows("deliveries")
        assert (dead["turn_id"], dead["session"], dead["agent"]) == ("t1", "s1", "june")
        assert (dead["error"], dead["revive_on"]) == (
            "is_archived: the channel is archived",
            "installation:T1",
        )
        assert (await gateway.client.get("/deliveries?turn_id=t9")).rows("deliveries") == []
        assert (
            len((await gateway.client.get("/deliveries?turn_id=t1&limit=1")).rows("deliveries"))
            == 1
        )
        assert (await gateway.client.get("/deliveries?state=odd")).status == 400
        one = await gateway.client.get(f"/deliveries/{dead['id']}")
        assert one.json == dead
        assert [part["state"] for part in one.rows("parts")] == ["open"]


async def test_a_dead_one_is_retried_and_no_other() -> None:
    async with shown() as gateway:
        done, dead = (await gateway.client.get("/deliveries")).rows("deliveries")
        answer = await gateway.client.post(f"/deliveries/{dead['id']}/retry", {})
        assert answer.status == 200
        assert (answer.json["state"], answer.json["wanted"], answer.json["attempts"]) == (
            "due",
            2,
            0,
        )
        for row in (done, dead):
            again = await gateway.client.post(f"/deliveries/{row['id']}/retry", {})
            assert (again.status, again.code) == (409, "not_dead")


async def test_what_isnt_there_is_not_found() -> None:
    async with shown() as gateway:
        for wrong in ("999", "999999999999999999", "9" * 30, "x", "-1", "1.0"):
            assert (await gateway.client.get(f"/deliveries/{wrong}")).status == 404
            assert (await gateway.client.post(f"/deliveries/{wrong}/retry", {})).status == 404


async def test_verdicts_are_found_by_event_place_turn_and_channel() -> None:
    async with shown() as gateway:
        rows = (await gateway.client.get("/verdicts")).rows("verdicts")
        assert [(row["event"], row["verdict"]) for row in rows] == [
            ("E2", "not_addressed"),
            ("E1", "accepted"),
        ]
        for query in ("event=E1", "place=slack:T1:C1:1.2", "turn_id=t1", "event=E1&source=slack"):
            (row,) = (await gateway.client.get(f"/verdicts?{query}")).rows("verdicts")
            assert (row["event"], row["rule"], row["turn_id"]) == ("E1", "mention", "t1")
        assert (await gateway.client.get("/verdicts?source=email")).rows("verdicts") == []


async def test_who_may_look_may_not_retry() -> None:
    async with shown(token="reader-secret") as gateway:
        (dead,) = (await gateway.client.get("/deliveries?state=dead")).rows("deliveries")
        answer = await gateway.client.post(f"/deliveries/{dead['id']}/retry", {})
        assert (answer.status, answer.code) == (403, "forbidden")
        assert (await gateway.client.get("/verdicts")).status == 200
