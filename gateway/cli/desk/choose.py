"""Which desk: the host's while one runs on this state directory, else the store itself."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from gateway.cli.desk import Desk
from gateway.cli.exits import Exit
from gateway.cli.problem import Problem
from gateway.config import Settings
from gateway.host.hostfile import HostFile, find_host, store_named

STARTING = 5.0
"""Seconds in which whoever holds the store may turn out to be a host that is just starting."""


@asynccontextmanager
async def open_desk(
    settings: Settings, by: str, *, works: bool, keeps: bool = False, patience: float = STARTING
) -> AsyncGenerator[Desk]:
    """A desk for ``by``. ``works``: turns are started or answered, not only looked at; ``keeps``:
    something is, in a store that is made if there is none."""
    end = asyncio.get_running_loop().time() + patience
    while True:
        host = await asyncio.to_thread(find_host, settings.state)
        if host is not None:
            # Each way is loaded when it is taken: an HTTP client here, the engine below.
            from gateway.cli.desk.client import Client
            from gateway.cli.desk.remote import RemoteDesk

            async with Client(host.url, await asyncio.to_thread(host.token)) as client:
                if await client.alive():
                    await asyncio.to_thread(check_store, settings, host)
                    yield RemoteDesk(client, by, partial(find_same, settings))
                    return
        holder = await asyncio.to_thread(holder_of, settings)
        if holder is None:
            break
        # A host holds the store before it says where it listens; another command lets go of it.
        if asyncio.get_running_loop().time() >= end:
            raise _held(settings, holder, host)
        await asyncio.sleep(0.1)
    from gateway.cli.desk.local import LocalDesk
    from gateway.stores import open_store

    if works:
        from gateway.host.compose import open_host

        async with open_host(settings) as opened:
            runtime, book = opened.runtime, opened.api.schedules
            yield LocalDesk(settings, runtime.store, runtime, by, book)
        return
    # Looking must not leave an empty database behind.
    fresh = not keeps and await asyncio.to_thread(_no_store_yet, settings)
    if keeps:
        from gateway.host.compose import make_room

        await asyncio.to_thread(make_room, settings)
    store = open_store("memory://" if fresh else settings.database_url)
    await store.open()
    try:
        yield LocalDesk(settings, store, None, by)
    finally:
        await store.close()


def check_store(settings: Settings, host: HostFile) -> None:
    """Whoever names a store isn't to act on another one, only because a host runs. Where none is named it
    is the host's: ``gateway dev`` has one of its own. Blocks. Raises ``Problem``."""
    origin = settings.origins.get("database_url")
    if origin is None or store_named(settings.database_url) == host.store:
        return
    raise Problem(
        "other_store",
        f"the host at {host.url} serves {host.store}, and DATABASE_URL ({origin}) names another"
        " store, so nothing was done on either",
        fix="unset DATABASE_URL to go through this host, or set GATEWAY_STATE to another folder to open"
        " the store that it names",
        exit_code=Exit.CONFLICT,
    )


def find_same(settings: Settings) -> HostFile | None:
    """The host of the state directory. Blocks. Raises ``Problem`` where it serves another store."""
    host = find_host(settings.state)
    if host is not None:
        check_store(settings, host)
    return host


def _held(settings: Settings, holder: str, host: HostFile | None) -> Problem:
    """Says who holds the store, before opening it fails with less to say."""
    path = _sqlite_file(settings)
    if host is not None:
        return Problem(
            "unreachable",
            f"process {holder} holds {path} but doesn't answer at {host.url}",
            fix=f"wait until it has started or stopped, or end it: kill {holder}",
            exit_code=Exit.UNREACHABLE,
        )
    return Problem(
        "store_in_use",
        f"process {holder} holds {path}, and it serves no API here",
        fix=f"end it first: kill {holder}; with `gateway serve` in its place several commands work at once",
        exit_code=Exit.CONFLICT,
    )


def holder_of(settings: Settings) -> str | None:
    """The process that holds the store, where one process alone may; ``None`` when none does."""
    path = _sqlite_file(settings)
    return None if path is None else _held_by(path)


def _held_by(database: Path) -> str | None:
    """Asks for a shared lock, and only for a
    moment, so that it is never taken for a holder by another look."""
    try:
        descriptor = os.open(f"{database}.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
    else:
        return None
    finally:
        os.close(descriptor)


def _no_store_yet(settings: Settings) -> bool:
    path = _sqlite_file(settings)
    return path is not None and not path.exists()


def _sqlite_file(settings: Settings) -> Path | None:
    scheme, _, rest = settings.database_url.partition(":///")
    return Path(rest) if scheme == "sqlite" and rest else None
