"""The suites are no test modules themselves; their asserts shall explain themselves all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite(
    *(
        f"tests.conformance.{path.stem}"
        for path in Path(__file__).parent.glob("*.py")
        if not path.stem.startswith(("test_", "conftest"))
    )
)
