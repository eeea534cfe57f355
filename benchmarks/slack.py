"""Slack's way in and out, on a host in a process of its own beside the emulator.

``ack``: from signed event to 200 at 50 events a second, idle and with 64 turns at work, and the same for a
bare aiohttp handler in the same run. ``burst``: 2,000 events in one second, none lost and none answered
twice. ``first``: how long after the 200 the first sign reaches Slack, on an idle host.

usage: python -m benchmarks.slack [ack|burst|first] [seconds]
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import itertools
import json
import multiprocessing
import os
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

from benchmarks.common import folder
from channels.slack.emulator import Journal
from gateway.cli.demo.hosting import HostProcess
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.testing.slack import Channel, Limits, Playground, SlackEmulator, furnish, settings_for

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

AGENT = Path(__file__).parent / "slack_agent"
RATE = 50
BUSY = 64
BURST = 2_000
CHANNELS = 200


@dataclass(slots=True)
class World:
    play: Playground
    channels: list[Channel]
    url: str
    http: aiohttp.ClientSession
    token: str
    count: itertools.count[int]

    @property
    def hook(self) -> str:
        return f"{self.url}/channels/slack"

    async def event(self) -> tuple[bytes, str]:
        """A mention in a thread of its own; its body and its ts. It stands in the emulator, which is
        told of no address to send it to."""
        number = next(self.count)
        june, ada = self.play.june, self.play.ada
        where = self.channels[number % len(self.channels)]
        message = await ada.mention(where, "@june where is it?")
        channel, ts = where.id, message.ts
        said = [{"type": "user", "user_id": june.user}, {"type": "text", "text": " where is it?"}]
        section = {"type": "rich_text_section", "elements": said}
        event = {
            "type": "app_mention",
            "user": ada.id,
            "team": june.key,
            "text": f"<@{june.user}> where is it?",
            "blocks": [{"type": "rich_text", "block_id": "b", "elements": [section]}],
            "channel": channel,
            "ts": ts,
            "event_ts": ts,
        }
        payload = {
            "type": "event_callback",
            "team_id": june.key,
            "api_app_id": june.app,
            "event_id": f"EvB{number:08d}",
            "event_time": 1_800_000_000 + number,
            "event": event,
            "authorizations": [
                {
                    "team_id": june.key,
                    "enterprise_id": None,
                    "user_id": june.user,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
        }
        return json.dumps(payload).encode(), ts


async def send(http: aiohttp.ClientSession, secret: str, body: bytes, to: str) -> tuple[int, float]:
    """The status, and the seconds until it came."""
    stamp = str(SYSTEM_CLOCK.now() // 1000)
    signed = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256)
    headers = {
        "content-type": "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": f"v0={signed.hexdigest()}",
    }
    began = time.perf_counter()
    async with http.post(to, data=body, headers=headers) as response:
        await response.read()
        return response.status, time.perf_counter() - began


@asynccontextmanager
async def world() -> AsyncGenerator[World]:
    state, token = folder(), secrets.token_urlsafe(24)
    limits = Limits(enabled=False)
    async with (
        SlackEmulator(limits=limits) as slack,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
    ):
        play = furnish(slack)
        channels = [play.acme.channel(f"c{n}", [play.ada, play.june]) for n in range(CHANNELS)]
        host = HostProcess(state, AGENT, token, {**settings_for(slack, play.june)})
        client = await host.start()
        async with client:
            if not await client.ready(30):
                raise SystemExit(f"the host isn't ready: {host.log}")
            os.nice(10)  # in life Slack and the people aren't on the host's two cores
            try:
                yield World(play, channels, client.url, http, token, itertools.count())
            finally:
                await host.stop()


# -- ack -------------------------------------------------------------------------------------------
def _bare(ready: Connection) -> None:
    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response()

    async def run() -> None:
        app = web.Application()
        app.router.add_post("/", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ready.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


def _load(jobs: Connection) -> None:
    """An open loop in a process that does nothing else: what is slow holds nothing else back."""

    async def run(bodies: list[bytes], secret: str, to: str) -> list[float]:
        lasted: list[float] = []
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:

            async def one(at: float, body: bytes) -> None:
                await asyncio.sleep(max(0.0, at - time.perf_counter()))
                status, took = await send(http, secret, body, to)
                if status != 200:
                    raise SystemExit(f"{to} answered {status}")
                lasted.append(took)

            begin = time.perf_counter() + 0.2
            async with asyncio.TaskGroup() as group:
                for n, body in enumerate(bodies):
                    group.create_task(one(begin + n / RATE, body))
        return lasted

    while True:
        jobs.send(asyncio.run(run(*jobs.recv())))


@dataclass(slots=True)
class Loader:
    on: World
    jobs: Connection

    async def run(self, to: str, seconds: float) -> list[float]:
        bodies = [(await self.on.event())[0] for _ in range(round(RATE * seconds))]
        self.jobs.send((bodies, self.on.play.slack.signing_secret, to))
        return await asyncio.to_thread(self.jobs.recv)


async def keep_busy(on: World) -> None:
    headers = {"authorization": f"Bearer {on.token}"}

    async def one(n: int) -> None:
        while True:  # of any length, so that they don't all end and begin in the same second
            rounds = random.randint(5, 80)  # noqa: S311
            body = {"message": f"work {rounds}", "session": f"busy-{n}"}
            async with on.http.post(f"{on.url}/message", json=body, headers=headers) as response:
                await response.read()

    async with asyncio.TaskGroup() as group:
        for n in range(BUSY):
            group.create_task(one(n))


async def ack(seconds: float) -> None:
    mine, theirs = multiprocessing.Pipe()
    jobs, worker = multiprocessing.Pipe()
    spawn = multiprocessing.get_context("spawn")
    others = [
        spawn.Process(target=_bare, args=(theirs,), daemon=True),
        spawn.Process(target=_load, args=(worker,), daemon=True),
    ]
    for process in others:
        process.start()
    bare = f"http://127.0.0.1:{await asyncio.to_thread(mine.recv)}/"
    async with world() as on:
        load = Loader(on, jobs).run
        await load(on.hook, 1.0)
        _report("bare aiohttp handler", await load(bare, seconds))
        _report("signed event to 200, idle host", await load(on.hook, seconds))
        async with asyncio.TaskGroup() as group:
            busy = group.create_task(keep_busy(on))
            await asyncio.sleep(2.0)
            _report("bare, beside 64 turns at work", await load(bare, seconds))
            _report("signed event to 200, 64 turns at work", await load(on.hook, seconds))
            busy.cancel()
    for process in others:
        process.kill()


def _report(name: str, lasted: list[float]) -> None:
    ordered = sorted(lasted)
    found = {
        "name": name,
        "events": len(ordered),
        "ms_median": round(ordered[len(ordered) // 2] * 1e3, 2),
        "ms_p99": round(ordered[int(len(ordered) * 0.99)] * 1e3, 2),
        "ms_worst": round(ordered[-1] * 1e3, 2),
    }
    print(json.dumps(found), flush=True)


# -- burst -----------------------------------------------------------------------------------------
async def burst() -> None:
    async with world() as on:
        slack, secret = on.play.slack, on.play.slack.signing_secret
        sent: list[str] = []
        statuses: Counter[int] = Counter()
        lasted: list[float] = []

        async def one(at: float, body: bytes) -> None:
            await asyncio.sleep(max(0.0, at - time.perf_counter()))
            status, took = await send(on.http, secret, body, on.hook)
            while status != 200:  # as Slack does, only sooner
                statuses[status] += 1
                await asyncio.sleep(1.0)
                status, _ = await send(on.http, secret, body, on.hook)
            lasted.append(took)

        bodies: list[bytes] = []
        for _ in range(BURST):
            body, ts = await on.event()
            bodies.append(body)
            sent.append(ts)
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for n, body in enumerate(bodies):
                group.create_task(one(began + n / BURST, body))
        taken = time.perf_counter() - began

        def answers() -> Counter[str]:
            found: Counter[str] = Counter()
            for channel in on.channels:
                for message in slack.world.messages[channel.id].values():
                    if message.user == on.play.june.user and message.thread:
                        found[message.thread] += 1
            return found

        with suppress(TimeoutError):
            await slack.until(lambda: len(answers()) == BURST, 600.0)
        found = answers()
        result = {
            "name": "burst",
            "events": BURST,
            "seconds_to_take_them": round(taken, 2),
            "asked_to_send_again": dict(statuses),
            "answered": len(found),
            "lost": len(set(sent) - set(found)),
            "twice": sum(1 for times in found.values() if times > 1),
            "seconds_to_answer_all": round(time.perf_counter() - began, 1),
        }
        print(json.dumps(result), flush=True)


# -- first sign ------------------------------------------------------------------------------------
async def first(rounds: int = 30) -> None:
    async with world() as on:
        slack, secret = on.play.slack, on.play.slack.signing_secret
        journal = slack.journal
        lasted: list[float] = []
        for _ in range(rounds):
            before = len(journal.calls)
            body, ts = await on.event()
            status, _ = await send(on.http, secret, body, on.hook)
            acked = time.perf_counter()
            await slack.until(partial(_called_about, journal, before, ts))
            lasted.append(time.perf_counter() - acked)
            if status != 200:
                raise SystemExit(f"the host answered {status}")
            await asyncio.sleep(0.4)
        _report("first sign after the 200, idle host", lasted)


def _called_about(journal: Journal, before: int, ts: str) -> bool:
    return any(call.arguments.get("thread_ts") == ts for call in journal.calls[before:])


def main() -> None:
    what = sys.argv[1:2] or ["ack"]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    runs = {"ack": lambda: ack(seconds), "burst": burst, "first": first}
    asyncio.run(runs[what[0]]())


if __name__ == "__main__":
    main()
