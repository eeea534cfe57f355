"""What each of these tests begins with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.emulator.stage import Listener, Play, listening, playing


@pytest.fixture
async def play() -> AsyncIterator[Play]:
    async with playing() as stage:
        yield stage


@pytest.fixture
async def app() -> AsyncIterator[Listener]:
    async with listening() as listener:
        yield listener
