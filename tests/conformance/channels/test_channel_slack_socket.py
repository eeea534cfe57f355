"""The rules hold on Slack by Socket Mode."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.conformance.channels.drivers.slack import Slack, open_slack
from tests.conformance.channels.gaps import expect
from tests.conformance.channels.suite import *  # noqa: F403


@pytest.fixture
async def driver(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Slack]:
    rule = expect(request, "slack-socket")
    async with open_slack(tmp_path, socket=True, replace=rule.replace) as opened:
        yield opened
