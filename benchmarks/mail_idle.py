"""From a new mail to its turn, over IDLE, on a host in a process of its own with SQLite.

A mail is handed over, and the clock runs until its turn stands in the database: committed, for any reader.
Beside it in the same run the yardstick: a bare IMAPClient that waits in another mailbox of the same server, from
the same hand-over until it is told that there is a mail. ``dovecot`` takes mail by LMTP; what it takes to
tell anybody of it is its own. ``embedded`` is the server of the playground and the tests.

usage: python -m benchmarks.mail idle
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass

from imapclient import IMAPClient  # type: ignore[import-untyped]

from benchmarks.common import folder
from channels.email.emulator import process
from channels.email.emulator.letters import Draft
from channels.email.emulator.server import MailServer
from gateway.cli.demo.hosting import HostProcess
from gateway.testing.mail import settings_for
from tests.support.cli import ROOT
from tests.support.mail.dovecot import OTHER, PASSWORD, USER, WHY_NOT, Dovecot

MAILS = 20
PATIENCE = 60.0
LOOK = 0.002
REST = 0.3
"""Seconds between two mails, in which the last one's turn ends."""


@dataclass(frozen=True, slots=True)
class Post:
    """A mail server. ``deliver`` takes a mail, to whom it goes, and from whom it comes."""

    name: str
    port: int
    deliver: Callable[[bytes, str, str], Awaitable[None]]


async def idle() -> None:
    async with MailServer() as out:
        for address in (USER, OTHER):
            out.user(address, PASSWORD)
        await _measure(Post("embedded", out.ports.imap, out.deliver), out)
        if WHY_NOT:
            print(json.dumps({"name": "idle: dovecot", "left out": WHY_NOT}), flush=True)
            return
        async with _dovecot() as box:
            await _measure(Post("dovecot", box.imap_port, box.deliver), out)


@asynccontextmanager
async def _dovecot() -> AsyncGenerator[Dovecot]:
    async with process.folder() as place, Dovecot(place, place / "log") as box:
        yield box


async def _measure(post: Post, out: MailServer) -> None:
    state = folder()
    settings = {
        **settings_for(out, USER, imap=post.port),
        "GATEWAY_SECRET_KEYS": secrets.token_hex(32),
    }
    host = HostProcess(state, ROOT / "agent", secrets.token_urlsafe(24), settings)
    client = await host.start()
    try:
        async with client:
            if not await client.ready(PATIENCE):
                raise SystemExit(f"the host isn't ready: {host.log}")
            with closing(sqlite3.connect(state / "gateway.db")) as db:
                accepted, told = await _rounds(post, db)
    finally:
        await host.stop()
    report(f"idle: {post.name}, to the accepted turn", accepted)
    report(f"idle: {post.name}, until a bare client is told", told)
    ratio = statistics.median(accepted) / statistics.median(told)
    print(json.dumps({"name": f"idle: {post.name}", "ratio_to_bare": round(ratio, 2)}), flush=True)


async def _rounds(post: Post, db: sqlite3.Connection) -> tuple[list[float], list[float]]:
    accepted, told = list[float](), list[float]()
    bare = await asyncio.to_thread(_signed_in, post.port)
    for number in range(MAILS + 1):
        accepted.append(await _accepted(post, db, number))
        told.append(await _told(post, bare))
        await asyncio.sleep(REST)
    await asyncio.to_thread(bare.logout)
    return accepted[1:], told[1:]  # before the first one the host may still be signing in


async def _accepted(post: Post, db: sqlite3.Connection, number: int) -> float:
    sender = f"ada{number}@cust{number}.example"
    raw = Draft(
        sender=sender,
        to=[USER],
        subject=f"Question {number}",
        text=f"Hello, where is order {2000 + number}?",
    ).raw()
    began = time.perf_counter()
    await post.deliver(raw, USER, sender)
    async with asyncio.timeout(PATIENCE):
        while _turns(db) <= number:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(LOOK)
    return time.perf_counter() - began


async def _told(post: Post, bare: IMAPClient) -> float:
    raw = Draft(sender="Bo <bo@x.example>", to=[OTHER], subject="Hello", text="Hello").raw()
    await asyncio.to_thread(bare.idle)
    async with asyncio.TaskGroup() as group:
        seen = group.create_task(asyncio.to_thread(_exists, bare))
        await asyncio.sleep(REST)  # it waits by now
        began = time.perf_counter()
        await post.deliver(raw, OTHER, "bo@x.example")
    await asyncio.to_thread(bare.idle_done)
    return seen.result() - began


def _signed_in(port: int) -> IMAPClient:
    bare = IMAPClient("127.0.0.1", port, ssl=False, timeout=PATIENCE)
    bare.login(OTHER, PASSWORD)
    bare.select_folder("INBOX")
    return bare


def _exists(bare: IMAPClient) -> float:
    while True:
        if any(b"EXISTS" in one for one in bare.idle_check(timeout=PATIENCE)):
            return time.perf_counter()


def _turns(db: sqlite3.Connection) -> int:
    (count,) = db.execute("select count(*) from gw_turns").fetchone()
    return int(count)


def report(name: str, took: Sequence[float]) -> None:
    found = {
        "name": name,
        "mails": len(took),
        "ms_min": round(min(took) * 1e3),
        "ms_median": round(statistics.median(took) * 1e3),
        "ms_max": round(max(took) * 1e3),
    }
    print(json.dumps(found), flush=True)
