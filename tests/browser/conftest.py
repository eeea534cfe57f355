from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.browser.kit import Browser, browsing


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as browser:
        yield browser
