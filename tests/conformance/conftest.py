"""The suites are no test modules themselves; their asserts shall explain themselves all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytest.register_assert_rewrite(
    *(
        ".".join(("tests", "conformance", *path.relative_to(HERE).with_suffix("").parts))
        for path in HERE.rglob("*.py")
        if not path.stem.startswith(("test_", "conftest"))
    )
)
