"""One host as a process: what it refuses to start with, how it is found, how it stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from gateway.config import Settings, SettingsError
from gateway.definition import DefinitionError
from gateway.engine.errors import ConfigError
from gateway.host import Serving, serve
from gateway.host.hostfile import announce, find_host, local_url, make_cli_token, withdraw
from gateway.host.serving import idle_settings
from gateway.values import Secret
from tests.support.forks import forked, listening
from tests.support.http import Client, connect
from tests.unit.host.world import until

AGENT = """
from __future__ import annotations
from gateway import Agent
agent = Agent(name="shop", model="scripted")
"""
OFFLINE = """
from __future__ import annotations
from gateway import ModelReply
def reply(request):
    words = request.text.split()
    if words[0] == "call" and len(request.turn) == 1:
        return ModelReply.call(words[1])
    return ModelReply.say(f"echo {request.text}")
"""
SLOW = '''
from __future__ import annotations
import asyncio
from pathlib import Path
from gateway import tool
HERE = Path(__file__).parent
@tool
async def slow() -> str:
    """Take a while."""
    open(HERE / "_begun", "w").close()
    await asyncio.sleep(0.3)
    return "slept"
'''
STUCK = '''
from __future__ import annotations
import time
from gateway import tool
@tool
def stuck() -> str:
    """Never come back."""
    time.sleep(600)
    return "never"
'''


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "agent"
    (folder / "tools").mkdir(parents=True)
    (folder / "agent.py").write_text(AGENT)
    (folder / "offline.py").write_text(OFFLINE)
    (folder / "instructions.md").write_text("You echo.")
    (folder / "tools" / "slow.py").write_text(SLOW)
    (folder / "tools" / "stuck.py").write_text(STUCK)
    return Settings(
        agent=folder,
        state=tmp_path / "state",
        port=0,
        api_token=Secret("full-secret-of-the-host"),
        database_url="",
    )


@asynccontextmanager
async def served(settings: Settings, how: Serving) -> AsyncGenerator[Client, None]:
    """The host in this process, on a free port; stopped at the end."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    how.ready = ready.set_result
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(serve(settings, how))
        async with asyncio.timeout(10):
            await until(lambda: running.done() or ready.done())
        if not running.done():
            async with connect(ready.result(), "full-secret-of-the-host") as client:
                yield client
            how.stop.set()
        assert await running == 0


async def test_it_serves_is_found_and_stops(settings: Settings) -> None:
    how = Serving(grace=5)
    async with served(settings, how) as client:
        assert (await client.get("/readyz")).status == 200
        answer = await client.post("/message", {"message": "hi", "session": "s1"})
        assert answer.json["text"] == "echo hi"
        assert (await client.with_token(None).post("/message", {"message": "hi"})).status == 401
        found = await asyncio.to_thread(find_host, settings.state)
        assert found is not None
        assert (found.pid, found.url) == (os.getpid(), client.url)
        assert found.store == f"sqlite:///{settings.state.resolve() / 'gateway.db'}"
        for path in (settings.state / "host.json", found.token_file):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(settings.state.stat().st_mode) == 0o700
        token = await asyncio.to_thread(found.token)
        assert token is not None
        assert token != "full-secret-of-the-host"
        assert (await client.with_token(token).get("/sessions")).status == 200
    assert await asyncio.to_thread(find_host, settings.state) is None
    assert not (settings.state / "host.token").exists()


async def test_the_next_start_goes_on(settings: Settings) -> None:
    """A turn in a tool when the host is told to stop: the step finishes, the rest is for later."""
    how = Serving(grace=5)
    path = "/agents/shop/sessions/s1/turns/t1"
    async with served(settings, how) as client:
        body = {"message": "call slow", "turn_id": "t1"}
        await client.post("/agents/shop/sessions/s1/turn?detach=1", body)
        await until((settings.agent / "tools" / "_begun").exists)
        async with client.stream("GET", f"{path}/events") as stream:
            how.stop.set()
            frames = await stream.rest()
        assert frames[-1].event in {"action.completed", "turn.completed"}
        assert any("stopping" in comment for comment in stream.comments)
    async with served(settings, Serving()) as client:
        async with client.stream("GET", f"{path}/events") as stream:
            frames = await stream.rest()
        seqs = [frame.id for frame in frames if frame.id]
        assert seqs == list(range(1, len(seqs) + 1))
        assert frames[-1].event == "turn.completed"
        kinds = [frame.event for frame in frames]
        assert kinds.count("action.completed") == 1


async def test_who_waits_while_the_host_stops_is_told_to_come_back(settings: Settings) -> None:
    how = Serving(grace=0.05)
    async with served(settings, how) as client, asyncio.TaskGroup() as tasks:
        body = {"message": "call slow", "session": "s1", "turn_id": "t1"}
        asked = tasks.create_task(client.post("/message", body))
        await until((settings.agent / "tools" / "_begun").exists)
        how.stop.set()
        answer = await asked
        assert answer.status == 503
        assert answer.headers["Turn-Id"] == "t1"
        assert answer.headers["Retry-After"] == "1"


