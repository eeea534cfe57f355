"""The way out to apps: by socket where one is used, else to its address."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from urllib.parse import urlencode

from channels.slack.emulator.events.envelope import challenge, too_many
from channels.slack.emulator.events.fanout import deliveries
from channels.slack.emulator.events.http import FORM, JSON, Http, Posting, Reply
from channels.slack.emulator.events.socket import Sockets
from channels.slack.emulator.journal import Attempt, Delivered, Way
from channels.slack.emulator.wire import a_text, an_object
from channels.slack.emulator.world.base import Happening, World
from channels.slack.emulator.world.state import App
from gateway.engine.kinds import JsonObject
from gateway.engine.steps.tasks import Tasks


@dataclass(slots=True, kw_only=True)
class Outlet:
    world: World
    http: Http
    sockets: Sockets
    tasks: Tasks
    mention_first: bool = False
    """Whether a mention's ``app_mention`` leaves before its ``message``."""
    _held: deque[tuple[App, Delivered]] = field(default_factory=deque[tuple[App, Delivered]])

    def tell(self, happening: Happening) -> None:
        """Send what this happening amounts to, each event by itself: nothing promises an order."""
        for sent in deliveries(self.world, happening, self.mention_first):
            self.dispatch(self.world.apps[sent.app], sent)

    def dispatch(self, app: App, sent: Delivered) -> None:
        if app.disabled or not (app.socket or app.request_url):
            return
        self.world.journal.deliveries.append(sent)
        self.world.journal.changed()
        fault = self.http.faults.take(f"event:{sent.type}", {"event_reordered"})
        if fault is not None:
            self._held.append((app, sent))
            return
        self._go(app, sent)
        self.release()

    def _go(self, app: App, sent: Delivered) -> None:
        way = self.sockets.event if app.socket else self.http.event
        self.tasks.run(way(app, sent), f"event-{sent.id}")

    def release(self) -> None:
        """Let go of what was held back, for an event that came or never did."""
        while self._held:
            self._go(*self._held.popleft())

    async def verify(self, app: App, url: str) -> bool:
        """What Slack does when an address is entered: it must give the challenge back."""
        secret = self.world.secret()
        body = json.dumps(challenge(app, secret)).encode()
        reply = await self.http.post(app, Posting(url, body, JSON))
        try:
            said = a_text(an_object(json.loads(reply.text)).get("challenge"))
        except ValueError:
            said = reply.text.strip()
        return reply.good and said == secret

    async def rate_limited(self, app: App, team: str) -> Reply:
        """Tell the app that events were left out because there were too many."""
        body = json.dumps(too_many(self.world, app, team)).encode()
        return await self.http.post(app, Posting(app.request_url, body, JSON))

    async def interact(self, app: App, payload: JsonObject) -> Reply:
        """Send a click, a view or a shortcut, once, and bring back what the app says."""
        sent = self._noted(app, "interactive", a_text(payload.get("type")), payload)
        url = app.interactivity_url or app.request_url
        form = urlencode({"payload": json.dumps(payload)}).encode()
        return await self._once(app, sent, Posting(url, form, FORM))

    async def command(self, app: App, fields: dict[str, str]) -> Reply:
        sent = self._noted(app, "command", fields["command"], {**fields})
        url = app.commands.get(fields["command"]) or app.request_url
        return await self._once(app, sent, Posting(url, urlencode(fields).encode(), FORM))

    def _noted(self, app: App, kind: Way, name: str, payload: JsonObject) -> Delivered:
        sent = Delivered(self.world.new_id("In"), app.id, kind, name, payload)
        self.world.journal.deliveries.append(sent)
        return sent

    async def _once(self, app: App, sent: Delivered, posting: Posting) -> Reply:
        if app.socket:
            reply = await self.sockets.send(app, sent, 0, "")
        else:
            attempt = Attempt(0, "", self.world.now())
            sent.attempts.append(attempt)
            reply = await self.http.post(app, posting)
            attempt.status, attempt.answer, attempt.outcome = (
                reply.status,
                reply.text,
                reply.outcome,
            )
        sent.over = True
        self.world.journal.changed()
        return reply
