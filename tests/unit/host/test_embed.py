"""The gateway inside somebody else's aiohttp application."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from gateway.definition import Loaded, load_agent
from gateway.engine.agent import AgentDef
from gateway.engine.errors import ConfigError, DeliverUnsupportedError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.outcomes import TurnInput
from gateway.host import Mounted, create_runtime, mount_agent
from gateway.models.scripted import ScriptedModel
from gateway.schedules.plan import ScheduleState
from gateway.schedules.state import Kept, keep
from gateway.stores.memory import MemoryStore
from gateway.values import ApiToken, Secret
from tests.support.http import Client, connect, on_socket
from tests.unit.definition.directories import write
from tests.unit.host.channels.echo import Echo
from tests.unit.host.world import World, agent_for, until


async def front(_: web.Request) -> web.Response:
    return web.Response(text="the shop")


def shop() -> web.Application:
    app = web.Application()
    app.router.add_get("/", front)
    return app


@asynccontextmanager
async def embedded(
    store: str = "memory://", tokens: tuple[ApiToken, ...] = ()
) -> AsyncGenerator[tuple[Client, Mounted], None]:
    agent = agent_for(World())
    runtime = await create_runtime({agent.name: agent}, store=store)
    app = shop()
    mounted = mount_agent(app, agent, runtime, chat_path="/ask", tokens=tokens)
    async with on_socket(app) as url, connect(url) as client:
        yield client, mounted


async def test_its_routes_live_beside_the_applications_own() -> None:
    async with embedded() as (client, _):
        assert (await client.get("/")).raw == b"the shop"
        answer = await client.post("/ask", {"message": "hi", "session": "s1"})
        assert answer.json["text"] == "you said: hi"
        assert (await client.get("/agents/june/sessions/s1/transcript")).status == 200
        for path in ("/nothing", "/message", "/healthz", "/sessions"):
            other = await client.get(path)
            assert other.status == 404
            assert other.raw == b"404: Not Found", "the application's own, not ours"
        problem = await client.get("/agents/june/sessions/s1/turns/none")
        assert problem.code == "not_found"


async def test_it_starts_and_stops_with_the_application(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/june.db"
    async with embedded(url) as (client, _):
        body = {"message": "call gift 1", "session": "s1"}
        assert (await client.post("/ask", body)).status == 202
    async with embedded(url) as (client, mounted):
        pending = await mounted.ctx.session("s1").pending()
        assert pending is not None
        events = mounted.ctx.resume_stream(pending.turn_id, pending.id, True, session="s1")
        assert [event.type async for event in events][-1] == "turn.completed"


async def test_the_context_drives_turns() -> None:
    async with embedded() as (_, mounted):
        ctx = mounted.ctx
        assert (await ctx.run("hi", session="s1")).text == "you said: hi"
        kinds = [event.type async for event in ctx.run_stream("hi", session="s1")]
        assert (kinds[:2], kinds[-1]) == (["turn.queued", "turn.started"], "turn.completed")
        started = await ctx.run_detached(TurnInput(message="x", turn_id="t1"), session="s1")
        assert started.turn_id == "t1"
        assert (await ctx.run("call gift 1", session="s2")).status == "suspended"
        kinds = [event.type async for event in ctx.run_stream("call gift 1", session="s3")]
        assert kinds[-1] == "input.requested"
        assert (await ctx.reset_session("s2")).previous_session == "s2#g0"
        with pytest.raises(DeliverUnsupportedError):
            await ctx.run_delivered("hi", session="s9")
        with pytest.raises(DeliverUnsupportedError):
            await ctx.resume_delivered("t", "r", value=True, session="s9")
        assert await ctx.session("s9").status() == "new"


async def test_tokens_work_there_too() -> None:
    token = ApiToken("app", Secret("the-app-secret"), frozenset({"chat"}))
    async with embedded(tokens=(token,)) as (client, _):
        assert (await client.post("/ask", {"message": "hi"})).status == 401
        known = client.with_token("the-app-secret")
        assert (await known.post("/ask", {"message": "hi"})).status == 200


async def test_it_warns_when_the_tools_differ(caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_for(World())
    fewer = replace(agent, tools={name: agent.tools[name] for name in ("wait", "ask")})
    runtime = await create_runtime({agent.name: agent})
    with caplog.at_level(logging.WARNING, "gateway.host"):
        mount_agent(shop(), agent, runtime)
        assert not caplog.records
        mount_agent(shop(), fewer, runtime)
    (record,) = caplog.records
    assert "gift, refund, vote" in record.getMessage()


async def test_several_agents_of_one_runtime() -> None:
    world = World()
    june, july = agent_for(world), replace(agent_for(world), name="july")
    agents: dict[str, AgentDef] = {june.name: june, july.name: july}
    runtime = await create_runtime(agents)
    app = shop()
    mount_agent(app, june, runtime, chat_path="/june")
    mount_agent(app, july, runtime, chat_path="/july")
    async with on_socket(app) as url, connect(url) as client:
        for name in agents:
            answer = await client.post(f"/{name}", {"message": "hi", "session": "s1"})
            assert answer.status == 200
            path = f"/agents/{name}/sessions/s1/transcript"
            assert len((await client.get(path)).rows("messages")) == 2


async def test_channels_live_there_too() -> None:
    agent, channel = agent_for(World()), Echo()
    runtime = await create_runtime({agent.name: agent})
    app = shop()
    mounted = mount_agent(
        app, agent, runtime, channels=[channel], public_url="https://shop.example"
    )
    async with on_socket(app) as url, connect(url) as client:
        assert channel.ctx is not None
        assert channel.ctx.public_url == "https://shop.example"
        told = {"id": "1", "text": "hi", "fetch": {"what": "news"}}
        assert (await client.post("/channels/echo", told)).raw == b"accepted"
        target: JsonObject = {"source": "echo", "address": "cellar"}
        given = TurnInput(message="call echo_only", source="echo", target=target)
        await mounted.ctx.run_delivered(given, session="s1")
        await until(lambda: ("cellar", "done: echoed") in channel.shown)
        await until(lambda: len(channel.shown) == 2)
        assert (await client.get("/channels/none")).status == 404
        taken = await client.post("/message", {"message": "x", "session": "echo:room"})
        assert (taken.status, taken.code) == (400, "bad_request")
    assert channel.log == ["start", "stop"]


async def test_channels_that_come_too_late() -> None:
    agent = agent_for(World())
    runtime = await create_runtime({agent.name: agent})
    with pytest.raises(ConfigError, match="same source"):
        mount_agent(shop(), agent, runtime, channels=[Echo(), Echo()])
    app = shop()
    mount_agent(app, agent, runtime)
    with pytest.raises(ConfigError, match="serves the runtime already"):
        mount_agent(app, agent, runtime, chat_path="/two", channels=[Echo()])


async def test_what_cannot_be_mounted() -> None:
    agent = agent_for(World())
    runtime = await create_runtime({"other": replace(agent, name="other")})
    with pytest.raises(ConfigError, match="doesn't run the agent 'june'"):
        mount_agent(shop(), agent, runtime)


@pytest.mark.parametrize("cap", [0, -1, 1.5, math.nan, True])
async def test_a_cap_that_cannot_be(cap: float) -> None:
    agent = agent_for(World())
    with pytest.raises(ValueError, match="max_sessions"):
        await create_runtime({agent.name: agent}, max_sessions=cap)


EACH_MINUTE = """
    ---
    cron: "* * * * *"
    target: %s:ops
    ---
    good morning
