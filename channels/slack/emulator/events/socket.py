"""Socket Mode: the same payloads in envelopes, each to be acknowledged by its id on the same line.

An envelope goes to one of the app's connections, ten of which may be open. Without an acknowledgement
it comes again, with ``retry_attempt``. No signature: whoever holds the socket has been let in.

Source: Slack docs "Using Socket Mode"; slack_sdk/socket_mode/aiohttp/__init__.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from channels.slack.emulator.events.http import PATIENCE, RETRIES, Reply
from channels.slack.emulator.faults import EVENT_FAULTS, SOCKET_FAULTS, Faults
from channels.slack.emulator.journal import Attempt, Delivered, Journal
from channels.slack.emulator.time import Time
from channels.slack.emulator.wire import a_text, an_object
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.state import App
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.steps.tasks import Tasks

MOST_CONNECTIONS = 10
KINDS = {"event": "events_api", "interactive": "interactive", "command": "slash_commands"}


@dataclass(slots=True, eq=False)
class Line:
    """One open connection of an app."""

    app: str
    socket: web.WebSocketResponse
    mute: bool = False


@dataclass(slots=True, kw_only=True)
class Sockets:
    world: World
    time: Time
    tasks: Tasks
    journal: Journal
    faults: Faults
    lines: list[Line] = field(default_factory=list[Line])
    _waiting: dict[str, asyncio.Future[Json]] = field(
        default_factory=dict[str, "asyncio.Future[Json]"]
    )
    _turn: int = 0

    def of(self, app: str) -> list[Line]:
        return [line for line in self.lines if line.app == app]

    # -- connections -------------------------------------------------------------------------------
    async def connect(self, request: web.Request) -> web.StreamResponse:
        """A client comes with the address that ``apps.connections.open`` handed out."""
        app = self.world.tickets.pop(request.query.get("ticket", ""), None)
        if app is None:
            return web.Response(status=404, text="no such ticket")
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        line = Line(app, socket)
        if len(self.of(app)) >= MOST_CONNECTIONS:
            await self._bye(line, "too_many_websockets")
            return socket
        self.lines.append(line)
        try:
            await socket.send_json(self._hello(app))
            self.journal.changed()
            await self._listen(line)
        finally:
            self.lines.remove(line)
            self.journal.changed()
        return socket

    def _hello(self, app: str) -> JsonObject:
        return {
            "type": "hello",
            "num_connections": len(self.of(app)),
            "debug_info": {"host": "emulator", "approximate_connection_time": 3600},
            "connection_info": {"app_id": app},
        }

    async def _listen(self, line: Line) -> None:
        async for message in line.socket:
            if line.mute:
                continue
            if message.type is WSMsgType.PING:
                await line.socket.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._heard(message.data)

    def _heard(self, text: str) -> None:
        try:
            said = an_object(json.loads(text))
        except ValueError:
            self.journal.trouble.append("socket: a frame that isn't JSON")
            return
        waiting = self._waiting.get(a_text(said.get("envelope_id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(said.get("payload"))

    async def _bye(self, line: Line, reason: str) -> None:
        await line.socket.send_json(
            {"type": "disconnect", "reason": reason, "debug_info": {"host": "emulator"}}
        )
        await line.socket.close()

    async def disconnect(self, app: str, reason: str = "refresh_requested") -> None:
        """Ask every connection of the app to come again, as Slack does every hour or so."""
        for line in self.of(app):
            await self._bye(line, reason)

    def mute(self, app: str) -> None:
        """The lines stay open and say nothing any more, not even to a ping."""
        for line in self.of(app):
            line.mute = True

    async def close(self) -> None:
        for line in list(self.lines):
            await line.socket.close()

    # -- envelopes ---------------------------------------------------------------------------------
    async def event(self, app: App, sent: Delivered) -> None:
        fault = self.faults.take(f"event:{sent.type}", EVENT_FAULTS - {"event_reordered"})
        if fault is not None and fault.kind == "event_late":
            await self.time.sleep(fault.seconds)
        reply = await self.send(app, sent, 0, "")
        if fault is not None and fault.kind in {"event_twice", "ack_lost"}:
            reply = await self.send(app, sent, 1, "timeout")
        for number, pause in enumerate(RETRIES, 1):
            if reply.good:
                break
            await self.time.sleep(pause)
            reply = await self.send(app, sent, number, "timeout")
        sent.over = True
        self.journal.changed()

    async def send(self, app: App, sent: Delivered, number: int, reason: str) -> Reply:
        """Send an envelope once, and wait for its acknowledgement."""
        attempt = Attempt(number, reason, self.time.now())
        sent.attempts.append(attempt)
        reply = await self._exchange(app, sent, number, reason)
        attempt.outcome, attempt.answer = reply.outcome, reply.text
        self.journal.changed()
        return reply

    async def _exchange(self, app: App, sent: Delivered, number: int, reason: str) -> Reply:
        name = self.world.secret()
        envelope: JsonObject = {
            "envelope_id": name,
            "type": KINDS[sent.kind],
            "payload": sent.payload,
            "accepts_response_payload": sent.kind != "event",
        }
        if sent.kind == "event":
            envelope.update(retry_attempt=number, retry_reason=reason)
        line = await self._line(app.id)
        if line is None:
            return Reply("no_connection")
        ack: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[name] = ack
        alarm = self.tasks.start(self.time.sleep(PATIENCE), "ack-alarm")
        try:
            if not line.mute:
                await line.socket.send_json(envelope)
            waits: set[asyncio.Future[Any]] = {ack, alarm}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        except ConnectionError:
            return Reply("connection_failed")
        finally:
            alarm.cancel()
            del self._waiting[name]
        if not ack.done():
            return Reply("no_ack")
        payload = ack.result()
        return Reply("acked", 200, "" if payload is None else json.dumps(payload))

    async def _line(self, app: str) -> Line | None:
        """One of the connections in turn. A fault may strike it first."""
        lines = self._live(app, ())
        if not lines:
            return None
        self._turn += 1
        line = lines[self._turn % len(lines)]
        fault = self.faults.take("socket", SOCKET_FAULTS)
        if fault is not None and fault.kind == "socket_mute":
            line.mute = True
        elif fault is not None:
            await line.socket.close()
            others = self._live(app, (line,))
            return others[0] if others else None
        return line

    def _live(self, app: str, but: Collection[Line]) -> list[Line]:
        return [line for line in self.of(app) if not line.socket.closed and line not in but]
