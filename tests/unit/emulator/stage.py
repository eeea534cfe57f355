"""A workspace to try the emulator in, the SDK's client as a client nobody here wrote, and an app that
answers as told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from channels.slack.emulator import (
    App,
    Channel,
    Install,
    Limits,
    Person,
    SlackEmulator,
    Time,
    VirtualTime,
    Workspace,
)
from gateway.engine.kinds import JsonObject
from gateway.testing.slack import furnish


@dataclass
class Heard:
    """One request that the app got."""

    headers: dict[str, str]
    raw: bytes
    payload: JsonObject

    @property
    def event(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.payload["event"])

    @property
    def retry(self) -> str:
        return self.headers.get("x-slack-retry-num", "")


@dataclass
class Listener:
    """An app's address: keeps what arrives, answers with ``answer`` unless a list says otherwise."""

    heard: list[Heard] = field(default_factory=list[Heard])
    answers: list[web.Response] = field(default_factory=list[web.Response])
    hang: asyncio.Event | None = None
    url: str = ""

    def events(self, kind: str) -> list[Heard]:
        return [
            h
            for h in self.heard
            if isinstance(h.payload.get("event"), dict) and h.event["type"] == kind
        ]

    async def handle(self, request: web.Request) -> web.Response:
        raw = await request.read()
        payload = cast("JsonObject", _payload(raw, request.content_type))
        if payload.get("type") == "url_verification":
            return web.json_response({"challenge": payload["challenge"]})
        headers = {key.lower(): value for key, value in request.headers.items()}
        self.heard.append(Heard(headers, raw, payload))
        if self.hang is not None:
            await self.hang.wait()
        return self.answers.pop(0) if self.answers else web.Response()


def _payload(raw: bytes, kind: str) -> object:
    if kind == "application/json":
        return json.loads(raw)
    fields = {
        name: values[0] for name, values in parse_qs(raw.decode(), keep_blank_values=True).items()
    }
    return json.loads(fields["payload"]) if "payload" in fields else fields


@asynccontextmanager
async def serving(handler: Callable[[web.Request], Any]) -> AsyncIterator[str]:
    """A handler on a socket of its own."""
    app = web.Application()
    app.router.add_post("/slack", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/slack"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener()
    async with serving(listener.handle) as listener.url:
        yield listener


@dataclass
class Play:
    slack: SlackEmulator
    time: VirtualTime
    acme: Workspace
    june: Install
    ada: Person
    support: Channel
    web: AsyncWebClient

    @property
    def app(self) -> App:
        return self.slack.app()

    def client(self, token: str) -> AsyncWebClient:
        return AsyncWebClient(token=token, base_url=self.slack.api_url, retry_handlers=[])

    async def refused(self, method: str, token: str | None = None, **args: Any) -> str:
        """The error that a call is refused with."""
        return str((await self.refusal(method, token, **args))["error"])

    async def refusal(self, method: str, token: str | None = None, **args: Any) -> dict[str, Any]:
        client = self.web if token is None else self.client(token)
        with pytest.raises(SlackApiError) as caught:
            await client.api_call(method, json=args)
        return cast("dict[str, Any]", caught.value.response.data)

    async def call(self, method: str, **args: Any) -> dict[str, Any]:
        return cast("dict[str, Any]", (await self.web.api_call(method, json=args)).data)

    async def post(self, text: str = "hello", **args: Any) -> dict[str, Any]:
        return await self.call("chat.postMessage", channel=self.support.id, text=text, **args)

    async def start(self, **args: Any) -> tuple[str, str]:
        """Ask something and begin to stream an answer: the root's ts and the stream's."""
        asked = await self.ada.mention(self.support, "@june where is it?")
        began = await self.call("chat.startStream", **self.stream_args(asked.ts), **args)
        return asked.ts, str(began["ts"])

    def stream_args(self, thread: str) -> dict[str, Any]:
        return {
            "channel": self.support.id,
            "thread_ts": thread,
            "recipient_team_id": self.acme.id,
            "recipient_user_id": self.ada.id,
        }


@asynccontextmanager
async def playing(*, limits: Limits | None = None, time: Time | None = None) -> AsyncIterator[Play]:
    """acme, where ada talks to june in #support. Without limits unless they are what is tried."""
    clock = time or VirtualTime()
    async with SlackEmulator(time=clock, limits=limits or Limits(enabled=False)) as slack:
        found = furnish(slack)
        client = AsyncWebClient(token=found.june.token, base_url=slack.api_url, retry_handlers=[])
        yield Play(
            slack,
            cast("VirtualTime", clock),
            found.acme,
            found.june,
            found.ada,
            found.support,
            client,
        )


@asynccontextmanager
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def chunk(text: str) -> JsonObject:
    return {"type": "markdown_text", "text": text}


def task(name: str, status: str, **more: str) -> JsonObject:
    return {"type": "task_update", "id": name, "title": f"Task {name}", "status": status, **more}


def buttons(*labels: str, **more: Any) -> list[JsonObject]:
    elements = [
        {
            "type": "button",
            "action_id": label.lower(),
            "text": {"type": "plain_text", "text": label},
            "value": f"value-{label}",
            **more,
        }
        for label in labels
    ]
    return [{"type": "actions", "block_id": "choice", "elements": cast("Any", elements)}]
