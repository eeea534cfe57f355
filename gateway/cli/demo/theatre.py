"""The host as the scenes reach it: over HTTP, like any other client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from gateway.cli.demo.hosting import HostProcess
from gateway.cli.demo.stage import Stage
from gateway.cli.desk.client import Client, segment
from gateway.cli.problem import Problem
from gateway.cli.timeline import TERMINAL
from gateway.cli.told import object_of, objects_of, text_of
from gateway.engine.kinds import Json, JsonObject

PATIENCE = 30.0
MOVING = frozenset({"due", "sending"})


class Theatre:
    """One client at a time, a new one after each restart."""

    def __init__(self, stage: Stage, host: HostProcess, state: Path, stack: AsyncExitStack) -> None:
        self.stage = stage
        self.host = host
        self.state = state
        self._stack = stack
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            raise Problem("demo", "the host isn't running", fix="gateway demo")
        return self._client

    async def start(self) -> None:
        client = await self.host.start()
        self._client = await self._stack.enter_async_context(client)
        if not await client.ready(PATIENCE):
            raise Problem("demo", "the host doesn't become ready", fix="gateway demo --keep")

    async def crash(self, when: str, then: str = "started again") -> None:
        await self.host.kill()
        self.stage.crash(when, then)
        with self.stage.waiting("starting again…"):
            await self.start()

    # -- what a client does --------------------------------------------------------------------
    async def ask(self, session: str, message: str, turn_id: str) -> list[JsonObject]:
        """Start a turn and watch it to where it rests; its events, deltas too."""
        self.stage.says("you", message)
        body: JsonObject = {"message": message, "turn_id": turn_id}
        seen: list[JsonObject] = []
        async with within(f"turn {turn_id}"):
            async for event in self.client.events(f"{where(session)}/turn", body=body):
                self.stage.event(event)
                seen.append(event)
        return seen

    async def post(self, session: str, message: str, turn_id: str) -> int:
        """Hand a turn in and take the receipt: 202 means that it is kept."""
        status, _ = await self.client.request(
            "POST",
            f"{where(session)}/turn",
            body={"message": message, "turn_id": turn_id},
            query={"detach": "1"},
        )
        return status

    async def decide(
        self, request: JsonObject, value: Json, by: str, reason: str | None = None
    ) -> tuple[int, JsonObject]:
        body: JsonObject = {"value": value, "by": by, "digest": request.get("digest")}
        if reason:
            body["reason"] = reason
        path = f"/approvals/{segment(text_of(request.get('id')))}"
        refused = frozenset({403, 409})
        status, answer = await self.client.request("POST", path, body=body, outcomes=refused)
        return status, object_of(answer)

    async def snapshot(self, session: str, turn_id: str) -> JsonObject:
        return object_of(await self.client.get(f"{where(session)}/turns/{turn_id}"))

    async def watch(self, session: str, turn_id: str, after: int) -> list[JsonObject]:
        """The rest of a turn, to its end."""
        seen: list[JsonObject] = []
        async with within(f"turn {turn_id}"):
            async for event in self.client.events(
                f"{where(session)}/turns/{turn_id}/events", after=after
            ):
                self.stage.event(event)
                seen.append(event)
                if event.get("type") in TERMINAL:
                    break
        return seen

    async def log(self, session: str, turn_id: str) -> list[JsonObject]:
        return listed(await self.client.get(f"{where(session)}/turns/{turn_id}/events"), "events")

    async def settled(self) -> None:
        """Nothing that is to be shown or sent is on its way any more, as far as the host knows."""
        async with within("sending what is due"):
            busy = True
            while busy:
                body = await self.client.get("/deliveries", {"limit": "100"})
                busy = any(row.get("state") in MOVING for row in listed(body, "deliveries"))
                await asyncio.sleep(0.01)

    async def transcript(self, session: str) -> list[JsonObject]:
        return listed(await self.client.get(f"{where(session)}/transcript"), "messages")


def where(session: str) -> str:
    return f"/agents/june/sessions/{segment(session)}"


def listed(body: Json, name: str) -> list[JsonObject]:
    return objects_of(object_of(body).get(name))


@asynccontextmanager
async def within(what: str) -> AsyncGenerator[None]:
    """A wait that ends: with words, if it has to."""
    try:
        async with asyncio.timeout(PATIENCE):
            yield
    except TimeoutError as error:
        raise Problem(
            "demo", f"{what} took over {PATIENCE:.0f} s", fix="gateway demo --keep"
        ) from error


async def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Problem("demo", f"{what} didn't happen in {PATIENCE:.0f} s", fix="gateway demo")
        await asyncio.sleep(0.003)
