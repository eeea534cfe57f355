"""Finding a host, and finding it again after it was started anew."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.cli.desk.choose import open_desk
from gateway.cli.desk.client import Client, Stranger
from gateway.cli.desk.remote import RemoteDesk
from gateway.cli.problem import Problem
from gateway.cli.told import objects_of, text_of
from gateway.config import Settings
from gateway.host.hostfile import HostFile, announce, find_host, make_cli_token, store_named
from gateway.values import Secret
from tests.unit.host.world import running

STORE = "memory://"


async def test_a_token_of_the_last_start_is_read_again(tmp_path: Path) -> None:
    token = make_cli_token()
    async with running(tokens=(token,)) as gateway, Client(gateway.client.url, "stale") as client:
        host = await asyncio.to_thread(announce, tmp_path, gateway.client.url, token, STORE)
        desk = RemoteDesk(client, "cli:robin", lambda: host, patience=5)
        assert [agent["name"] for agent in await desk.agents()] == ["june"]
        client.move(client.url, "stale")
        assert await desk.start("june", "s1", "hi", turn_id="t1") == "t1"
        client.move(client.url, "stale")
        kinds = [event["type"] async for event in desk.follow("june", "s1", "t1")]
    assert kinds[0] == "cli.waiting"
    assert kinds[-1] == "turn.completed"


async def test_a_token_that_stays_wrong_is_told(tmp_path: Path) -> None:
    (tmp_path / "host.token").write_text("wrong")
    async with running(tokens=(make_cli_token(),)) as gateway:
        url = gateway.client.url
        host = HostFile(pid=os.getpid(), url=url, token_file=tmp_path / "host.token", store=STORE)
        async with Client(url, "wrong") as client:
            desk = RemoteDesk(client, "cli:robin", lambda: host, patience=0.3)
            with pytest.raises(Stranger) as told:
                await desk.turns()
            assert told.value.code == "unauthenticated"
            with pytest.raises(Stranger):
                _ = [event async for event in desk.follow("june", "s1", "t1")]


def test_a_host_that_is_dead_but_not_buried_is_gone(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    told = f'{{"pid": {child.pid}, "url": "http://127.0.0.1:9", "token_file": "t", "store": "s"}}'
    (tmp_path / "host.json").write_text(told)
    try:
        assert find_host(tmp_path) is not None
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it ended, and stays a zombie
        assert find_host(tmp_path) is None
    finally:
        child.communicate()


async def test_a_host_of_another_store_than_the_one_that_was_named_is_left_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    mine, same, other = (f"sqlite:///{tmp_path / name}" for name in ("a.db", "link/a.db", "b.db"))
    token = make_cli_token()

    async def reached(**named: str) -> str:
        settings = Settings.load({"GATEWAY_STATE": str(tmp_path), **named}, toml_path=None)
        return await where(settings)

    async with running(tokens=(token,)) as gateway:
        url = gateway.client.url
        host = await asyncio.to_thread(announce, tmp_path, url, token, mine)
        assert await reached() == await reached(DATABASE_URL=same) == url
        with pytest.raises(Problem) as told:
            await reached(DATABASE_URL=other)
        assert (told.value.code, told.value.exit_code) == ("other_store", 7)
        assert told.value.what.startswith(f"the host at {url} serves {mine}, and DATABASE_URL (env")
        elsewhere = str(tmp_path / "elsewhere")
        assert "no host running" in await reached(DATABASE_URL=other, GATEWAY_STATE=elsewhere)
        # One that is gone is in nobody's way, although another process has its number by now.
        await asyncio.to_thread(announce, tmp_path, "http://127.0.0.1:9", token, host.store)
        assert "no host running" in await reached(DATABASE_URL=other)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("postgresql://june:s3cret@DB.example/shop", True),
        ("postgres://db.example:5432/shop?password=s3cret&user=robin", True),
        ("postgresql://shop:s3cret@db.example", True),
        ("postgresql://june:s3cret@db.example/shop?search_path=test", False),
        ("postgresql://june:s3cret@db.example:5433/shop", False),
        ("postgresql://june:s3cret@db.example/shops", False),
    ],
)
def test_a_store_is_told_by_where_it_is_and_never_by_its_login(url: str, same: bool) -> None:
    named = store_named(url)
    assert "s3cret" not in named
    assert (named == "postgresql://db.example:5432/shop") is same


async def test_whoever_holds_the_store_may_be_a_host_that_is_starting(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    lock = os.open(tmp_path / "gateway.db.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Problem) as told:
            async with open_desk(settings, "cli:robin", works=False, patience=0):
                pass
        assert told.value.code == "store_in_use"

        async with asyncio.TaskGroup() as tasks:
            looking = tasks.create_task(where(settings))
            done, _ = await asyncio.wait({looking}, timeout=0.3)
            assert not done
            token = make_cli_token()
            async with running(tokens=(token,)) as gateway:
                await asyncio.to_thread(announce, tmp_path, gateway.client.url, token, STORE)
                assert await looking == gateway.client.url
    finally:
        os.close(lock)


async def test_a_store_that_is_let_go_is_opened(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    lock = os.open(tmp_path / "gateway.db.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(where(settings))
        try:
            done, _ = await asyncio.wait({looking}, timeout=0.3)
            assert not done
        finally:
            os.close(lock)
    assert "no host running" in looking.result()


async def test_without_a_host_a_look_says_what_would_turn_a_channel_on(tmp_path: Path) -> None:
    folder = tmp_path / "agent" / "channels"
    folder.mkdir(parents=True)
    (folder / "slack.py").touch()
    settings = replace(
        settings_in(tmp_path),
        agent=folder.parent,
        slack_bot_token=Secret("xoxb-1"),
        email_address="a@b.example",
    )

    async def off(settings: Settings) -> dict[str, str]:
        async with open_desk(settings, "cli:robin", works=False) as desk:
            told = objects_of((await desk.status())["channels"])
        return {text_of(row["name"]): text_of(row["off"]) for row in told}

    found = await off(settings)
    assert found["slack"] == "set SLACK_SIGNING_SECRET or SLACK_APP_TOKEN"
    assert found["email"].startswith("gateway add channel email, then set either EMAIL_IMAP_URL")
    assert found["crisp"] == "not in this release"
    whole = replace(settings, slack_app_token=Secret("xapp-1"))
    assert (await off(whole))["slack"] == "gateway serve"
    assert await off(replace(settings, agent=tmp_path / "nowhere")) == {}


def settings_in(state: Path) -> Settings:
    return replace(Settings(), state=state, database_url=f"sqlite:///{state / 'gateway.db'}")


async def where(settings: Settings) -> str:
    async with open_desk(settings, "cli:robin", works=False, patience=60) as desk:
        return desk.where
