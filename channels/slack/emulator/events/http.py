"""Events on their way to an app's address: signed, answered within three seconds, or sent again.

Three retries, at once, after a minute and after five, with ``X-Slack-Retry-Num`` and
``X-Slack-Retry-Reason``; ``X-Slack-No-Retry: 1`` on a refusal ends them. A request that took too long is
not taken back: its retry arrives while the first is still being worked on. Clicks and commands are sent
once. When next to nothing succeeds for an hour, Slack stops sending.

Source: Slack docs "The Events API" (Error handling, Failure limits), "Handling user interaction".
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp

from channels.slack.emulator.events.envelope import signed
from channels.slack.emulator.faults import EVENT_FAULTS, Fault, Faults
from channels.slack.emulator.journal import Attempt, Delivered, Journal
from channels.slack.emulator.time import Time
from channels.slack.emulator.world.state import App
from gateway.engine.kinds import Millis
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import struct

PATIENCE = 3.0
RETRIES: tuple[float, ...] = (0.0, 60.0, 300.0)
HOUR = 3600.0
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@struct(frozen=True, slots=True)
class Reply:
    """What an app answered, or why there is no answer."""

    outcome: str
    status: int | None = None
    text: str = ""
    no_retry: bool = False

    @property
    def good(self) -> bool:
        return self.outcome == "acked"


@struct(frozen=True, slots=True)
class Posting:
    """One request to an app."""

    url: str
    body: bytes
    kind: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Health:
    """How many of an app's events succeeded in the last hour."""

    results: deque[tuple[float, bool]] = field(default_factory=deque[tuple[float, bool]])

    def note(self, now: float, good: bool, least: int) -> bool:
        """Write a result down; whether Slack would go on sending."""
        self.results.append((now, good))
        while self.results and self.results[0][0] < now - HOUR:
            self.results.popleft()
        succeeded = sum(good for _, good in self.results)
        return len(self.results) < least or succeeded / len(self.results) >= 0.05


@dataclass(slots=True, kw_only=True)
class Http:
    session: aiohttp.ClientSession
    time: Time
    tasks: Tasks
    journal: Journal
    faults: Faults
    signed_at: Callable[[], Millis]
    disable_from: int = 1000
    """An app with fewer events in an hour is never switched off."""
    health: dict[str, Health] = field(default_factory=dict[str, Health])

    async def event(self, app: App, sent: Delivered) -> None:
        """Send one event until it is acknowledged or given up."""
        fault = self.faults.take(f"event:{sent.type}", EVENT_FAULTS - {"event_reordered"})
        if fault is not None and fault.kind == "event_late":
            await self.time.sleep(fault.seconds)
        reply = await self._attempt(app, sent, 0, "", fault)
        if fault is not None and fault.kind == "event_twice":
            reply = await self._attempt(app, sent, 1, "http_timeout", None)
        for number, pause in enumerate(RETRIES, 1):
            if reply.good or reply.no_retry:
                break
            await self.time.sleep(pause)
            if app.disabled:
                break
            reply = await self._attempt(app, sent, number, reply.outcome, None)
        sent.over = True
        self.journal.changed()

    async def _attempt(
        self, app: App, sent: Delivered, number: int, reason: str, fault: Fault | None
    ) -> Reply:
        attempt = Attempt(number, reason, self.time.now())
        sent.attempts.append(attempt)
        headers: dict[str, str] = {}
        if number:
            headers = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason}
        body = json.dumps(sent.payload).encode()
        reply = await self.post(app, Posting(app.request_url, body, JSON, headers))
        attempt.status, attempt.answer = reply.status, reply.text
        if fault is not None and fault.kind == "ack_lost":
            reply = Reply("connection_failed")
        attempt.outcome = reply.outcome
        self._judge(app, reply.good)
        self.journal.changed()
        return reply

    def _judge(self, app: App, good: bool) -> None:
        health = self.health.setdefault(app.id, Health())
        if not health.note(self.time.monotonic(), good, self.disable_from) and not app.disabled:
            app.disabled = True
            self.journal.trouble.append(
                f"{app.name}: fewer than 5 % of its events succeeded in an hour; Slack sends no more"
            )

    async def post(self, app: App, posting: Posting) -> Reply:
        """Send once and wait for three seconds; what takes longer goes on without us."""
        request = self.tasks.start(
            self._request(app, posting, box := [Reply("http_timeout")]), "post"
        )
        alarm = self.tasks.start(self.time.sleep(PATIENCE), "post-alarm")
        try:
            await asyncio.wait({request, alarm}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            alarm.cancel()
        return box[0]

    async def _request(self, app: App, posting: Posting, box: list[Reply]) -> None:
        headers = {
            "Content-Type": posting.kind,
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            "Accept": "*/*",
            **signed(app.signing_secret, posting.body, self.signed_at() // 1000),
            **posting.headers,
        }
        try:
            async with self.session.post(
                posting.url, data=posting.body, headers=headers, allow_redirects=False
            ) as answer:
                text = await answer.text(errors="replace")
        except (TimeoutError, aiohttp.ClientError, OSError):
            box[0] = Reply("connection_failed")
            return
        good = 200 <= answer.status < 300
        box[0] = Reply(
            "acked" if good else "http_error",
            answer.status,
            text,
            not good and answer.headers.get("X-Slack-No-Retry") == "1",
        )