"""


async def read(folder: Path, files: Mapping[str, str]) -> Loaded:
    return await asyncio.to_thread(
        load_agent,
        await asyncio.to_thread(write, folder, files),
        env={},
        scripted=ScriptedModel,
        offline=True,
        sources=("echo", "fax"),
    )


async def test_schedules_run_there_too_once_in_however_many_applications(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = {f"schedules/{name}.md": EACH_MINUTE % name for name in ("echo", "fax")}
    loaded = await read(tmp_path, files)
    shop_agent, store, channel = await loaded.start(), MemoryStore(), Echo()
    await store.open()
    now = SYSTEM_CLOCK.now()
    due = Millis(now - now % 60_000)
    seen = ScheduleState(line="* * * * * UTC", seen=Millis(due - 60_000))
    await keep(store.ledger, shop_agent.name, "echo", seen, Kept())
    async with AsyncExitStack() as apps:
        for channels in ([channel], [Echo(shown=channel.shown)]):
            app = shop()
            runtime = await create_runtime({shop_agent.name: shop_agent}, store=store)
            mount_agent(app, shop_agent, runtime, channels=channels, close_store=False)
            await apps.enter_async_context(on_socket(app))
        said = "the schedule fax doesn't run here: it speaks on fax:ops, and that channel isn't"
        assert said in caplog.text
        await until(lambda: ("ops", "offline") in channel.shown)
        rows = await store.ledger.occurrences(shop_agent.name, None, 10)
        assert [(row.schedule, row.outcome) for row in rows if row.due == due] == [
            ("echo", "fired")
        ]
    await store.close()


async def test_schedules_may_be_left_to_another_process(tmp_path: Path) -> None:
    agent = await (await read(tmp_path, {})).start()
    runtime = await create_runtime({agent.name: agent})
    assert mount_agent(shop(), agent, runtime, schedules=False).api.schedules is None
    assert mount_agent(shop(), agent, runtime).api.schedules is not None
