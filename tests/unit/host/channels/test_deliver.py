"""``deliver``: a turn that its channel shows, or nothing at all."""

from __future__ import annotations

import pytest

from channels.contract import Verdict
from gateway.engine.errors import DeliverUnsupportedError, InvalidInputError
from gateway.engine.outcomes import TurnInput
from gateway.schedules.fire import receive
from tests.unit.host.channels.echo import Echo, post
from tests.unit.host.channels.stage import Stage, staged
from tests.unit.host.world import LEAD, running, until

S1 = "/agents/june/sessions/s1"
ROOM = {"source": "echo", "address": "room"}


async def started_nothing(stage: Stage) -> bool:
    return not (await stage.client.get("/turns")).rows("turns")


async def test_a_turn_is_taken_and_shown_by_its_channel() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        body = {"message": "hi", "turn_id": "t1", "target": ROOM}
        answer = await stage.client.post(f"{S1}/turn?deliver=1", body)
        assert answer.status == 202
        assert answer.json == {"turn_id": "t1", "session": "s1"}
        assert answer.headers["Turn-Id"] == "t1"
        await until(lambda: bool(channel.shown))
        again = await stage.client.post(f"{S1}/turn?deliver=1", body)
        assert (again.status, channel.shown) == (202, [("room", "you said: hi")])


async def test_an_answer_is_taken_and_what_comes_of_it_shown() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        body = {"message": "call ask", "turn_id": "t1", "target": ROOM, "speaker": "echo:ada"}
        await stage.client.post(f"{S1}/turn?deliver=1", body)
        await until(lambda: ("room", "Say? open") in channel.shown)
        request = (await stage.client.get("/approvals")).rows("approvals")[0]
        told = {"turn_id": "t1", "input_id": request["id"], "value": "word", "by": "echo:ada"}
        answer = await stage.client.post(f"{S1}/resume?deliver=1", told)
        assert (answer.status, answer.json) == (202, {"turn_id": "t1", "session": "s1"})
        await until(lambda: ("room", "done: said word") in channel.shown)
        await until(lambda: ("room", "Say? answered") in channel.shown)


async def test_where_nothing_carries_nothing_starts() -> None:
    async with running(channels=("echo",)) as gateway:
        for path in ("turn", "resume"):
            body: dict[str, object] = {"message": "hi", "target": ROOM}
            if path == "resume":
                body = {"turn_id": "t1", "input_id": "r", "value": True}
            answer = await gateway.client.post(f"{S1}/{path}?deliver=1", body)
            assert (answer.status, answer.code) == (501, "deliver_unsupported")
        assert not (await gateway.client.get("/turns")).rows("turns")


@pytest.mark.parametrize("target", [{"source": "slack", "address": "C1"}, {"address": "C1"}])
async def test_a_channel_that_is_not_there_starts_nothing(target: dict[str, str]) -> None:
    async with staged([Echo()]) as stage:
        body = {"message": "hi", "target": target}
        answer = await stage.client.post(f"{S1}/turn?deliver=1", body)
        assert (answer.status, answer.code) == (501, "deliver_unsupported")
        assert ("SLACK_BOT_TOKEN" in str(answer.json["fix"])) is ("source" in target)
        assert await started_nothing(stage)


async def test_a_turn_that_nobody_shows_is_not_answered_for_somebody() -> None:
    async with staged([Echo()]) as stage:
        body = {"message": "call gift 1", "session": "s1", "turn_id": "t1"}
        request = (await stage.client.post("/message", body)).json["request"]
        assert isinstance(request, dict)
        told = {"turn_id": "t1", "input_id": request["id"], "value": True}
        answer = await stage.client.post(f"{S1}/resume?deliver=1", told)
        assert (answer.status, answer.code) == (501, "deliver_unsupported")
        assert "without a delivery" in str(answer.json["detail"])
        assert len((await stage.client.get("/approvals")).rows("approvals")) == 1


async def test_from_code() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        ctx = stage.ctx
        opened: list[int] = []

        def beside(standing: object) -> tuple[()]:
            opened.append(1)
            return ()

        given = TurnInput(message="call refund 1", target=dict(ROOM), companions=beside)
        started = await ctx.run_delivered(given, session="s1")
        assert opened, "what the caller wanted committed with it still is"
        await until(lambda: ("room", "Refund 1? open") in channel.shown)
        pending = await ctx.session("s1").pending()
        assert pending is not None
        granted = await ctx.session("s1").grant(pending.id, by=LEAD, principal=None)
        assert granted is None, "a hook that is told of nobody lets nobody"
        await ctx.reset_session("s1")
        await until(lambda: ("room", "Refund 1? cancelled") in channel.shown)
        result = await ctx.session("s1").result(started.turn_id)
        assert result.status == "cancelled"
        with pytest.raises(InvalidInputError, match="doesn't say where"):
            await ctx.run_delivered(TurnInput(message="x", source="echo"), session="s2")
        with pytest.raises(DeliverUnsupportedError):
            await ctx.run_delivered("x", session="s2")
        assert await ctx.session("s2").status() == "new"


async def test_a_channels_own_context() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        await until(lambda: channel.ctx is not None)
        ctx = channel.ctx
        assert ctx is not None
        assert (ctx.agent, ctx.public_url, ctx.sealer) == ("june", None, None)
        assert (await ctx.run("call echo_only", session="echo:r1")).text == "done: echoed"
        kinds = [event.type async for event in ctx.run_stream("call gift 1", session="echo:r2")]
        assert kinds[-1] == "input.requested"
        verdict = await ctx.receive(post("1", "hi"))
        assert isinstance(verdict, Verdict)
        assert verdict.turn_id == "echo:1"
        assert ctx.clock is stage.api.runtime.clock
        assert ctx.ledger is stage.api.runtime.store.ledger


async def test_speaking_first() -> None:
    channel = Echo()
    async with staged([channel]) as stage:
        await until(lambda: channel.ctx is not None)
        assert channel.ctx is not None
        started = await receive(
            channel,
            channel.ctx,
            seed="good morning",
            target=str(ROOM["address"]),
            trigger="cron:digest",
            session="cron:digest:1",
        )
        assert started.created
        await until(lambda: channel.shown == [("room", "you said: good morning")])
        path = "/agents/june/sessions/cron:digest:1/transcript"
        assert (await stage.client.get(path)).rows("messages")[0]["role"] == "trigger"
