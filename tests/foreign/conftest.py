"""Nothing here is skipped for want of a package: a suite that didn't run is red."""

from __future__ import annotations

import pytest

from tests.foreign.clients import complaint


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    if why := complaint():
        pytest.fail(f"the Slack clients for Node.js can't run: {why}", pytrace=False)
