"""Stores on one database of their own, and a plain connection to look behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any, Protocol, TypeVar

import psycopg
import pytest

from gateway.stores.postgres import PostgresStore

T = TypeVar("T")


def background(work: Coroutine[object, object, T]) -> asyncio.Task[T]:
    """A task that the test itself awaits; one that it forgets fails it (``tidy_loop``)."""
    return asyncio.get_running_loop().create_task(work)


class OpenStore(Protocol):
    """Open one more store, as one more host would; closed when the test ends."""

    async def __call__(self, **options: Any) -> PostgresStore: ...


@pytest.fixture
async def open_store(postgres_url: str) -> AsyncIterator[OpenStore]:
    async with AsyncExitStack() as stack:

        async def open_store(**options: Any) -> PostgresStore:
            store = PostgresStore(postgres_url, **options)
            await store.open()
            stack.push_async_callback(store.close)
            return store

        yield open_store


@pytest.fixture
async def store(open_store: OpenStore) -> PostgresStore:
    return await open_store(tool_limit=1.0)


@pytest.fixture
def admin(postgres_url: str, store: PostgresStore) -> Iterator[psycopg.Connection[Any]]:
    """The superuser's own connection, every statement a transaction."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection
