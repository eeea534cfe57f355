"""``gateway`` is what an author imports: these names, and nothing that takes time."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gateway


def test_the_vocabulary_is_exactly_this() -> None:
    assert gateway.__all__ == [
        "Agent",
        "FatalToolError",
        "ModelReply",
        "ModelRequest",
        "Schedule",
        "Surface",
        "Target",
        "Tool",
        "ToolContext",
        "tool",
    ]
    assert gateway.__all__ == sorted(gateway.__all__)
    for name in gateway.__all__:
        assert getattr(gateway, name).__name__ == name
    assert set(gateway.__all__) <= set(dir(gateway))


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'gateway' has no attribute 'Tools'"):
        gateway.Tools  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize("name", ["", "Agent", "Surface", "Tool", "ModelReply"])
def test_importing_it_imports_nothing_heavy(name: str) -> None:
    look = (
        f"import sys; import gateway; {f'gateway.{name}; ' if name else ''}"
        "print([m for m in ('pydantic', 'jsonschema', 'yaml', 'aiohttp', 'anthropic', 'asyncpg')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], capture_output=True, text=True, timeout=20, check=True
    )
    assert done.stdout.strip() == "[]"
