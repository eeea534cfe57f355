"""Hosts that are processes, beside a mail server that outlives them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import aiohttp
import psycopg

from channels.email.emulator.faults import Fault
from channels.email.emulator.server import MailServer
from channels.email.threads.contents import content_id
from gateway.cli.demo.proof import refunds
from tests.faults.mail_stage import Steps, mail
from tests.support.cli import TOKEN, Mortal, Shell
from tests.support.http import connect
from tests.support.mail.office import ADA, SUPPORT, email_settings, post_office

PATIENCE = 40.0
ASKED = {
    "question": "Hello, where is order 1042?",
    "refund": "Please refund order 1042, it arrived broken.",
}
Arrived = list[tuple[str, str]]


class MailHost(Mortal):
    def __init__(self, post: MailServer, state: Path, **more: str) -> None:
        super().__init__(Shell(state, **email_settings(post, state, **more)))


@dataclass(slots=True)
class MailWorld:
    """``database`` is a URL, or empty for the SQLite of the state."""

    post: MailServer
    steps: Steps
    host: MailHost
    state: Path
    database: str = ""

    async def alive(self) -> None:
        """Whoever was killed is started again."""
        if not self.host.alive:
            if self.database:
                await asyncio.to_thread(forget, self.database)
            await self.host.start()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await self.alive()
                await asyncio.sleep(0.01)

    async def play(self, name: str) -> tuple[bytes, Arrived]:
        """To its end, over all kills; the mail, and what arrived about it."""
        await asyncio.to_thread((self.state / "payments-stub.db").unlink, missing_ok=True)
        before = len(self.post.journal.handed)
        raw = mail(ASKED[name])
        await self.post.deliver(raw, SUPPORT, ADA)
        async with asyncio.timeout(PATIENCE):
            while not await self._rests(raw, name):
                await self.alive()
                await asyncio.sleep(0.03)
        if name == "refund":
            paid = await asyncio.to_thread(refunds, self.state)
            assert [(one.order_id, one.amount) for one in paid] == [("1042", "42.50")]
        kept = [one for one in self.post.journal.handed[before:] if one.kept]
        return raw, [(one.message_id, one.sha256) for one in kept]

    async def _rests(self, raw: bytes, name: str) -> bool:
        """The mail is put away, and all that is owed is sent. Whoever decides does so meanwhile."""
        turn = f"email:{SUPPORT}:{content_id(raw)}"
        with suppress(aiohttp.ClientError, OSError):
            async with connect(self.host.url, TOKEN) as client:
                found = await client.get(f"/deliveries?turn_id={quote(turn)}")
                rows = [row for row in found.rows("deliveries") if row["source"] == "email"]
                if name == "refund" and any(row["state"] == "resting" for row in rows):
                    for row in (await client.get("/approvals")).rows("approvals"):
                        await client.post(f"/approvals/{row['id']}", {"value": True})
                sent = all(
                    row["state"] in {"done", "silent"} and row["shown"] == row["wanted"]
                    for row in rows
                )
                return bool(rows) and sent and self.post.mails(SUPPORT) == []
        return False

    async def verdicts(self, raw: bytes) -> list[str]:
        async with connect(self.host.url, TOKEN) as client:
            rows = (await client.get("/verdicts?source=email&limit=500")).rows("verdicts")
        return [str(row["verdict"]) for row in rows if row["event"] == f"mail-{content_id(raw)}"]


def forget(database: str) -> None:
    """Let all that dead hosts held lapse now, as it would by itself in half a minute."""
    with psycopg.connect(database) as db:
        db.execute("DELETE FROM gw.hosts")
        for table in ("deliveries", "inbox"):
            lapse = f"UPDATE gw.{table} SET lease = clock_timestamp() WHERE owner IS NOT NULL"
            db.execute(lapse.encode())
        db.execute("DELETE FROM gw.leases")


@asynccontextmanager
async def mail_world(state: Path, database: str = "", **more: str) -> AsyncGenerator[MailWorld]:
    """A host that has just been started, and its mail server."""
    url = {"DATABASE_URL": database} if database else {}
    async with post_office() as post:
        post.faults = steps = Steps()
        world = MailWorld(
            post,
            steps,
            MailHost(post, state, **url, **more),
            state,
            database,
        )
        try:
            await world.host.start()
            yield world
        finally:
            await world.host.bury()


@dataclass(slots=True)
class Kill:
    """At the ``nth`` step of a journey: ``lost`` on its way, or while the server carries it out."""

    nth: int
    moment: str
    at: str = ""

    def watcher(self, on: MailWorld) -> Callable[[str], None]:
        met = 0

        def tell(step: str) -> None:
            nonlocal met
            met += 1
            if self.at or met < self.nth:
                return
            self.at = step
            if self.moment == "lost":
                on.post.faults.add(Fault("cut_before", step))
            on.host.kill()

        return tell
