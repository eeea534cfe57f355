"""Socket Mode: the same payloads on a line that we open, each kept before it is acknowledged.

Wire (docs.slack.dev, "Using Socket Mode"; slack_sdk ``socket_mode/aiohttp/__init__.py``):
``apps.connections.open`` gives an address that is good once; envelopes carry an ``envelope_id`` to be sent
back, with a payload where a form has to be answered; what isn't acknowledged comes again. ``disconnect``
announces the end of a line, about hourly. An app may hold ten lines, and each envelope goes down one of
them. Nothing is signed: who holds the line has been let in.

A line is Bolt's handler around the SDK's client, from its opening to its end. One that is over, or that says
nothing for too long, isn't mended but replaced, the new one before the old: a line that still answers pings
may have been forgotten by whoever sends the events.

This file loads Bolt, which takes most of a second: import it in a thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal, cast

import aiohttp
from slack_bolt.adapter.socket_mode.async_base_handler import AsyncBaseSocketModeHandler
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from typing_extensions import override

from channels.protocol import ChannelContext
from channels.slack.api import QUIET, SlackWeb
from channels.slack.calls import NotNow, Ok, Outcome, Refused
from channels.slack.ingress import MUTE, REFUSED, STRANGER
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.limits import Waits
from gateway.engine.steps.tasks import Tasks

__all__ = ["Receive", "Socket", "State"]

Receive = Callable[[str, object], Awaitable[JsonObject | None]]
"""An envelope's type and payload, kept when it returns; what goes back with the acknowledgement."""
State = Literal["off", "standby", "connecting", "up", "refused"]

LEASE = Millis(30_000)
RENEW_EVERY = 10.0
"""Seconds, as all below."""
GLANCE = 1.0
"""How often the line is looked at."""
PING_EVERY = 10.0
DEAF = 30.0
"""Without any frame, not even the answer to a ping."""
IDLE = 600.0
"""Without an envelope."""
PROVEN = 30.0
"""A line that lasted so long was a good one: its successor is opened at once."""
LONGEST_PAUSE = 30.0
CONNECT = 8.0
LEAVING = 2.0
LONGEST_CLOSE = 6.0
SILENT = f"nothing was heard for {DEAF:g} s"
AT_ONCE = 64
"""Envelopes judged at the same time on a line; the others wait, and Slack waits with them."""

log = logging.getLogger("gateway.slack")