async def test_a_second_host_in_one_state_directory_says_whom_the_command_line_finds(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """``gateway serve`` beside a ``gateway dev`` is one: each has its own database."""
    settings.state.mkdir()
    told = {"pid": os.getppid(), "url": "http://127.0.0.1:8787", "token_file": "none", "store": ""}
    (settings.state / "host.json").write_text(json.dumps(told))
    async with served(settings, Serving(grace=5)):
        pass
    assert f"process {os.getppid()} serves on http://127.0.0.1:8787" in caplog.text
    caplog.clear()
    async with served(settings, Serving(grace=5)):
        pass
    assert "GATEWAY_STATE" not in caplog.text


async def test_it_does_not_start_without_a_token(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="GATEWAY_API_TOKEN"):
        await serve(replace(settings, api_token=None))
    assert not settings.state.exists()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
async def test_a_child_that_a_tool_forked_does_not_keep_the_port(settings: Settings) -> None:
    with ExitStack() as children:
        async with served(settings, Serving(grace=5)) as client:
            port = int(client.url.rpartition(":")[2])
            children.enter_context(forked())
            sockets = listening(port)
            assert sockets
        await until(lambda: sockets.isdisjoint(listening(port)))


@pytest.mark.parametrize("name", ["/proc/x", "/proc", "file", "file/below"])
async def test_a_state_directory_that_cannot_be_is_told_with_the_way_out(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("")
    state = tmp_path / name  # an absolute name stands for itself
    database = f"sqlite:///{tmp_path / 'june.db'}"
    with pytest.raises(ConfigError, match=f"state directory {state}: ") as caught:
        await serve(replace(settings, state=state, database_url=database))
    assert "GATEWAY_STATE" in caught.value.fix
    assert not (tmp_path / "june.db").exists()


@pytest.mark.parametrize("host", ["\u00e9" * 70, "a..b", "a b"])
async def test_an_address_that_cannot_be_is_told_with_the_way_out(
    settings: Settings, host: str
) -> None:
    with pytest.raises(ConfigError, match="can't listen on ") as caught:
        await serve(replace(settings, host=host))
    assert "GATEWAY_HOST" in caught.value.fix


@pytest.mark.parametrize("name", ["/proc/x/june.db", "file/june.db", "folder"])
async def test_a_database_that_cannot_be_is_told_with_the_way_out(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match=str(tmp_path / name)) as caught:
        await serve(replace(settings, database_url=f"sqlite:///{tmp_path / name}"))
    assert "DATABASE_URL" in caught.value.fix


async def test_settings_that_do_nothing_yet_are_warned_about(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = {
        "GATEWAY_PUBLIC_URL": "https://june.example",
        "SLACK_API_URL": "https://slack.com/api",
        "EMAIL_VOUCHING_DOMAINS": "shop.example",
        "PORT": "0",
    }
    read = Settings.load(given, toml_path=None)
    by_hand = replace(settings, crisp_key=Secret("k-secret"))
    assert idle_settings(settings) == []
    assert [line.split()[0] for line in idle_settings(by_hand)] == ["CRISP_KEY"]
    assert idle_settings(by_hand, {"crisp"}) == []
    chosen = replace(read, agent=settings.agent, state=settings.state, api_token=settings.api_token)
    chosen = replace(chosen, database_url=f"sqlite:///{tmp_path / 'june.db'}")
    async with served(chosen, Serving()):
        pass
    told = [one for one in caplog.messages if "is set, but" in one]
    assert [line.split()[0] for line in told] == [
        "SLACK_API_URL",
        "EMAIL_VOUCHING_DOMAINS",
    ]
    assert told[1].endswith("no channels/email.py that would use it: gateway add channel email")
    assert "this release of the gateway has no channel crisp" in idle_settings(by_hand)[0]


async def test_mistakes_in_the_agent_are_told_before_anything_runs(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="REDIS_URL"):
        await serve(replace(settings, redis_url="redis://localhost"))
    (settings.agent / "offline.py").unlink()
    with pytest.raises(ConfigError):
        await serve(settings)
    (settings.agent / "agent.py").write_text(AGENT.replace("scripted", "claude-sonnet-4-5"))
    with pytest.raises(ConfigError, match="needs a key") as caught:
        await serve(settings)
    assert "GATEWAY_MODEL=scripted" in caught.value.fix


async def test_a_tool_that_never_returns_ends_the_process_by_name(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """In a process of its own, since the thread can't be taken back."""
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from gateway.config import Settings\n"
        "from gateway.host import Serving, serve\n"
        "from gateway.values import Secret\n"
        "from gateway.log import configure\n"
        "import gateway.host.routes.operate as operate\n"
        "configure(style='json', stream=sys.stderr)\n"
        "settings = Settings(agent=Path(sys.argv[1]), state=Path(sys.argv[2]), port=0,\n"
        "    api_token=Secret('full-secret-of-the-host'))\n"
        "how = Serving(stuck_after=6, ready=lambda url: print(url, flush=True))\n"
        "sys.exit(asyncio.run(serve(settings, how)))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(settings.agent), str(settings.state),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd=Path.cwd(),
    )  # fmt: skip
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    async with connect(url, "full-secret-of-the-host") as client:
        body = {"message": "call stuck", "turn_id": "t1"}
        await client.post("/agents/shop/sessions/s1/turn?detach=1", body)
        _, errors = await process.communicate()
    assert process.returncode == 1
    lines = [json.loads(line) for line in errors.decode().splitlines()]
    (last,) = [line for line in lines if line["level"] == "critical"]
    assert (last["tool"], last["turn"]) == ("stuck", "t1")
    assert not (settings.state / "host.json").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_signals_drain(settings: Settings, number: signal.Signals) -> None:
    async with asyncio.timeout(10):
        how = Serving(grace=5)
        async with served(settings, how) as client:
            os.kill(os.getpid(), number)
            await how.stop.wait()
        assert client.url


async def test_a_second_signal_leaves_at_once(settings: Settings) -> None:
    codes: list[int] = []
    how = Serving(grace=5, die=codes.append)
    async with served(settings, how) as client:
        await client.post("/agents/shop/sessions/s1/turn?detach=1", {"message": "call slow"})
        os.kill(os.getpid(), signal.SIGTERM)
        await how.stop.wait()
        os.kill(os.getpid(), signal.SIGTERM)
    assert codes == [128 + signal.SIGTERM]


# -- the host file ---------------------------------------------------------------------------------
def test_a_host_file_left_behind_names_nobody(tmp_path: Path) -> None:
    assert find_host(tmp_path) is None
    announce(tmp_path, "http://127.0.0.1:1", make_cli_token(), "memory://")
    told = json.loads((tmp_path / "host.json").read_text())
    (tmp_path / "host.json").write_text(json.dumps({**told, "pid": 2**22 + 1}))
    assert find_host(tmp_path) is None
    withdraw(tmp_path)
    assert (tmp_path / "host.json").exists(), "what another process wrote is left to it"
    for broken in ("", "[]", "{}", '{"pid": "x"}', '{"pid": -1, "url": "", "token_file": ""}'):
        (tmp_path / "host.json").write_text(broken)
        assert find_host(tmp_path) is None


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("[::1]", "http://[::1]:80"),
        ("[::]", "http://[::1]:80"),
        ("june.example", "http://june.example:80"),
    ],
)
def test_where_this_machine_reaches_it(host: str, url: str) -> None:
    assert local_url(host, 80) == url


# -- channels --------------------------------------------------------------------------------------
ECHO = """
from __future__ import annotations
from tests.unit.host.channels.echo import Echo
def channel(env):
    SEEN.append(Echo())
    return SEEN[-1]
SEEN = []
"""


async def test_an_agents_channels_are_served(settings: Settings) -> None:
    (settings.agent / "channels").mkdir()
    (settings.agent / "channels" / "echo.py").write_text(ECHO)
    async with served(settings, Serving(grace=5)) as client:
        answer = await client.post("/channels/echo", {"id": "1", "text": "hi"})
        assert (answer.status, answer.raw) == (200, b"accepted")
        rows = {row["name"]: row for row in (await client.get("/status")).rows("channels")}
        for name, stands in {"echo": (True, True), "crisp": (False, False)}.items():
            assert (rows[name]["on"], rows[name]["available"]) == stands
            assert (rows[name]["missing"], rows[name]["problem"]) == ([], None)
        assert rows["slack"]["on"] is False
        assert "SLACK_BOT_TOKEN or SLACK_CLIENT_ID" in cast("list[str]", rows["slack"]["missing"])
        assert str(rows["slack"]["off"]).startswith("gateway add channel slack, then set either ")
        assert rows["echo"]["off"] is None


async def test_a_channel_without_its_settings_is_off_and_said(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (settings.agent / "channels").mkdir()
    file = settings.agent / "channels" / "slack.py"
    file.write_text("def channel(env):\n    raise RuntimeError('not called')\n")
    async with served(settings, Serving()) as client:
        assert (await client.get("/readyz")).json == {"ready": True, "problems": []}
        assert (await client.post("/channels/slack")).status == 404
    assert (
        "channel slack is off: set either SLACK_BOT_TOKEN or SLACK_CLIENT_ID, and either SLACK_S"
        in caplog.text
    )
    given = replace(settings, slack_bot_token=Secret("xoxb"), slack_signing_secret=Secret("s"))
    with pytest.raises(
        DefinitionError, match=r"slack\.py:2: fails when it is called: RuntimeError"
    ):
        await serve(given)


async def test_short_keys_to_seal_with_are_refused(settings: Settings) -> None:
    with pytest.raises(ConfigError, match="key 1 of GATEWAY_SECRET_KEYS"):
        await serve(replace(settings, secret_keys=(Secret("short"),)))
