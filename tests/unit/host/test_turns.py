"""Starting, looking at, ending turns; resetting a session."""

from __future__ import annotations

import asyncio

from gateway.engine.kinds import Json, Millis, SessionRef
from gateway.engine.records import Ask, Audit, Plan, Writes
from gateway.values import ApiToken, Secret
from tests.unit.host.world import running

S1 = "/agents/june/sessions/s1"


async def test_the_turn_id_comes_before_the_body() -> None:
    async with running() as gateway:
        body = {"message": "call wait", "turn_id": "mine"}
        async with gateway.client.stream("POST", f"{S1}/turn", body) as stream:
            assert stream.turn_id == "mine"  # the turn is still running
            gateway.world.gate.set()
            assert (await stream.rest())[-1].event == "turn.completed"


async def test_detached() -> None:
    async with running() as gateway:
        answer = await gateway.client.post(f"{S1}/turn?detach=1", {"message": "call wait"})
        assert answer.status == 202
        assert answer.json == {"turn_id": answer.headers["Turn-Id"], "session": "s1"}
        snapshot = await gateway.client.get(f"{S1}/turns/{answer.json['turn_id']}")
        assert snapshot.json["state"] in {"queued", "running"}
        gateway.world.gate.set()


async def test_delivery_is_refused_before_anything_starts() -> None:
    async with running() as gateway:
        answer = await gateway.client.post(f"{S1}/turn?deliver=1", {"message": "hi"})
        assert (answer.status, answer.code) == (501, "deliver_unsupported")
        assert (await gateway.client.get("/sessions")).rows("sessions") == []
        parked = await gateway.client.post("/message", {"message": "call gift 1", "session": "s1"})
        request = parked.json["request"]
        assert isinstance(request, dict)
        body = {"turn_id": parked.json["turn_id"], "input_id": request["id"], "value": True}
        answer = await gateway.client.post(f"{S1}/resume?deliver=1", body)
        assert answer.status == 501
        assert len((await gateway.client.get("/approvals")).rows("approvals")) == 1


async def test_replaying_an_answered_request_does_not_end_the_stream() -> None:
    async with running() as gateway:
        start = {"message": "call gift 1", "turn_id": "t1"}
        async with gateway.client.stream("POST", f"{S1}/turn", start) as stream:
            request = (await stream.rest())[-1].data["id"]
        answer = {"turn_id": "t1", "input_id": request, "value": True}
        json = {"Accept": "application/json"}
        assert (await gateway.client.post(f"{S1}/resume", answer, json)).status == 200
        async with gateway.client.stream("POST", f"{S1}/turn", start) as stream:
            kinds = [frame.event for frame in await stream.rest()]
        assert "input.requested" in kinds
        assert kinds[-1] == "turn.completed"


async def test_snapshot_and_transcript() -> None:
    async with running() as gateway:
        await gateway.client.post("/message", {"message": "hi", "session": "s1", "turn_id": "t1"})
        snapshot = (await gateway.client.get(f"{S1}/turns/t1")).json
        assert (snapshot["state"], snapshot["text"]) == ("completed", "you said: hi")
        assert (snapshot["cost"], snapshot["last_seq"]) == ("0", 4)
        assert "error" not in snapshot
        assert "request" not in snapshot
        messages = (await gateway.client.get(f"{S1}/transcript")).rows("messages")
        assert [(one["role"], one["turn_id"]) for one in messages] == [
            ("user", "t1"),
            ("assistant", "t1"),
        ]
        assert messages[0]["content"] == [{"type": "text", "text": "hi"}]


async def test_reset_archives_and_the_archive_stays_readable() -> None:
    async with running() as gateway:
        await gateway.client.post("/message", {"message": "old", "session": "s1"})
        reset = await gateway.client.post(f"{S1}/reset")
        assert reset.json == {"previous_session": "s1#g0", "generation": 1}
        assert (await gateway.client.get(f"{S1}/transcript")).rows("messages") == []
        old = await gateway.client.get("/agents/june/sessions/s1%23g0/transcript")
        assert len(old.rows("messages")) == 2
        for missing in ("s1%23g7", "s1%23x", "s1%23", "never", "s1%23g99999999999999999999"):
            answer = await gateway.client.get(f"/agents/june/sessions/{missing}/transcript")
            assert (answer.status, answer.code) == (404, "not_found")


async def test_what_is_not_there_is_404() -> None:
    async with running() as gateway:
        for path in (
            "/agents/nobody/sessions/s1/transcript",
            f"{S1}/turns/none",
            f"{S1}/turns/none/events",
            "/approvals/none",
        ):
            answer = await gateway.client.get(path)
            assert (answer.status, answer.code) == (404, "not_found"), path
        answer = await gateway.client.post(f"{S1}/turns/none/cancel")
        assert answer.status == 404
        answer = await gateway.client.post("/agents/nobody/sessions/s1/turn", {"message": "x"})
        assert answer.status == 404
        assert "june" in str(answer.json["fix"])


async def test_lists() -> None:
    async with running() as gateway:
        for session in ("s1", "s2"):
            await gateway.client.post("/message", {"message": "hello there", "session": session})
        await gateway.client.post("/message", {"message": "call gift 1", "session": "s3"})
        sessions = (await gateway.client.get("/sessions")).rows("sessions")
        assert {str(one["session"]): one["status"] for one in sessions} == {
            "s1": "idle",
            "s2": "idle",
            "s3": "suspended",
        }
        suspended = (await gateway.client.get("/sessions?status=suspended")).rows("sessions")
        assert [one["session"] for one in suspended] == ["s3"]
        turns = (await gateway.client.get("/turns?session=s1")).rows("turns")
        assert [(one["state"], one["opening"]) for one in turns] == [("completed", "hello there")]
        assert len((await gateway.client.get("/turns?limit=2")).rows("turns")) == 2
        assert (await gateway.client.get("/turns?agent=nobody")).rows("turns") == []
        (open_one,) = (await gateway.client.get("/approvals")).rows("approvals")
        assert open_one["session"] == "s3"
        assert open_one["id"] == suspended[0]["pending"]
        assert (await gateway.client.get(f"/approvals/{open_one['id']}")).json == open_one
        (agent,) = (await gateway.client.get("/agents")).rows("agents")
        assert agent["name"] == "june"
        status = (await gateway.client.get("/status")).json
        assert (status["approvals"], status["ready"]) == (1, True)


async def test_health_ready_metrics() -> None:
    async with running() as gateway:
        assert (await gateway.client.get("/healthz")).json == {"status": "ok"}
        await gateway.client.post("/message", {"message": "hi", "session": "s1"})
        await gateway.client.post("/message", {"message": "call refund 1", "session": "s2"})
        text = (await gateway.client.get("/metrics")).raw.decode()
        assert 'gateway_turns_total{status="completed"} 1' in text
        assert "gateway_approvals_pending 1" in text
        assert 'gateway_http_requests_total{route="message",method="POST",status="202"} 1' in text
        assert "s1" not in text.replace("s1_", ""), "no session is a label"
        gateway.api.drain()
        ready = await gateway.client.get("/readyz")
        assert ready.status == 503
        assert "draining" in str(ready.json["problems"])
        assert (await gateway.client.get("/healthz")).status == 200
        refused = await gateway.client.post("/message", {"message": "hi"})
        assert (refused.status, refused.code) == (503, "draining")
        assert refused.headers["Retry-After"] == "1"


async def test_two_at_once_keep_their_order() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(
            gateway.client.post("/message", {"message": "call wait", "session": "s1"})
        )
        await gateway.world.running.wait()
        second = tasks.create_task(
            gateway.client.post("/message", {"message": "second", "session": "s1"})
        )
        elsewhere = await gateway.client.post("/message", {"message": "hi", "session": "s2"})
        assert elsewhere.status == 200
        assert not second.done()
        gateway.world.gate.set()
        assert (await first).status == (await second).status == 200


async def test_the_audit_is_read_by_page_and_with_the_right_admin_only() -> None:
    tokens = tuple(
        ApiToken(right, Secret(f"{right}-secret-of-it"), frozenset({right}), ())
        for right in ("read", "admin")
    )
    async with running(tokens=tokens, token="admin-secret-of-it") as gateway:
        ref = SessionRef("june", "s1")
        rows = tuple(
            Audit(
                at=Millis(k), kind="outcome_unknown", agent="june", session=f"s{k % 2}",
                turn_id=f"t{k}", subject="tool:1:c", by=None, digest=None, outcome="unknown",
            )
            for k in range(1, 4)
        )  # fmt: skip
        store = gateway.api.runtime.store
        await store.amend(
            ref, Ask(create=True), lambda _: Plan(None, writes=Writes(companions=rows))
        )

        async def turns(query: str) -> list[Json]:
            found = (await gateway.client.get(f"/audit{query}")).rows("audit")
            return [row["turn_id"] for row in found]

        assert await turns("") == ["t3", "t2", "t1"]
        (last,) = (await gateway.client.get("/audit?limit=1")).rows("audit")
        assert await turns(f"?before={last['number']}&limit=1") == ["t2"]
        assert await turns("?session=s1") == ["t3", "t1"]
        assert await turns("?session=s1&turn=t1") == ["t1"]
        assert await turns("?agent=nobody") == []
        for wrong in ("0", "-1", "x", "9" * 19):
            answer = await gateway.client.get(f"/audit?before={wrong}")
            assert (answer.status, answer.code) == (400, "bad_request")
        reader = gateway.client.with_token("read-secret-of-it")
        assert (await reader.get("/turns")).status == 200
        assert (await reader.get("/audit")).status == 403
