"""``POST /message``: a conversation in one route."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.unit.host.world import running


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_message_is_answered(store: str, tmp_path: Path) -> None:
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/june.db"
    async with running(url) as gateway:
        answer = await gateway.client.post("/message", {"message": "hello", "session": "s1"})
        assert answer.status == 200
        assert answer.json == {
            "text": "you said: hello",
            "turn_id": answer.headers["Turn-Id"],
            "session": "s1",
            "status": "completed",
        }
        assert answer.headers["Cache-Control"] == "no-store"


async def test_without_a_session_a_new_one_is_made_and_told() -> None:
    async with running() as gateway:
        one = await gateway.client.post("/message", {"message": "a"})
        two = await gateway.client.post("/message", {"message": "a"})
        assert one.json["session"] != two.json["session"]
        assert len(str(one.json["session"])) >= 32
        again = {"message": "b", "session": one.json["session"]}
        assert (await gateway.client.post("/message", again)).status == 200


async def test_a_turn_that_parks_is_202_and_the_session_409_for_others() -> None:
    async with running() as gateway:
        parked = await gateway.client.post(
            "/message", {"message": "call refund 1042", "session": "s1", "turn_id": "t1"}
        )
        assert (parked.status, parked.json["status"]) == (202, "suspended")
        request = parked.json["request"]
        assert isinstance(request, dict)
        assert {"id", "name", "prompt", "schema", "digest"} <= set(request)
        assert (request["prompt"], request["schema"]) == ("Refund 1042?", {"type": "boolean"})
        other = await gateway.client.post("/message", {"message": "hi", "session": "s1"})
        assert (other.status, other.code) == (409, "session_suspended")
        same = await gateway.client.post(
            "/message", {"message": "call refund 1042", "session": "s1", "turn_id": "t1"}
        )
        assert (same.status, same.json["request"]) == (202, request)


async def test_a_turn_that_fails_is_502_with_its_own_json() -> None:
    async with running() as gateway:
        answer = await gateway.client.post("/message", {"message": "fail", "session": "s1"})
        assert answer.status == 502
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        assert answer.json["status"] == "failed"
        error = answer.json["error"]
        assert isinstance(error, dict)
        assert error["message"] == "the model is out of words"
        assert error["phase"] == "model"


async def test_a_cancelled_turn_is_409_with_its_own_json() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        body = {"message": "call wait", "session": "s1", "turn_id": "t1"}
        asked = tasks.create_task(gateway.client.post("/message", body))
        await gateway.world.running.wait()
        path = "/agents/june/sessions/s1/turns/t1/cancel"
        cancelled = await gateway.client.post(path)
        assert (cancelled.status, cancelled.json["state"]) == (202, "running")
        gateway.world.gate.set()
        answer = await asked
        assert (answer.status, answer.json["status"]) == (409, "cancelled")
        assert answer.json["error"] == {"reason": "requested"}
        again = await gateway.client.post(path)
        assert (again.status, again.json["state"]) == (200, "cancelled")


async def test_the_same_turn_id_is_the_same_turn() -> None:
    async with running() as gateway:
        body = {"message": "hello", "session": "s1", "turn_id": "t1"}
        first = await gateway.client.post("/message", body)
        second = await gateway.client.post("/message", body)
        assert first.json == second.json
        other = await gateway.client.post("/message", {**body, "message": "else"})
        assert (other.status, other.code) == (409, "turn_id_conflict")
        transcript = await gateway.client.get("/agents/june/sessions/s1/transcript")
        assert len(transcript.rows("messages")) == 2


async def test_replace_cancels_what_runs() -> None:
    async with running() as gateway, asyncio.TaskGroup() as tasks:
        body = {"message": "call wait", "session": "s1"}
        first = tasks.create_task(gateway.client.post("/message", body))
        await gateway.world.running.wait()
        newer = {"message": "newer", "session": "s1"}
        second = tasks.create_task(gateway.client.post("/message?replace=1", newer))
        async with asyncio.timeout(5):
            while not (await gateway.client.get("/turns?state=queued")).rows("turns"):
                pass
        gateway.world.gate.set()
        assert (await first).json["error"] == {"reason": "replaced"}
        assert (await second).json["text"] == "you said: newer"


async def test_as_events_up_to_the_end() -> None:
    async with (
        running() as gateway,
        gateway.client.stream("POST", "/message", {"message": "one two"}) as stream,
    ):
        frames = await stream.rest()
        kinds = [frame.event for frame in frames if frame.id is not None]
        assert kinds == ["turn.started", "message.completed", "usage", "turn.completed"]
        assert [frame.id for frame in frames if frame.id] == [1, 2, 3, 4]
        assert any(frame.event == "message.delta" and frame.id is None for frame in frames)
        for frame in frames:
            assert frame.data["type"] == frame.event
            assert frame.data["turn_id"] == stream.turn_id
            assert isinstance(frame.data["at"], int)


async def test_as_events_up_to_the_request() -> None:
    async with running() as gateway:
        body = {"message": "call refund 7", "session": "s1"}
        async with gateway.client.stream("POST", "/message", body) as stream:
            frames = await stream.rest()
        assert frames[-1].event == "input.requested"


async def test_a_client_that_leaves_does_not_disturb_the_turn() -> None:
    async with running() as gateway:
        body = {"message": "call wait", "session": "s1", "turn_id": "t1"}
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(gateway.client.post("/message", body))
            await gateway.world.running.wait()
            asked.cancel()
        gateway.world.gate.set()
        async with gateway.client.stream(
            "GET", "/agents/june/sessions/s1/turns/t1/events"
        ) as stream:
            assert (await stream.rest())[-1].event == "turn.completed"


async def test_a_speaker_is_vouched_for() -> None:
    async with running() as gateway:
        speaker = {"id": "crm:42", "name": "Jo", "level": "sender"}
        body = {"message": "call ask", "session": "s1", "speaker": speaker}
        answer = await gateway.client.post("/message", body)
        # Known no better than by name: nobody named may answer for them, and the tool is told so.
        assert answer.status == 200
        assert "named" in str(answer.json["text"]) or "verified" in str(answer.json["text"])
        turns = await gateway.client.get("/turns?session=s1")
        assert turns.rows("turns")[0]["speaker"] == "crm:42"
