"""The desk of a gateway that a host runs: everything goes over its HTTP API.

Following a turn survives the host's restart: the stream is taken up again behind the last event
that was seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from gateway.cli.desk.client import Client, Lost, segment
from gateway.cli.timeline import TERMINAL, object_of, text_of, whole
from gateway.engine.kinds import Json, JsonObject
from gateway.host.hostfile import HostFile

PATIENCE = 20.0
"""Seconds a follower waits for a host that went away."""


class RemoteDesk:
    """``by`` is who speaks and answers here. ``find`` tells where the host is now."""

    def __init__(
        self,
        client: Client,
        by: str,
        find: Callable[[], HostFile | None],
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._client = client
        self._by = by
        self._find = find
        self._patience = patience

    @property
    def where(self) -> str:
        return self._client.url

    # -- looking -------------------------------------------------------------------------------
    async def status(self) -> JsonObject:
        return object_of(await self._client.get("/status"))

    async def agents(self) -> list[JsonObject]:
        return _items(await self._client.get("/agents"), "agents")

    async def sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        query = _query(agent=agent, status=status, limit=str(limit))
        return _items(await self._client.get("/sessions", query), "sessions")

    async def turns(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        state: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        query = _query(agent=agent, session=session, state=state, limit=str(limit))
        return _items(await self._client.get("/turns", query), "turns")

    async def approvals(self, *, limit: int = 50) -> list[JsonObject]:
        return _items(await self._client.get("/approvals", _query(limit=str(limit))), "approvals")

    async def approval(self, id: str) -> JsonObject:  # noqa: A002
        return object_of(await self._client.get(f"/approvals/{segment(id)}"))

    async def audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        query = _query(agent=agent, session=session, turn=turn, limit=str(limit))
        if before is not None:
            query["before"] = str(before)
        return _items(await self._client.get("/audit", query), "audit")

    async def snapshot(self, agent: str, session: str, turn_id: str) -> JsonObject:
        return object_of(await self._client.get(_turn(agent, session, turn_id)))

    async def transcript(self, agent: str, session: str) -> list[JsonObject]:
        return _items(await self._client.get(_session(agent, session) + "/transcript"), "messages")

    async def logged(self, agent: str, session: str, turn_id: str) -> list[JsonObject]:
        return _items(await self._client.get(_turn(agent, session, turn_id) + "/events"), "events")

    # -- doing ---------------------------------------------------------------------------------
    async def decide(
        self,
        request: JsonObject,
        value: Json,
        *,
        reason: str | None = None,
    ) -> JsonObject:
        body: JsonObject = {"value": value, "by": self._by, "digest": request.get("digest")}
        if reason:
            body["reason"] = reason
        path = f"/approvals/{segment(text_of(request.get('id')))}"
        return object_of(await self._client.post(path, body))

    async def start(
        self, agent: str, session: str, message: str, *, turn_id: str | None = None
    ) -> str:
        name = self._by.partition(":")[2]
        speaker: JsonObject = {"id": self._by, "name": name, "level": "provider"}
        body: JsonObject = {"message": message, "speaker": speaker}
        if turn_id:
            body["turn_id"] = turn_id
        path = _session(agent, session) + "/turn"
        started = object_of(await self._client.post(path, body, {"detach": "1"}))
        return text_of(started.get("turn_id"))

    async def cancel(self, agent: str, session: str, turn_id: str) -> None:
        await self._client.post(_turn(agent, session, turn_id) + "/cancel", {})

    async def reset(self, agent: str, session: str) -> JsonObject:
        return object_of(await self._client.post(_session(agent, session) + "/reset", {}))

    async def follow(
        self, agent: str, session: str, turn_id: str, *, after: int = 0
    ) -> AsyncIterator[JsonObject]:
        """Events until the turn rests. A lost connection is taken up behind the last event, as
        long as the host comes back within its patience."""
        path = _turn(agent, session, turn_id) + "/events"
        while True:
            try:
                async for event in self._client.events(path, after=after):
                    after = max(after, whole(event.get("seq")))
                    yield event
                    if event.get("type") in TERMINAL:
                        return
                    if event.get("type") == "input.requested" and await self._parked(
                        agent, session, turn_id, event
                    ):
                        return
            except Lost:
                yield {"type": "cli.waiting", "turn_id": turn_id}
                if not await self._back():
                    raise
                continue
            # A stream that ends early: the host drains, or this reader was cut off.
            state = text_of((await self.snapshot(agent, session, turn_id)).get("state"))
            if state not in {"queued", "running"}:
                return
            await asyncio.sleep(0.1)

    async def _back(self) -> bool:
        """Wait for the host's next start: it may be on another port, and has another token."""
        end = asyncio.get_running_loop().time() + self._patience
        while asyncio.get_running_loop().time() < end:
            host = await asyncio.to_thread(self._find)
            if host is not None:
                self._client.move(host.url, await asyncio.to_thread(host.token))
                if await self._client.ready(1.0):
                    return True
            await asyncio.sleep(0.1)
        return False

    async def _parked(self, agent: str, session: str, turn_id: str, event: JsonObject) -> bool:
        """Whether the turn still waits for this request: it may be one of the past."""
        now = await self.snapshot(agent, session, turn_id)
        asked = object_of(now.get("request"))
        return now.get("state") == "suspended" and asked.get("id") == event.get("id")


def _session(agent: str, session: str) -> str:
    return f"/agents/{segment(agent)}/sessions/{segment(session)}"


def _turn(agent: str, session: str, turn_id: str) -> str:
    return f"{_session(agent, session)}/turns/{segment(turn_id)}"


def _query(**given: str | None) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}


def _items(body: Json, name: str) -> list[JsonObject]:
    """The list in an answer: bare, or under its name."""
    found = body.get(name) if isinstance(body, dict) else body
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
