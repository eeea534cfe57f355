"""Waiting for what people see."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.conformance.channels.driver import PATIENCE, Driver, Post, Who, whole


async def until(holds: Callable[[], Awaitable[bool]]) -> bool:
    """Whether it comes to hold."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not await holds():
                await asyncio.sleep(0.01)
    except TimeoutError:
        return False
    return True


async def sees(driver: Driver, post: Post, *words: str) -> None:
    """Wait until all of this stands in the conversation."""

    async def holds() -> bool:
        shown = await whole(driver, post)
        return all(one in shown for one in words)

    if not await until(holds):
        pytest.fail(f"{words} never shows; there is:\n{await whole(driver, post)}")


async def is_told(driver: Driver, who: Who, words: str) -> None:
    """Wait until this person is told so privately."""

    async def holds() -> bool:
        return any(words in told for told in await driver.private(who))

    if not await until(holds):
        pytest.fail(f"{who} is never told {words!r}; there is: {await driver.private(who)}")


async def asks(driver: Driver, post: Post) -> None:
    """Wait until the conversation holds a request that can be decided."""

    async def holds() -> bool:
        return any("Approve" in line.buttons for line in await driver.seen(post))

    if not await until(holds):
        pytest.fail(f"nothing is asked; there is:\n{await whole(driver, post)}")
