"""What the author saves is taken up by the next turn; a mistake is said, and the old code goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import cast

import pytest

from gateway.config import Settings
from gateway.definition import Loaded
from gateway.engine.outcomes import TurnInput
from gateway.host import Serving, serve
from gateway.host.compose import Host, open_host
from gateway.host.hostfile import find_host
from gateway.host.reloading.looking import look
from gateway.host.reloading.reloader import Reloader
from gateway.values import Secret
from tests.support.http import connect
from tests.unit.definition.directories import write

TOKEN = "a-token-for-tests-only"


def ask(word: str) -> str:
    return f'''
        from gateway import ToolContext, tool

        from .._words import SUFFIX

        @tool
        async def ask(ctx: ToolContext) -> str:
            """Ask a person."""
            await ctx.request_input(id="ok", prompt="May I?")
            return "{word}" + SUFFIX
    '''


FILES: dict[str, str | None] = {
    "agent.py": 'from gateway import Agent\nagent = Agent(name="shop", model="scripted")\n',
    "_words.py": 'SUFFIX = "!"\n',
    "tools/ask.py": ask("first"),
    "tools/find_order.py": None,
    "schedules/daily.md": None,
    "offline.py": """
        from gateway import ModelReply

        def reply(request):
            last = request.messages[-1].results
            if request.text == "hello":
                return ModelReply.say(request.system.split(chr(10))[0])
            return ModelReply.say(str(last[0].output)) if last else ModelReply.call("ask")
    """,
}


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return write(tmp_path / "agent", FILES)


@pytest.fixture
def settings(agent: Path, tmp_path: Path) -> Settings:
    return Settings(
        agent=agent, state=tmp_path / "state", port=0, api_token=Secret(TOKEN), model="scripted"
    )


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "gateway.host")
    return lambda: [
        record.getMessage() for record in caplog.records if record.name == "gateway.host"
    ]


@asynccontextmanager
async def reloading(
    settings: Settings, heard: Callable[[Loaded], object] | None = None
) -> AsyncGenerator[Host]:
    taken = await asyncio.to_thread(look, settings.agent)
    async with open_host(settings) as host, asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(Reloader(host, taken, every=0.01, told=heard).run())
        yield host
        watching.cancel()


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.01)


def save(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(dedent(text))


async def test_who_has_to_know_hears_of_what_was_taken_up(settings: Settings, agent: Path) -> None:
    heard: list[Loaded] = []
    async with reloading(settings, heard.append):
        save(agent, "schedules/daily.md", "---\ncron: '0 9 * * *'\n---\nSum up.\n")
        await until(lambda: bool(heard))
    assert [*heard[0].schedules] == ["daily"]


async def test_the_next_turn_runs_what_was_saved_and_a_parked_one_what_it_began_with(
    settings: Settings, agent: Path, told: Callable[[], list[str]]
) -> None:
    async with reloading(settings) as host:
        session = host.runtime.session("shop", "s1")
        started = await session.start(TurnInput(message="go"))
        parked = await session.result(started.turn_id)
        assert parked.request is not None
        save(agent, "tools/ask.py", ask("second"))
        save(agent, "_words.py", 'SUFFIX = "?"\n')
        save(agent, "instructions.md", "You joke.\n")
        await until(lambda: "reloaded: _words.py, instructions.md, tools/ask.py" in told())

        await session.resume(started.turn_id, parked.request.id, True)
        assert (await session.result(started.turn_id)).text == "first!"
        assert (await session.turn(TurnInput(message="hello"))).text == "You joke."
        again = await session.start(TurnInput(message="go"))
        asked = (await session.result(again.turn_id)).request
        assert asked is not None
        await session.resume(again.turn_id, asked.id, True)
        assert (await session.result(again.turn_id)).text == "second?"


async def test_a_mistake_is_said_with_its_line_and_the_old_code_goes_on(
    settings: Settings, agent: Path, told: Callable[[], list[str]]
) -> None:
    async with reloading(settings) as host:
        session = host.runtime.session("shop", "s1")
        save(agent, "tools/ask.py", "from gateway import tool\nimport nothing_of_this_name\n")
        await until(lambda: bool(host.api.mistakes))
        (mistake,) = host.api.mistakes
        assert mistake.startswith(
            f"not reloaded, the code from before goes on: {agent}/tools/ask.py:2: fails on import"
        )
        assert told()[-1] == mistake
        assert (await session.turn(TurnInput(message="hello"))).text == "You help."
        save(agent, "tools/ask.py", ask("mended"))
        await until(lambda: not host.api.mistakes)
        assert told()[-1] == "reloaded: tools/ask.py"


async def test_every_mistake_of_a_save_is_said(settings: Settings, agent: Path) -> None:
    async with reloading(settings) as host:
        save(agent, "offline.py", "def reply(:\n")
        save(agent, "agent.py", "agent = 1\n")
        await until(lambda: len(host.api.mistakes) == 2)
        assert [str(agent / name) in said for name, said in zip(
            ("agent.py", "offline.py"), host.api.mistakes, strict=True
        )] == [True, True]  # fmt: skip


async def test_an_agent_that_was_renamed_waits_for_a_new_start(
    settings: Settings, agent: Path
) -> None:
    async with reloading(settings) as host:
        save(agent, "agent.py", str(FILES["agent.py"]).replace("shop", "bakery"))
        await until(lambda: bool(host.api.mistakes))
        assert "shop was renamed to bakery" in host.api.mistakes[0]
        assert [*host.runtime.agents] == ["shop"]


async def test_services_that_cannot_be_built_leave_the_old_ones(
    settings: Settings, agent: Path
) -> None:
    async with reloading(settings) as host:
        broken = 'agent = Agent(name="shop", model="scripted", services=lambda env: env["GONE"])\n'
        save(agent, "agent.py", f"from gateway import Agent\n{broken}")
        await until(lambda: bool(host.api.mistakes))
        (mistake,) = host.api.mistakes
        assert mistake.endswith("need GONE, which isn't set. fix: set GONE in the environment")


async def test_a_schedule_is_taken_up_with_the_rest(
    settings: Settings, agent: Path, told: Callable[[], list[str]]
) -> None:
    async with reloading(settings) as host:
        assert host.api.schedules is not None
        assert await host.api.schedules.rows() == []
        head = '---\ncron: "0 9 * * *"\n---\n'
        save(agent, "schedules/daily.md", f"{head}Write the digest.\n")
        await until(lambda: "reloaded: schedules/daily.md" in told())
        assert [row["name"] for row in await host.api.schedules.rows()] == ["daily"]


async def test_a_channel_is_taken_up_at_the_next_start(
    settings: Settings, agent: Path, told: Callable[[], list[str]]
) -> None:
    async with reloading(settings) as host:
        slack = "from channels.slack import slack_channel\n\ndef channel(env):\n"
        save(agent, "channels/slack.py", f"{slack}    return slack_channel(env)\n")
        waits = "taken up at the next start: channels/slack.py"
        await until(lambda: waits in told())
        assert told() == [waits], "it isn't said to be reloaded, too"
        assert host.api.channels == ()


def test_only_code_and_prompts_are_watched(agent: Path) -> None:
    before = look(agent)
    assert set(before) >= {"agent.py", "_words.py", "skills/returns/SKILL.md", "tools/ask.py"}
    for name in (
        "shop.db", "serve.log", ".ask.py.swp", ".hidden/x.py", "__pycache__/ask.cpython-311.py",
    ):  # fmt: skip
        (agent / name).parent.mkdir(exist_ok=True)
        (agent / name).write_text("changes all the time")
    assert look(agent) == before
    assert look(agent / "nowhere") == {}


async def test_a_served_host_says_it_in_its_status(settings: Settings, agent: Path) -> None:
    how = Serving(reload=True)
    ready = asyncio.Event()
    how.ready = lambda _: ready.set()
    async with asyncio.TaskGroup() as tasks:
        host = tasks.create_task(serve(settings, how))
        await ready.wait()
        found = await asyncio.to_thread(find_host, settings.state)
        assert found is not None
        async with connect(found.url, token=TOKEN) as client:

            async def problems() -> list[str]:
                status = (await client.get("/status")).json
                return cast("list[str]", status["problems"])

            async def said() -> bool:
                return any("offline.py:1: can't be parsed" in one for one in await problems())

            assert await problems() == []
            save(agent, "offline.py", "def reply(:\n")
            await until(said)
            assert (await client.get("/readyz")).status == 200
        how.stop.set()
    assert host.result() == 0
