from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.browser.kit import DAILY, OTHERS, Browser, Looks, browsing


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with browsing() as browser:
        yield browser


@pytest.fixture(
    params=[
        pytest.param(DAILY, id="daily"),
        pytest.param(OTHERS, id="others", marks=pytest.mark.slow),
    ]
)
def looks(request: pytest.FixtureRequest) -> Looks:
    found: Looks = request.param
    return found
