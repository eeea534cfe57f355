"""The loop beside the person: results, errors and interruptions cross over whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.cli.portal import Portal


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


async def count(to: int) -> AsyncIterator[int]:
    for number in range(to):
        yield number
        await asyncio.sleep(0)
    if to > 3:
        raise ValueError("too far")


def test_results_and_errors_come_back() -> None:
    with Portal() as portal:
        assert portal.call(double(4)) == 8
        assert list(portal.stream(count(3))) == [0, 1, 2]
        seen: list[int] = []
        with pytest.raises(ValueError, match="too far"):
            seen.extend(portal.stream(count(4)))


def test_a_context_is_entered_and_left_by_one_task() -> None:
    tasks: list[object] = []

    @asynccontextmanager
    async def manager() -> AsyncGenerator[str]:
        tasks.append(asyncio.current_task())
        async with asyncio.timeout(5):  # refuses to be left by another task
            yield "value"
        tasks.append(asyncio.current_task())

    with Portal() as portal, portal.hold(manager()) as value:
        assert value == "value"
    assert tasks[0] is tasks[1]


def test_a_context_that_fails_to_open_says_so() -> None:
    @asynccontextmanager
    async def manager(closed: bool = True) -> AsyncGenerator[str]:
        if closed:
            raise OSError("no")
        yield ""

    with Portal() as portal, pytest.raises(OSError, match="no"), portal.hold(manager()):
        pytest.fail("was entered")


def test_a_failure_inside_still_leaves_the_context() -> None:
    left: list[bool] = []

    @asynccontextmanager
    async def manager() -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await asyncio.sleep(0)
            left.append(True)

    with Portal() as portal, pytest.raises(KeyError), portal.hold(manager()):
        raise KeyError("x")
    assert left == [True]
