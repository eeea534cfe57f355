"""The stores that whoever signs in or decides is kept in."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["memory", pytest.param("postgres", marks=pytest.mark.postgres)])
def where(request: pytest.FixtureRequest) -> str:
    """The address of an empty one, in this process and beside it."""
    if request.param == "memory":
        return "memory://"
    return str(request.getfixturevalue("postgres_url"))
