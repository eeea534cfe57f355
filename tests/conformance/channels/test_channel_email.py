"""The rules hold on email."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.conformance.channels.drivers.email import Email, open_email
from tests.conformance.channels.gaps import expect
from tests.conformance.channels.suite import *  # noqa: F403


@pytest.fixture
async def driver(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Email]:
    rule = expect(request, "email")
    async with open_email(tmp_path, replace=rule.replace) as opened:
        yield opened
