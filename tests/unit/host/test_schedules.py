"""Schedules over HTTP: how they stand, and running, pausing and resuming one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.engine.kinds import JsonObject
from gateway.schedules.plan import resumed
from gateway.schedules.state import change
from gateway.values import ApiToken, Secret
from tests.unit.host.world import SCHEDULES, Gateway, running

READER = ApiToken("reader", Secret("reader-secret"), rights=frozenset({"read"}))
FULL = ApiToken("full", Secret("full-secret"), identities=("slack:T1:",))


async def digest(gateway: Gateway) -> JsonObject:
    return (await gateway.client.get("/schedules/digest")).json


async def test_they_are_listed_with_their_next_run() -> None:
    async with running() as gateway:
        rows = (await gateway.client.get("/schedules")).rows("schedules")
        assert [(row["name"], row["target"]) for row in rows] == [
            ("digest", None),
            ("told", "slack:C1"),
        ]
        (row, _) = rows
        assert (row["told"], row["timezone"]) == ("weekdays at 09:00", "Europe/Paris")
        assert row["last"] is None
        assert isinstance(row["next"], int)
        assert row["next"] > gateway.api.runtime.clock.now()


async def test_one_is_run_and_tells_what_came_of_it() -> None:
    async with running() as gateway:
        answer = await gateway.client.post("/schedules/digest/run", {})
        assert answer.status == 202
        turn_id, session = str(answer.json["turn_id"]), str(answer.json["session"])
        assert session.startswith("cron:digest:2")
        result = await gateway.api.runtime.session("june", session).result(turn_id)
        assert result.text == "you said: good morning"
        last = (await digest(gateway))["last"]
        assert isinstance(last, dict)
        assert (last["outcome"], last["turn_id"], last["state"]) == ("fired", turn_id, "completed")
        assert (last["delivery"], last["quiet"]) == (None, None)
        await gateway.client.post("/schedules/digest/run", {})
        history = (await gateway.client.get("/schedules/digest?limit=5")).rows("history")
        assert [row["turn_id"] for row in history][1:] == [turn_id]
        path = f"/agents/june/sessions/{session}/transcript"
        assert (await gateway.client.get(path)).status == 200


async def test_one_is_paused_and_resumed() -> None:
    async with running() as gateway:
        row = (await gateway.client.post("/schedules/digest/pause", {})).json
        assert (row["next"], row["paused_by"]) == (None, "api:local")
        assert isinstance(row["paused_at"], int)
        row = (await gateway.client.post("/schedules/digest/resume", {})).json
        assert (row["paused_by"], row["paused_at"]) == (None, None)
        assert isinstance(row["next"], int)


async def test_who_did_it_is_kept() -> None:
    async with running(tokens=(FULL,), token="full-secret") as gateway:
        body = {"by": "slack:T1:ADA"}
        row = (await gateway.client.post("/schedules/digest/pause", body)).json
        assert row["paused_by"] == "slack:T1:ADA via api:full"
        refused = await gateway.client.post("/schedules/digest/run", {"by": "slack:T2:EVE"})
        assert refused.status == 403
        assert not (await gateway.client.get("/turns")).rows("turns")


async def test_looking_needs_one_right_and_doing_another() -> None:
    async with running(tokens=(READER,), token="reader-secret") as gateway:
        assert (await gateway.client.get("/schedules")).status == 200
        for do in ("run", "pause", "resume"):
            refused = await gateway.client.post(f"/schedules/digest/{do}", {})
            assert (refused.status, refused.code) == (403, "forbidden")


@pytest.mark.parametrize("path", ["", "/run", "/pause", "/resume"])
async def test_one_that_is_not_there_names_those_that_are(path: str) -> None:
    async with running() as gateway:
        send = gateway.client.post if path else gateway.client.get
        answer = await send(f"/schedules/nightly{path}", {}) if path else await send("/schedules/x")
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.json["fix"] == "schedules here: digest, told"


async def test_one_that_cannot_be_shown_is_not_run() -> None:
    async with running() as gateway:
        refused = await gateway.client.post("/schedules/told/run", {})
        assert (refused.status, refused.code) == (501, "deliver_unsupported")
        assert not (await gateway.client.get("/turns")).rows("turns")
        row = (await gateway.client.get("/schedules/told")).json
        assert (row["last"], row["problem"]) == (None, None)


async def test_what_fails_shows_in_status_and_metrics() -> None:
    async with running() as gateway:
        status = (await gateway.client.get("/status")).json
        assert (status["schedule_lag"], status["problems"]) == (0.0, [])
        now, why = gateway.api.runtime.clock.now(), "no channel 'slack' is mounted here"
        state = replace(resumed(SCHEDULES["told"], None, now), problem=why, problem_at=now)
        ledger = gateway.api.runtime.store.ledger
        await change(ledger, "june", "told", lambda _: state)
        status = (await gateway.client.get("/status")).json
        assert status["problems"] == [f"schedule told fails: {why}"]
        text = (await gateway.client.get("/metrics")).raw.decode()
        assert "gateway_schedules_failing 1\n" in text
        assert "gateway_schedule_lag_seconds 0\n" in text
