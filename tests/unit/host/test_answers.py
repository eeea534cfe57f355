"""Answering what a turn waits on, over HTTP."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.engine.kinds import Json, JsonObject
from gateway.values import ApiToken, Secret
from tests.support.http import Answer, Client
from tests.unit.host.world import LEAD, Gateway, running

S1 = "/agents/june/sessions/s1"
JSON = {"Accept": "application/json"}


async def parked(client: Client, message: str, **more: Json) -> JsonObject:
    """A session ``s1`` that waits; the request with its turn's id."""
    body: JsonObject = {"message": message, "session": "s1", **more}
    answer = await client.post("/message", body)
    assert answer.status == 202, answer.raw
    request = answer.json["request"]
    assert isinstance(request, dict)
    return {**request, "turn_id": answer.json["turn_id"]}


async def resume(client: Client, request: JsonObject, value: Json, **more: Json) -> Answer:
    body: JsonObject = {
        "turn_id": request["turn_id"],
        "input_id": request["id"],
        "value": value,
        **more,
    }
    return await client.post(f"{S1}/resume", body, JSON)


async def logged_by(client: Client, request: JsonObject) -> Json:
    """Who decided, as the log tells."""
    path = f"{S1}/turns/{request['turn_id']}/events"
    events = (await client.get(path, JSON)).rows("events")
    return next(event.get("by") for event in events if event["type"] == "input.answered")


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_an_answer_continues_the_turn(store: str, tmp_path: Path) -> None:
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/june.db"
    async with running(url) as gateway:
        request = await parked(gateway.client, "call refund 1042")
        answer = await resume(gateway.client, request, True, by=LEAD, digest=request["digest"])
        assert (answer.status, answer.json["status"]) == (200, "completed")
        assert answer.headers["Turn-Id"] == request["turn_id"]
        assert gateway.world.refunds == ["1042"]
        assert await logged_by(gateway.client, request) == f"{LEAD} via api:local"


async def test_the_continuation_as_events() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call gift 1")
        body = {"turn_id": request["turn_id"], "input_id": request["id"], "value": False}
        async with gateway.client.stream("POST", f"{S1}/resume", body) as stream:
            frames = await stream.rest()
        assert frames[0].event == "input.answered"
        assert (frames[0].data["outcome"], frames[0].data["by"]) == ("denied", "api:local")
        assert frames[-1].event == "turn.completed"
        seqs = [frame.id for frame in frames if frame.id is not None]
        assert seqs == list(range(5, 5 + len(seqs)))


async def test_a_policy_needs_its_hook() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call refund 1")
        for by in (None, "slack:T1:OTHER"):
            refused = await resume(gateway.client, request, True, **({"by": by} if by else {}))
            assert (refused.status, refused.code) == (403, "not_authorized")
        gateway.world.hook_fails = True
        broken = await resume(gateway.client, request, True, by=LEAD)
        assert (broken.status, broken.code) == (500, "authorize_hook")
        assert "directory" not in broken.raw.decode(), "what failed inside stays inside"
        gateway.world.hook_fails = False
        assert gateway.world.refunds == []
        assert (await resume(gateway.client, request, True, by=LEAD)).status == 200


async def test_what_is_stale_is_409_before_anything_else() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call refund 1")
        gateway.world.hook_fails = True  # and nobody is asked for what can't be answered
        for wrong in ({"turn_id": "other"}, {"id": "other"}, {"digest_": "other"}):
            asked = {**request, **wrong}
            more: JsonObject = {"by": LEAD}
            if "digest_" in wrong:
                more["digest"] = "other"
            answer = await resume(gateway.client, asked, "not even a boolean", **more)
            assert (answer.status, answer.code) == (409, "stale_answer"), wrong
        body = {"turn_id": request["turn_id"], "input_id": request["id"], "value": True}
        elsewhere = await gateway.client.post("/agents/june/sessions/s2/resume", body)
        assert elsewhere.status == 409


async def test_a_value_that_does_not_fit_is_422_and_the_request_stays_open() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call ask")
        for value in ("too long", 7, None):
            answer = await resume(gateway.client, request, value)
            assert (answer.status, answer.code) == (422, "invalid_input")
        assert (await resume(gateway.client, request, "aye")).json["text"] == "done: said aye"


async def test_the_second_answer_is_told_who_was_first() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call refund 1")
        async with asyncio.TaskGroup() as tasks:
            both = [
                tasks.create_task(resume(gateway.client, request, True, by=LEAD)) for _ in range(2)
            ]
        statuses = sorted(one.result().status for one in both)
        assert statuses == [200, 409]
        late = await resume(gateway.client, request, True, by=LEAD)
        assert (late.status, late.code) == (409, "already_answered")
        assert (late.json["by"], late.json["outcome"]) == (f"{LEAD} via api:local", "approved")
        assert gateway.world.refunds == ["1"]