class Socket:
    """Keeps a line to Slack open, on one of the hosts that share a store.

    ``state`` and ``why`` tell people how that goes.
    """

    def __init__(
        self, app_token: str, api: SlackWeb, receive: Receive, ctx: ChannelContext
    ) -> None:
        self.state: State = "off"
        self.why = ""
        self.line: _Line | None = None
        self._token = app_token
        self._api = api
        self._receive = receive
        self._ctx = ctx
        self._waits = ctx.waits
        # Hosts that hold the same token serve the same app; the token itself stays here.
        self._lease = f"slack:socket:{hashlib.sha256(app_token.encode()).hexdigest()[:16]}"
        self._owner = secrets.token_hex(8)
        self._asked_at = self._held_until = float("-inf")
        self._attempts = 0
        self._try_at = float("-inf")
        self._mute = False
        self._look = asyncio.Event()
        self._leaving = Tasks()

    async def run(self) -> None:
        """Until it is cancelled; then no line is open and the lease is free."""
        try:
            while True:
                try:
                    await self._step()
                except Exception:
                    log.exception("slack: the socket stumbled, it is looked at again")
                with suppress(TimeoutError):
                    async with self._waits.timeout(GLANCE):
                        await self._look.wait()
                self._look.clear()
        finally:
            await self._leave()

    async def _step(self) -> None:
        if not await self._owns():
            await self._drop()
            self._is("standby", "another host holds the line")
            return
        line, now = self.line, self._waits.monotonic()
        if line is not None:
            await line.poke(now)
            if now - line.since > PROVEN:
                self._attempts = 0
            self._mute = self._mute and not line.answers
            if not (reason := line.over(now)):
                self._is("up", self._doubt(line))
                return
            self._mute = self._mute or reason == SILENT
            log.info("slack: the socket is renewed: %s", reason)
        if now >= self._try_at:
            self._attempts += 1
            self._try_at = now + min(2.0 ** (self._attempts - 1), LONGEST_PAUSE)
            await self._renew()

    # -- whose it is -------------------------------------------------------------------------------
    async def _owns(self) -> bool:
        """Who can't ask for the lease keeps it as long as it surely lasts."""
        now = self._waits.monotonic()
        if now - self._asked_at >= RENEW_EVERY:
            try:
                held = await self._ctx.ledger.hold(self._lease, self._owner, LEASE)
                self._asked_at = now
                self._held_until = now + LEASE / 1000 if held else now
            except StoreUnavailableError:
                log.warning("slack: the socket's lease can't be renewed, the store is away")
        return now < self._held_until

    # -- the line ------------------------------------------------------------------------------------
    async def _renew(self) -> None:
        """Open a line, and only then part with the one before."""
        old = self.line
        if old is None or old.broken:
            self._is("connecting", "the line is being opened")
        opened = await self._api.call_with(self._token, "apps.connections.open", {})
        url = opened.data.get("url") if isinstance(opened, Ok) else None
        if not isinstance(url, str):
            self._failed(opened)
            return
        new, good = _Line(url, self._receive, self._waits, self._look.set), False
        ours = 1 + (old is not None) + len(self._leaving)
        try:
            await new.open()
            good = True
        except TimeoutError:
            self._is("connecting", "Slack gave an address, but nobody answers there")
            return
        finally:
            if not good:
                await new.close()
        new.ours, self.line = ours, new
        self._is("up", self._doubt(new))
        if old is not None:
            self._leaving.run(old.close(), "slack-line-close")

    def _doubt(self, line: _Line) -> str:
        """What is wrong although the line is up, or nothing."""
        if self._mute:
            return f"{MUTE}: a firewall or proxy may cut WebSockets"
        return f"{STRANGER}, and takes some of the events" if line.strangers else ""

    def _failed(self, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            self._try_at = self._waits.monotonic() + LONGEST_PAUSE
            self._is(
                "refused",
                f"{REFUSED}: {outcome.code}; check SLACK_APP_TOKEN (xapp-…, with"
                " connections:write) and that Socket Mode is on in the app's settings",
            )
            return
        if isinstance(outcome, NotNow):
            self._try_at = max(self._try_at, self._waits.monotonic() + outcome.after)
        self._is("connecting", "Slack can't be reached")

    def _is(self, state: State, why: str) -> None:
        if (state, why) != (self.state, self.why):
            log.log(
                logging.ERROR if state == "refused" else logging.INFO,
                "slack: socket %s%s",
                state,
                why and f": {why}",
            )
        self.state, self.why = state, why

    async def _drop(self) -> None:
        line, self.line = self.line, None
        if line is not None:
            await line.close()

    async def _leave(self) -> None:
        self._is("off", "")
        line, self.line = self.line, None
        if line is not None:
            self._leaving.run(line.close(), "slack-line-close")
        await self._leaving.ended(LONGEST_CLOSE)
        await self._leaving.close(1.0)
        with suppress(StoreUnavailableError):
            await self._ctx.ledger.let_go(self._lease, self._owner)


class _Client(SocketModeClient):
    """The SDK's client with an owner for what it starts per frame, and a limit to how much."""

    def __init__(self, url: str, farewell: Callable[[], None]) -> None:
        super().__init__(
            app_token="",  # the address is known already
            logger=QUIET,
            auto_reconnect_enabled=False,
            ping_interval=PING_EVERY,
        )
        self.wss_uri = url
        self.proxy = None  # it would take one from the environment
        self.frames = Tasks()
        self.greeted = 0
        self._room = asyncio.Semaphore(AT_ONCE)
        self._farewell = farewell

    @property
    def jobs(self) -> list[asyncio.Future[object]]:
        """What it runs as long as it is open, and cancels without waiting."""
        sdk: Any = self
        found = (sdk.message_processor, sdk.current_session_monitor, sdk.message_receiver)
        return [job for job in found if job is not None]

    @override
    async def process_message(self) -> None:
        sdk: Any = self
        raw: str = await sdk.message_queue.get()
        await self._room.acquire()
        self.frames.run(self._frame(raw), "slack-frame")

    async def _frame(self, raw: str) -> None:
        try:
            message: object = json.loads(raw)
        except (ValueError, RecursionError):
            message = None
        try:
            if not isinstance(message, dict):
                log.warning("slack: a frame on the socket isn't a JSON object")
            elif cast("JsonObject", message).get("type") == "disconnect":
                self._farewell()
            else:
                sdk: Any = self
                self._greeting(cast("JsonObject", message))
                await sdk.run_message_listeners(message, raw)
        finally:
            self._room.release()

    def _greeting(self, message: JsonObject) -> None:
        """``hello`` says how many lines the app has open by now."""
        lines = message.get("num_connections")
        if message.get("type") == "hello" and isinstance(lines, int):
            self.greeted = lines


class _Line(AsyncBaseSocketModeHandler):
    """One connection. It keeps what comes, then acknowledges; what can't be kept stays
    unacknowledged, so that Slack sends it again."""

    def __init__(
        self, url: str, receive: Receive, waits: Waits, changed: Callable[[], None]
    ) -> None:
        self.since = self.envelope_at = self._heard_at = waits.monotonic()
        self._pinged_at = self._heard_at
        self._pong: float | None = None
        self._receive = receive
        self._waits = waits
        self._changed = changed
        self._told_to_go = False
        self.ours = 1
        self._client = client = _Client(url, self._farewell)
        self.client = client
        client.on_message_listeners.append(self._heard)
        client.on_close_listeners.append(self._ended)
        client.on_error_listeners.append(self._ended)
        client.socket_mode_request_listeners.append(self.handle)

    async def open(self) -> None:
        """Raises ``TimeoutError``; the line has to be closed then, too."""
        handler: Any = self
        async with self._waits.timeout(CONNECT):
            await handler.connect_async()
        self.since = self.envelope_at = self._heard_at = self._waits.monotonic()

    async def close(self) -> None:
        """What is being kept is still acknowledged; then all that the client started is ended."""
        client, handler = self._client, cast("Any", self)
        with suppress(TimeoutError):
            async with self._waits.timeout(LEAVING):
                await client.frames.ended(LEAVING)
        try:
            async with self._waits.timeout(LEAVING):
                await handler.close_async()
        except (OSError, aiohttp.ClientError):
            pass  # who would say goodbye isn't there any more
        finally:
            await client.aiohttp_client_session.close()
            await client.frames.close(1.0)
            for job in client.jobs:
                job.cancel()
            await asyncio.wait(client.jobs, timeout=1.0)

    # -- how it is -----------------------------------------------------------------------------------
    @property
    def broken(self) -> bool:
        session = self._client.current_session
        return session is None or session.closed or any(job.done() for job in self._client.jobs)

    @property
    def answers(self) -> bool:
        """Whether a ping came back on it."""
        return self._pong is not None

    @property
    def strangers(self) -> int:
        """Lines of the app that weren't ours when this one opened."""
        return max(0, self._client.greeted - self.ours)

    def over(self, now: float) -> str:
        """Why it has to be replaced, or nothing."""
        if self._told_to_go:
            return "Slack asked for a new one"
        if self.broken:
            return "it broke"
        if now - self._heard_at > DEAF:
            return SILENT
        if now - self.envelope_at > IDLE:
            return f"no event came for {IDLE:g} s"
        return ""

    async def poke(self, now: float) -> None:
        """Ping from time to time, and take note of answers to it, which the client keeps to itself."""
        if (pong := self._client.last_ping_pong_time) != self._pong:
            self._pong, self._heard_at = pong, now
        session = self._client.current_session
        if session is None or session.closed or now - self._pinged_at < PING_EVERY:
            return
        self._pinged_at = now
        with suppress(OSError, aiohttp.ClientError):
            async with self._waits.timeout(GLANCE):
                await session.ping(f"sdk-ping-pong:{now}".encode())

    async def _heard(self, _: aiohttp.WSMessage) -> None:
        self._heard_at = self._waits.monotonic()

    async def _ended(self, _: aiohttp.WSMessage) -> None:
        self._changed()

    def _farewell(self) -> None:
        self._told_to_go = True
        self._changed()

    # -- envelopes -------------------------------------------------------------------------------------
    @override
    async def handle(self, client: AsyncBaseSocketModeClient, req: SocketModeRequest) -> None:
        self.envelope_at = self._waits.monotonic()
        envelope: Any = req
        try:
            answer = await self._receive(req.type, envelope.payload)
        except StoreUnavailableError:
            log.warning("slack: an envelope can't be stored now, Slack is to send it again")
            return
        except Exception:
            log.exception("slack: an envelope can't be judged, Slack is to send it again")
            return
        with suppress(OSError, aiohttp.ClientError):  # unacknowledged: it comes again, as known
            await client.send_socket_mode_response(SocketModeResponse(req.envelope_id, answer))
