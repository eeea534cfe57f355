"""The desk of a gateway that a host runs: everything goes over its HTTP API.

It outlives the host: the next start is found in the state directory, with another token and maybe
on another port. A stream is taken up again behind the last event that was seen; what may arrive
twice, or didn't arrive, is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TypeVar

from gateway.cli.desk.client import Client, Lost, segment
from gateway.cli.timeline import TERMINAL
from gateway.cli.told import object_of, objects_of, text_of, whole
from gateway.engine.kinds import Json, JsonObject
from gateway.host.hostfile import HostFile

NEW_LINK = "/console/sign-in/new-link"

PATIENCE = 20.0
"""Seconds a follower waits for a host that went away."""
MOMENT = 5.0
"""Seconds that one call waits for it: long enough for a restart, short for who just looks."""

T = TypeVar("T")


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

    @property
    def keeps(self) -> bool:
        return True

    # -- looking -------------------------------------------------------------------------------
    async def status(self) -> JsonObject:
        return object_of(await self._get("/status"))

    async def agents(self) -> list[JsonObject]:
        return _items(await self._get("/agents"), "agents")

    async def sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        query = _query(agent=agent, status=status, limit=str(limit))
        return _items(await self._get("/sessions", query), "sessions")

    async def turns(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        state: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        query = _query(agent=agent, session=session, state=state, limit=str(limit))
        return _items(await self._get("/turns", query), "turns")

    async def approvals(self, *, limit: int = 50) -> list[JsonObject]:
        return _items(await self._get("/approvals", _query(limit=str(limit))), "approvals")

    async def approval(self, id: str) -> JsonObject:  # noqa: A002
        return object_of(await self._get(f"/approvals/{segment(id)}"))

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
        return _items(await self._get("/audit", query), "audit")

    async def verdicts(
        self,
        *,
        event: str | None = None,
        place: str | None = None,
        turn_id: str | None = None,
        source: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        query = _query(event=event, place=place, turn_id=turn_id, source=source, limit=str(limit))
        return _items(await self._get("/verdicts", query), "verdicts")

    async def deliveries(
        self, *, state: str | None = None, turn_id: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        query = _query(state=state, turn_id=turn_id, limit=str(limit))
        return _items(await self._get("/deliveries", query), "deliveries")

    async def delivery(self, id: int) -> JsonObject:  # noqa: A002
        return object_of(await self._get(f"/deliveries/{id}"))

    async def snapshot(self, agent: str, session: str, turn_id: str) -> JsonObject:
        return object_of(await self._get(_turn(agent, session, turn_id)))

    async def transcript(self, agent: str, session: str) -> list[JsonObject]:
        return _items(await self._get(_session(agent, session) + "/transcript"), "messages")

    async def logged(self, agent: str, session: str, turn_id: str) -> list[JsonObject]:
        return _items(await self._get(_turn(agent, session, turn_id) + "/events"), "events")

    # -- doing ---------------------------------------------------------------------------------
    async def schedules(self) -> list[JsonObject]:
        return _items(await self._get("/schedules"), "schedules")

    async def run_schedule(self, name: str) -> JsonObject:
        return await self._schedule(name, "run", twice=False)

    async def pause_schedule(self, name: str) -> JsonObject:
        return await self._schedule(name, "pause", twice=True)

    async def resume_schedule(self, name: str) -> JsonObject:
        return await self._schedule(name, "resume", twice=True)

    async def _schedule(self, name: str, do: str, *, twice: bool) -> JsonObject:
        path = f"/schedules/{segment(name)}/{do}"
        return object_of(await self._post(path, {"by": self._by}, twice=twice))

    async def mail(self, *, held: bool = False, limit: int = 50) -> list[JsonObject]:
        query = _query(held="1" if held else None, limit=str(limit))
        return _items(await self._get("/mail", query), "mail")

    async def read_mail(self, event: str, *, again: bool = False) -> JsonObject:
        return object_of(await self._get(f"/mail/{segment(event)}{'/replay' if again else ''}"))

    async def raw_mail(self, event: str) -> bytes:
        path = f"/mail/{segment(event)}/raw"
        return await self._again(lambda: self._client.download(path), twice=True)

    async def admit_mail(self, event: str) -> JsonObject:
        path = f"/mail/{segment(event)}/admit"
        return object_of(await self._post(path, {"by": self._by}, twice=True))

    async def conversation(self, key: str) -> JsonObject:
        return object_of(await self._get(f"/conversations/{segment(key)}"))

    async def hand_back(self, key: str) -> JsonObject:
        path = f"/conversations/{segment(key)}/handback"
        return object_of(await self._post(path, {"by": self._by}))

    async def users(self) -> list[JsonObject]:
        return _items(await self._get("/console/users"), "users")

    async def change_user(self, name: str, do: str, role: str | None = None) -> JsonObject:
        body: JsonObject = {"do": do, "role": role}
        return object_of(await self._client.post(f"/console/users/{segment(name)}", body))

    async def sign_in_link(self) -> JsonObject:
        return object_of(await self._client.post(NEW_LINK, {}))

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
        return object_of(await self._post(path, body))

    async def retry_delivery(self, id: int) -> JsonObject:  # noqa: A002
        return object_of(await self._post(f"/deliveries/{id}/retry", {}))

    async def start(
        self, agent: str, session: str, message: str, *, turn_id: str | None = None
    ) -> str:
        name = self._by.partition(":")[2]
        speaker: JsonObject = {"id": self._by, "name": name, "level": "provider"}
        body: JsonObject = {"message": message, "speaker": speaker}
        if turn_id:
            body["turn_id"] = turn_id
        path = _session(agent, session) + "/turn"
        # The same turn id is the same turn, however often it arrives.
        started = object_of(await self._post(path, body, {"detach": "1"}, twice=bool(turn_id)))
        return text_of(started.get("turn_id"))

    async def cancel(self, agent: str, session: str, turn_id: str) -> None:
        await self._post(_turn(agent, session, turn_id) + "/cancel", {}, twice=True)

    async def reset(self, agent: str, session: str) -> JsonObject:
        return object_of(await self._post(_session(agent, session) + "/reset", {}))

    async def follow(
        self, agent: str, session: str, turn_id: str, *, after: int = 0
    ) -> AsyncIterator[JsonObject]:
        """Events until the turn rests. A lost connection is taken up behind the last event, as
        long as the host comes back within its patience."""
        turn = _turn(agent, session, turn_id)
        asked: JsonObject | None = None
        while True:
            try:
                # Asked before reading on: events stay silent while a turn is parked.
                if asked is not None and await self._parked(turn, asked):
                    return
                asked = None
                async for event in self._client.events(f"{turn}/events", after=after):
                    after = max(after, whole(event.get("seq")))
                    yield event
                    if event.get("type") in TERMINAL:
                        return
                    if event.get("type") == "input.requested":
                        asked = event
                        if await self._parked(turn, asked):
                            return
                        asked = None
                # A stream that ends early: the host drains, or this reader was cut off.
                now = object_of(await self._client.get(turn))
                open_still = text_of(now.get("state")) in {"queued", "running"}
                if not open_still and whole(now.get("last_seq")) <= after:
                    return
                await asyncio.sleep(0.1)
            except Lost:
                yield {"type": "cli.waiting", "turn_id": turn_id}
                if not await self._back(self._patience):
                    raise

    async def _parked(self, turn: str, event: JsonObject) -> bool:
        """Whether the turn still waits for this request: it may be one of the past."""
        now = object_of(await self._client.get(turn))
        asked = object_of(now.get("request"))
        return now.get("state") == "suspended" and asked.get("id") == event.get("id")

    # -- over a restart ------------------------------------------------------------------------
    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        return await self._again(lambda: self._client.get(path, query), twice=True)

    async def _post(
        self,
        path: str,
        body: JsonObject,
        query: Mapping[str, str] | None = None,
        *,
        twice: bool = False,
    ) -> Json:
        return await self._again(lambda: self._client.post(path, body, query), twice=twice)

    async def _again(self, send: Callable[[], Awaitable[T]], *, twice: bool) -> T:
        """Send, and once more to the host's next start: if that may arrive ``twice``, or surely
        didn't arrive."""
        try:
            return await send()
        except Lost as lost:
            if (lost.arrived and not twice) or not await self._back(min(MOMENT, self._patience)):
                raise
        return await send()

    async def _back(self, patience: float) -> bool:
        """Wait for the host's next start: it may be on another port, and has another token."""
        end = asyncio.get_running_loop().time() + patience
        while asyncio.get_running_loop().time() < end:
            host = await asyncio.to_thread(self._find)
            if host is not None:
                self._client.move(host.url, await asyncio.to_thread(host.token))
                if await self._client.ready(1.0) and await self._client.knows_us():
                    return True
            await asyncio.sleep(0.1)
        return False


def _session(agent: str, session: str) -> str:
    return f"/agents/{segment(agent)}/sessions/{segment(session)}"


def _turn(agent: str, session: str, turn_id: str) -> str:
    return f"{_session(agent, session)}/turns/{segment(turn_id)}"


def _query(**given: str | None) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}


def _items(body: Json, name: str) -> list[JsonObject]:
    """The list in an answer: bare, or under its name."""
    return objects_of(body.get(name) if isinstance(body, dict) else body)
