"""The stage on both stores that need no server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.intake.world import Stage, stage


@pytest.fixture(params=["memory", "sqlite"])
async def here(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'intake.db'}"
    async with stage(url) as found:
        yield found