async def test_by_its_id_alone() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call refund 5")
        path = f"/approvals/{request['id']}"
        stale = await gateway.client.post(path, {"value": True, "by": LEAD, "digest": "other"})
        assert stale.status == 409
        answer = await gateway.client.post(
            path, {"value": False, "by": LEAD, "reason": "no", "digest": request["digest"]}
        )
        assert answer.status == 200
        assert answer.json == {
            "id": request["id"],
            "agent": "june",
            "session": "s1",
            "turn_id": request["turn_id"],
            "decided": True,
            "outcome": "denied",
            "votes": 1,
            "quorum": 1,
        }
        decided = (await gateway.client.get(path)).json
        assert (decided["outcome"], decided["by"]) == ("denied", f"{LEAD} via api:local")
        assert (await gateway.client.post(path, {"value": True, "by": LEAD})).status == 409


async def test_a_vote_that_does_not_decide() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call vote")
        body: JsonObject = {
            "turn_id": request["turn_id"],
            "input_id": request["id"],
            "value": True,
            "by": "slack:T1:A",
        }
        async with gateway.client.stream("POST", f"{S1}/resume", body) as stream:
            assert [frame.event for frame in await stream.rest()] == ["input.voted"]
        still = await resume(gateway.client, request, True, by="slack:T1:A")
        assert (still.status, still.json["status"]) == (202, "suspended")


# -- who a token may speak for ---------------------------------------------------------------------
HELPDESK = ApiToken(
    "helpdesk", Secret("helpdesk-secret-1"), frozenset({"chat", "resume"}), ("slack:T1",)
)
FULL = ApiToken("full", Secret("full-secret"))


async def with_tokens(gateway: Gateway) -> tuple[Client, Client]:
    client = gateway.client
    return client.with_token(FULL.secret.value), client.with_token(HELPDESK.secret.value)


async def test_an_identity_beyond_the_tokens_prefixes_is_refused() -> None:
    async with running(tokens=(FULL, HELPDESK)) as gateway:
        full, helpdesk = await with_tokens(gateway)
        request = await parked(helpdesk, "call refund 1")
        for stranger in ("slack:T2:LEAD", "slack:T12:LEAD", "email:lead@shop.example", "api:full"):
            answer = await resume(helpdesk, request, True, by=stranger)
            assert (answer.status, answer.code) == (403, "forbidden"), stranger
        answer = await resume(helpdesk, request, True, by=LEAD)
        assert answer.status == 200
        assert await logged_by(full, request) == f"{LEAD} via api:helpdesk"


async def test_a_speaker_beyond_the_tokens_prefixes_is_refused() -> None:
    async with running(tokens=(FULL, HELPDESK)) as gateway:
        full, helpdesk = await with_tokens(gateway)
        body: JsonObject = {"message": "hi", "session": "s1", "speaker": "slack:T2:U1"}
        refused = await helpdesk.post("/message", body)
        assert (refused.status, refused.code) == (403, "forbidden")
        assert (await full.get("/sessions")).rows("sessions") == []
        assert (await helpdesk.post("/message", {**body, "speaker": "slack:T1:U1"})).status == 200


async def test_money_takes_no_asserted_identity_without_a_policy() -> None:
    async with running(tokens=(FULL,)) as gateway:
        client = gateway.client.with_token(FULL.secret.value)
        request = await parked(client, "call gift 1")
        refused = await resume(client, request, True, by="slack:T1:U1")
        assert (refused.status, refused.code) == (403, "not_authorized")
        assert (await resume(client, request, True)).status == 200
        assert await logged_by(client, request) == "api:full"


@pytest.mark.parametrize("by", ["slack:T1:U1", "slack:T1:U2"])
async def test_a_named_user_answers_through_a_token(by: str) -> None:
    async with running(tokens=(FULL, HELPDESK)) as gateway:
        full, helpdesk = await with_tokens(gateway)
        request = await parked(full, "call ask slack:T1:U1")
        answer = await resume(helpdesk, request, "aye", by=by)
        assert answer.status == (200 if by == "slack:T1:U1" else 403)
        if answer.status == 200:
            assert await logged_by(full, request) == "slack:T1:U1 via api:helpdesk"


async def test_identities_that_could_forge_the_note_of_who_vouched() -> None:
    async with running() as gateway:
        request = await parked(gateway.client, "call refund 1")
        for by in ("slack:T1:LEAD via api:full", "a b", "", "line\nfeed", "nul\x00"):
            answer = await resume(gateway.client, request, True, by=by)
            assert (answer.status, answer.code) == (400, "bad_request"), by
