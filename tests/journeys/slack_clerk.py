"""A host with an agent that does as it is told, and what only Slack itself could do to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol, cast

from aiohttp import ClientSession, web

from channels.slack.emulator.journal import Delivered
from gateway.engine.kinds import JsonObject
from gateway.engine.ledger import Delivery, VerdictRow
from gateway.testing.slack import Message
from tests.journeys.slack_stage import Stage, staged
from tests.support.http import on_socket

CLERK = Path(__file__).parent / "clerk"
SETTINGS = {"GATEWAY_AGENT": str(CLERK), "GATEWAY_MODEL": ""}
SETTLED = {"done", "silent", "resting"}


class Desk(Protocol):
    """What the agent shares with a test: its own ``_desk.py`` says what each is."""

    lists: Mapping[str, tuple[str, ...]]
    gate: asyncio.Event
    asked: list[str]
    thinking: int
    most: int


def desk(on: Stage) -> Desk:
    return cast("Desk", on.host.runtime.agents["june"].services)


def clerk(state: Path, speed: float = 10.0, **settings: str) -> AbstractAsyncContextManager[Stage]:
    return staged(state, speed=speed, settings={**SETTINGS, **settings})


# -- what Slack does -----------------------------------------------------------------------------------
def told(on: Stage, post: Message) -> list[Delivered]:
    """The events that told of a post."""
    found: dict[str, Delivered] = {}
    for sent in on.slack.journal.deliveries:
        event = cast("JsonObject", sent.payload.get("event", {}))
        if (event.get("channel"), event.get("ts")) == (post.channel, post.ts):
            found.setdefault(sent.id, sent)
    return list(found.values())


def tell_again(on: Stage, post: Message, times: int = 1) -> None:
    for sent in told(on, post) * times:
        copy = Delivered(sent.id, sent.app, sent.kind, sent.type, sent.payload)
        on.slack.outlet.dispatch(on.slack.app(), copy)


@asynccontextmanager
async def slow_way_back(on: Stage, seconds: float) -> AsyncGenerator[None]:
    """What is answered to Slack arrives so much later, until it has tried twice."""
    app = on.slack.app()
    there = app.request_url

    async def passed_on(request: web.Request) -> web.Response:
        kept = ("content-type", "x-slack-")
        headers = {k: v for k, v in request.headers.items() if k.lower().startswith(kept)}
        async with (
            ClientSession() as session,
            session.post(there, data=await request.read(), headers=headers) as answer,
        ):
            body = await answer.read()
        if request.headers.get("X-Slack-Retry-Num", "1") == "1":
            await on.time.sleep(seconds)
        return web.Response(status=answer.status, body=body)

    between = web.Application()
    between.router.add_post("/", passed_on)
    async with on_socket(between) as url:
        app.request_url = f"{url}/"
        try:
            yield
        finally:
            app.request_url = there


# -- what came of it -----------------------------------------------------------------------------------
def turn_id(on: Stage, post: Message) -> str:
    return f"slack:{on.office.june.key}:{post.channel}:{post.ts}"


def _told(row: Delivery) -> bool:
    return row.state == "dead" or (row.state in SETTLED and row.shown == row.wanted)


async def rest(on: Stage, *posts: Message) -> None:
    """Until the turns of these are over or parked, and all that there is to tell of them is shown."""
    ledger = on.host.runtime.store.ledger
    async with asyncio.timeout(25.0):
        for post in posts:
            while True:
                rows = await ledger.deliveries(turn_id=turn_id(on, post))
                if rows and all(map(_told, rows)):
                    break
                await asyncio.sleep(0.01)
    await on.slack.settled(20.0)


async def verdicts(on: Stage, post: Message) -> list[VerdictRow]:
    ledger = on.host.runtime.store.ledger
    return [row for sent in told(on, post) for row in await ledger.verdicts(event=sent.id)]


def said(on: Stage, root: Message) -> str:
    """All that june said in a thread."""
    return "\n".join(shown.text for shown in on.office.by_june(root))
