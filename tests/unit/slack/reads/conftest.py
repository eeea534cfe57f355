"""What each of these tests begins with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.slack.reads.desk import Desk
from tests.unit.slack.reads.desk import desk as furnished


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with furnished() as found:
        yield found
