"""The store and the host that runs on it: asked over HTTP where there is one, read where there is none."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from gateway.cli.desk import Desk
from gateway.cli.desk.choose import check_store, holder_of
from gateway.cli.doctor.finding import Finding, Fix, error
from gateway.cli.doctor.seen import Disk, Kept
from gateway.cli.problem import Problem
from gateway.cli.seat import identity
from gateway.cli.told import text_of, whole
from gateway.config import Settings
from gateway.definition import DefinitionError
from gateway.engine.errors import GatewayError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.limits import Limits
from gateway.engine.ports import SessionStore
from gateway.host.hostfile import find_host
from gateway.stores.versions import schema_version

MOST = 50
"""Rows of a kind that are looked at; more of them are no other finding."""
LEASE = Millis(round(Limits().lease * 1000))


async def look(settings: Settings) -> tuple[Kept | None, list[Finding]]:
    """Raises ``ConfigError`` and ``StoreUnavailableError`` for a store that can't be read, ``Problem`` where
    the host serves another one."""
    version = await schema_version(settings.database_url)
    if version.found > version.known:
        return None, [_newer(version.place, version.found, version.known)]
    host = await asyncio.to_thread(find_host, settings.state)
    if host is not None:
        from gateway.cli.desk.client import Client
        from gateway.cli.desk.remote import RemoteDesk

        async with Client(host.url, await asyncio.to_thread(host.token), timeout=4.0) as client:
            if await client.alive():
                await asyncio.to_thread(check_store, settings, host)
                desk = RemoteDesk(client, identity(), lambda: host, patience=0.0)
                return await _told(desk, host.url), []
    holder = await asyncio.to_thread(holder_of, settings)
    if holder is not None:
        return None, [_held(holder, None if host is None else host.url)]
    if version.found != version.known or not version.known:
        return None, []  # never used, or to be migrated by the next start: opening would do it
    from gateway.cli.desk.local import LocalDesk
    from gateway.stores import open_store

    store = await asyncio.to_thread(open_store, settings.database_url)
    await store.open()
    try:
        return await _told(LocalDesk(settings, store, None, identity()), None, store), []
    finally:
        await store.close()


async def _told(desk: Desk, host: str | None, store: SessionStore | None = None) -> Kept:
    open_turns = [
        row for state in ("running", "queued") for row in await desk.turns(state=state, limit=MOST)
    ]
    parked = {
        (text_of(row.get("agent")), text_of(row.get("session")))
        for row in await desk.turns(state="suspended", limit=500)
    }
    mine = [row for row in open_turns if _session(row) not in parked]
    if store is not None:
        served = await _served_elsewhere(store)
        mine = [row for row in mine if _session(row) not in served]
    return Kept(
        host=host,
        status=await desk.status() if host else {},
        unfinished=tuple([{**row, "moved_at": await _moved(desk, row)} for row in mine[:MOST]]),
        approvals=tuple(await desk.approvals(limit=MOST)),
        dead=tuple(await desk.deliveries(state="dead", limit=MOST)),
        schedules=tuple(await _schedules(desk)),
        held_mail=tuple(await _held_mail(desk)),
    )


async def _schedules(desk: Desk) -> list[JsonObject]:
    try:
        return await desk.schedules()
    except DefinitionError:
        return []  # without a host the directory tells of them, and what is wrong there is told


async def _held_mail(desk: Desk) -> list[JsonObject]:
    try:
        return await desk.mail(held=True, limit=MOST)
    except (Problem, GatewayError):
        return []  # where nothing reads mail; whether something should is told elsewhere


async def _served_elsewhere(store: SessionStore) -> set[tuple[str, str]]:
    """Sessions that a host on another machine works on."""
    open_sessions = await store.backlog(LEASE)
    return {(one.ref.agent, one.ref.key) for one in open_sessions if one.owner and one.owner_alive}


def _session(row: JsonObject) -> tuple[str, str]:
    return text_of(row.get("agent")), text_of(row.get("session"))


async def _moved(desk: Desk, row: JsonObject) -> int:
    """When the turn last did anything that lasts."""
    agent, session = _session(row)
    try:
        events = await desk.logged(agent, session, text_of(row.get("turn_id")))
    except Problem:
        events = []  # of an agent that the host doesn't have, or gone by now
    last = whole(events[-1].get("at")) if events else 0
    return max(last, whole(row.get("started_at")), whole(row.get("queued_at")))


def _newer(place: str, found: int, known: int) -> Finding:
    how = Fix(text="install the release that wrote it, or a newer one", command="gateway db status")
    return error(
        "state.schema",
        "the database is newer than this release, which leaves it alone",
        f"{place} has schema version {found}, this release knows {known}",
        how,
    )


def _held(holder: str, url: str | None) -> Finding:
    said = f"process {holder} holds the store, and "
    said += f"doesn't answer at {url}" if url else "serves no API here"
    how = Fix(text="wait until it has started or stopped, or end it", command=f"kill {holder}")
    return error("state.host", "the store is held by a process that doesn't answer", said, how)


def disk(settings: Settings) -> Disk | None:
    """Blocks. ``None`` where the store isn't a file of this machine, or isn't there yet."""
    scheme, _, path = settings.database_url.partition(":///")
    file = Path(path)
    if scheme != "sqlite" or not file.is_file():
        return None
    log = file.with_name(f"{file.name}-wal")
    return Disk(
        place=str(file),
        free=shutil.disk_usage(file.parent).free,
        size=file.stat().st_size,
        log=log.stat().st_size if log.is_file() else 0,
    )
