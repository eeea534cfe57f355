"""The desk without a host: the store is opened here.

Looking needs the store alone, so a broken agent directory hides nothing. Starting or answering turns
needs the agents too: then this process is the host for as long as the command takes, and picks up
what was left unfinished like any other.

What brings a web server along is imported where it is needed: most commands only look.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, cast

from gateway.approvals.reading import read_ballot
from gateway.cli.problem import Problem
from gateway.config import Settings
from gateway.definition import load_agent
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import Json, JsonObject, SessionRef, Speaker
from gateway.engine.ledger import DeliveryState
from gateway.engine.limits import SYSTEM_CLOCK
from gateway.engine.outcomes import TurnInput
from gateway.engine.ports import SessionStore
from gateway.engine.records import TurnRecord
from gateway.engine.runtime import Runtime
from gateway.engine.session import Session
from gateway.engine.wire import message_json
from gateway.engine.wire.events import event_from, event_json
from gateway.host import views
from gateway.host.words.names import Names
from gateway.needs import CHANNEL_NEEDS
from gateway.outbox.listing import delivery_json, find_delivery, retry_delivery, verdict_json
from gateway.schedules.book import Book
from gateway.sealing import make_sealer

if TYPE_CHECKING:
    from gateway.host.channels.clerks import Clerks
    from gateway.host.console.access.access import Access

MOST = 500
"""Rows that are looked at for a count or a filter."""


def _channels(settings: Settings) -> list[Json]:
    """As a host would find them, by what is set and which files there are: for a look, no agent is loaded."""
    from gateway.host.channels.registry import Registry

    if not settings.agent.is_dir():
        return []
    made = {name for name in CHANNEL_NEEDS if (settings.agent / f"channels/{name}.py").exists()}
    registry = Registry.of(made, settings.missing)
    rows = [registry.told(name) for name in registry.names]
    return [{**row, "off": row["off"] or "gateway serve"} for row in rows]


class LocalDesk:
    """``runtime`` and ``book`` are a host's, where this process is one."""

    def __init__(
        self,
        settings: Settings,
        store: SessionStore,
        runtime: Runtime | None,
        by: str,
        book: Book | None = None,
    ) -> None:
        self._settings = settings
        self._store = store
        self._runtime = runtime
        self._by = by
        self._book = book
        self._names = Names()

    @property
    def where(self) -> str:
        return self._settings.database_url.partition("://")[0] + " store, no host running"

    @property
    def keeps(self) -> bool:
        return self._store.capabilities.durable

    # -- looking -------------------------------------------------------------------------------
    async def status(self) -> JsonObject:
        requests = await self._store.list_requests(limit=MOST)
        running = await self._store.list_turns(state="running", limit=MOST)
        queued = await self._store.list_turns(state="queued", limit=MOST)
        dead = await self._store.ledger.deliveries(state="dead", limit=MOST)
        channels = await asyncio.to_thread(_channels, self._settings)
        return {
            "ready": False,
            "problems": ["no host is running: gateway serve"],
            "draining": False,
            "running": len(running),
            "queued": len(queued),
            "approvals": len(requests),
            "oldest_approval": requests[0].request.created_at if requests else None,
            "dead_deliveries": len(dead),
            "agents": [],
            # Looking on a state directory without a store is done on an empty one in memory.
            "store": self._store.dialect if self._store.capabilities.durable else "none yet",
            "channels": channels,
        }

    async def agents(self) -> list[JsonObject]:
        return [views.agent_json(agent) for agent in self._working().agents.values()]

    async def sessions(
        self, *, agent: str | None = None, status: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        found = await self._store.list_sessions(agent=agent, status=status, limit=limit)
        return [self._names.beside(views.session_json(row)) for row in found]

    async def turns(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        state: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        found = await self._store.list_turns(state=state, limit=MOST)
        rows = [
            self._names.beside(views.turn_json(row))
            for row in found
            if agent in {None, row.ref.agent} and session in {None, row.ref.key}
        ]
        return rows[:limit]

    async def approvals(self, *, limit: int = 50) -> list[JsonObject]:
        return [
            self._names.beside(views.approval_json(row, await read_ballot(self._store, row)))
            for row in await self._store.list_requests(limit=limit)
        ]

    async def approval(self, id: str) -> JsonObject:  # noqa: A002
        found = await self._store.find_request(id)
        if found is None:
            raise NotFoundError(f"no request {id!r}", fix="gateway approvals list")
        return self._names.beside(views.approval_json(found, await read_ballot(self._store, found)))

    async def audit(
        self,
        *,
        agent: str | None = None,
        session: str | None = None,
        turn: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        found = await self._store.list_audit(
            agent=agent, session=session, turn_id=turn, before=before, limit=limit
        )
        return [views.audit_json(row) for row in found]

    async def verdicts(
        self,
        *,
        event: str | None = None,
        place: str | None = None,
        turn_id: str | None = None,
        source: str | None = None,
        limit: int = 50,
    ) -> list[JsonObject]:
        found = await self._store.ledger.verdicts(
            source=source, event=event, place=place, turn_id=turn_id, limit=limit
        )
        return [self._names.beside(verdict_json(row)) for row in found]

    async def deliveries(
        self, *, state: str | None = None, turn_id: str | None = None, limit: int = 50
    ) -> list[JsonObject]:
        wanted = cast("DeliveryState | None", state)
        found = await self._store.ledger.deliveries(state=wanted, turn_id=turn_id, limit=limit)
        return [self._names.beside(delivery_json(row)) for row in found]

    async def delivery(self, id: int) -> JsonObject:  # noqa: A002
        return self._names.beside(delivery_json(await find_delivery(self._store.ledger, id)))

    async def snapshot(self, agent: str, session: str, turn_id: str) -> JsonObject:
        found = Session(self._reading(), SessionRef(agent, session))
        return views.snapshot_json(await found.snapshot(turn_id), session)

    async def logged(self, agent: str, session: str, turn_id: str) -> list[JsonObject]:
        ref = SessionRef(agent, session)
        record = await self._turn(ref, turn_id)
        events: list[JsonObject] = []
        after = 0
        while page := await self._store.events(ref, record.row, after):
            told = (event_json(event_from(entry, ref, turn_id)) for entry in page)
            events += [self._names.beside(one, ("by",)) for one in told]
            after = page[-1].event.seq
        return events

    async def transcript(self, agent: str, session: str) -> list[JsonObject]:
        from gateway.host.api import archived

        key, generation = archived(session)
        found = Session(self._reading(), SessionRef(agent, key))
        if await self._store.session(found.ref) is None:
            raise NotFoundError(f"no session {key!r}", fix="gateway sessions list")
        messages = await found.transcript(generation=generation)
        return [message_json(message) for message in messages]

    # -- doing ---------------------------------------------------------------------------------
    async def schedules(self) -> list[JsonObject]:
        return await (await self._schedule_book()).rows()

    async def run_schedule(self, name: str) -> JsonObject:
        if self._book is None:
            raise Problem("unreachable", "this needs a running host", fix="gateway serve")
        fired = await self._book.run(name, self._by)
        if fired is None:
            return {"turn_id": None, "session": None}
        # Nobody else would run it.
        await self._session(self._book.agent, fired.session).result(fired.turn_id)
        return {"turn_id": fired.turn_id, "session": fired.session}

    async def pause_schedule(self, name: str) -> JsonObject:
        book = await self._schedule_book()
        await book.pause(name, self._by)
        return await book.row(name)

    async def resume_schedule(self, name: str) -> JsonObject:
        book = await self._schedule_book()
        await book.resume(name)
        return await book.row(name)

    async def _schedule_book(self) -> Book:
        """What the agent directory says, beside what the store keeps."""
        if self._book is not None:
            return self._book
        from gateway.host.channels.context import Context
        from gateway.host.channels.registry import Registry

        environ, runtime = self._settings.environ, self._reading()
        loaded = await asyncio.to_thread(load_agent, self._settings.agent, env=environ)
        room = Context(runtime, loaded.agent.name, Registry())
        return Book(runtime, loaded.agent.name, loaded.schedules, room)

    async def mail(self, *, held: bool = False, limit: int = 50) -> list[JsonObject]:
        return [
            self._names.beside(row) for row in await (await self._mail()).rows(limit, held=held)
        ]

    async def read_mail(self, event: str, *, again: bool = False) -> JsonObject:
        clerks = await self._mail()
        return await (clerks.replay(event) if again else clerks.show(event))

    async def raw_mail(self, event: str) -> bytes:
        return await (await self._mail()).raw(event)

    async def admit_mail(self, event: str) -> JsonObject:
        return await (await self._mail()).admit(event, self._by)

    async def conversation(self, key: str) -> JsonObject:
        return await (await self._mail()).conversation(key)

    async def hand_back(self, key: str) -> JsonObject:
        return await (await self._mail()).hand_back(key)

    async def _mail(self) -> Clerks:
        """How mail is read is the channel's, as the agent directory makes it. It isn't started."""
        from gateway.host.channels.clerks import MAIL, Clerks
        from gateway.host.channels.registry import build

        settings = self._settings
        read = partial(load_agent, env=settings.environ, run_channels=True)
        loaded = await asyncio.to_thread(read, settings.agent)
        found = {name: made for name, made in loaded.channels.items() if name == MAIL}
        channels = await asyncio.to_thread(build, found, settings.environ, settings.missing)
        return Clerks(channels, loaded.agent.name, self._store.ledger, SYSTEM_CLOCK)

    async def users(self) -> list[JsonObject]:
        from gateway.host.console.access.roster import listed

        return await listed(self._access())

    async def change_user(self, name: str, do: str, role: str | None = None) -> JsonObject:
        from gateway.host.console.access.roster import changed

        return await changed(self._access(), name, do, role)

    async def sign_in_link(self) -> JsonObject:
        raise Problem("unreachable", "no gateway dev runs on this state folder", fix="gateway dev")

    def _access(self) -> Access:
        from gateway.host.console.access.access import Access

        keys = [key.value for key in self._settings.secret_keys]
        return Access(
            ledger=self._store.ledger,
            clock=SYSTEM_CLOCK,
            sealer=make_sealer(keys) if keys else None,
        )

    async def decide(
        self, request: JsonObject, value: Json, *, reason: str | None = None
    ) -> JsonObject:
        found = await self._store.find_request(str(request.get("id")))
        if found is None:
            raise NotFoundError("no such request", fix="gateway approvals list")
        session = self._session(found.ref.agent, found.ref.key)
        granted = await session.grant(found.request.id, by=self._by, principal=self._speaker())
        answered = await session.resume(
            found.request.turn_id,
            found.request.id,
            value,
            by=self._by,
            granted=granted,
            reason=reason,
            digest=str(request.get("digest")),
        )
        return views.answered_json(found, answered)

    async def retry_delivery(self, id: int) -> JsonObject:  # noqa: A002
        now = SYSTEM_CLOCK.now()
        return delivery_json(await retry_delivery(self._store.ledger, id, now))

    async def start(
        self, agent: str, session: str, message: str, *, turn_id: str | None = None
    ) -> str:
        opened = self._session(agent, session)
        given = TurnInput(message=message, turn_id=turn_id, source="cli", speaker=self._speaker())
        return (await opened.start(given)).turn_id

    async def follow(
        self, agent: str, session: str, turn_id: str, *, after: int = 0
    ) -> AsyncIterator[JsonObject]:
        opened = self._session(agent, session)
        async for event in opened.observe(turn_id, after=after):
            told = event_json(event)
            yield told
            if event.type == "input.requested":
                now = await opened.snapshot(turn_id)
                if now.state == "suspended" and now.request and now.request.id == told.get("id"):
                    return

    async def cancel(self, agent: str, session: str, turn_id: str) -> None:
        await self._session(agent, session).cancel(turn_id)

    async def reset(self, agent: str, session: str) -> JsonObject:
        return views.reset_json(await self._session(agent, session).reset())

    # -- beneath -------------------------------------------------------------------------------
    def _speaker(self) -> Speaker:
        """Whoever can open the store is known as well as the system knows its users."""
        return Speaker(id=self._by, name=self._by.partition(":")[2], level="provider")

    def _session(self, agent: str, session: str) -> Session:
        from gateway.host.api import check_session_key

        check_session_key(session)  # as a host would, so that one can be asked for it later
        return self._working().session(agent, session)

    def _working(self) -> Runtime:
        if self._runtime is None:
            raise Problem("unreachable", "this needs a running host", fix="gateway serve")
        return self._runtime

    def _reading(self) -> Runtime:
        """A runtime that is never started: it reads and runs nothing."""
        from gateway.sinks.local import LocalSink

        return self._runtime or Runtime({}, self._store, LocalSink())

    async def _turn(self, ref: SessionRef, turn_id: str) -> TurnRecord:
        record = await self._store.turn(ref, turn_id)
        if record is None:
            raise NotFoundError(f"no turn {turn_id!r} in {ref.key!r}", fix="gateway turns list")
        return record
