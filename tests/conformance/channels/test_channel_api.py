"""The rules hold on the HTTP API."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.conformance.channels.drivers.api import Api, open_api
from tests.conformance.channels.gaps import expect
from tests.conformance.channels.suite import *  # noqa: F403


@pytest.fixture
async def driver(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Api]:
    rule = expect(request, "api")
    async with open_api(tmp_path, replace=rule.replace) as opened:
        yield opened
