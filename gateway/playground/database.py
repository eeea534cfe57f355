"""Whose database it is: a playground's holds made-up people and orders, and is marked as such. What isn't
marked is somebody's data, and no place to play.
"""

from __future__ import annotations

import asyncio

from gateway.config import Settings
from gateway.engine.errors import ConfigError
from gateway.engine.ledger import Document
from gateway.host.compose import make_room
from gateway.stores import open_store

KIND, KEY = "playground", "mark"


async def claim(settings: Settings) -> None:
    """Mark an empty database as a playground's; a marked one stays. Raises ``ConfigError`` for any
    other."""
    await asyncio.to_thread(make_room, settings)
    store = await asyncio.to_thread(open_store, settings.database_url)
    await store.open()
    try:
        ledger = store.ledger
        if await ledger.document(KIND, KEY) is not None:
            return
        if await store.list_sessions(limit=1):
            raise ConfigError(
                "DATABASE_URL names a database with conversations in it that isn't a playground's",
                fix="unset DATABASE_URL, and the playground takes one of its own; or name an empty one",
            )
        # Two that begin at once agree: either has marked it.
        _ = await ledger.put_document(Document(kind=KIND, key=KEY, body={}), None)
    finally:
        await store.close()
