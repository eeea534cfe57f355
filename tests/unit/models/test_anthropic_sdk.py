"""The SDK is loaded late, and what is wrong with it or with the key is said early, with both fixes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gateway.engine.errors import ConfigError
from gateway.models.anthropic import anthropic
from tests.unit.models.transcripts import MODEL, Talk

CHECK = """
from gateway.engine.errors import ConfigError
from gateway.models.anthropic import anthropic
try:
    anthropic("claude-opus-5-5", api_key="test").check()
except ConfigError as error:
    print(type(error.__cause__).__name__, "|", error, "|", error.fix)
"""


def run(script: str, *, first_on_path: Path | None = None) -> str:
    """The script's output in a new process, where a folder may shadow installed packages."""
    before = f"import sys; sys.path.insert(0, {str(first_on_path)!r})\n" if first_on_path else ""
    done = subprocess.run(
        [sys.executable, "-c", before + script],
        capture_output=True,
        text=True,
        check=True,
        timeout=25,
    )
    return done.stdout.strip()


def test_importing_and_making_a_model_loads_no_sdk() -> None:
    script = """
import sys
from gateway.models import anthropic
anthropic("claude-opus-5-5", api_key="test")
print(sorted({"anthropic", "httpx2", "genai_prices", "pydantic"} & set(sys.modules)))
"""
    assert run(script) == "[]"


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("raise ImportError('no such package')", "ImportError"),
        ("raise RuntimeError('built for another Python')", "RuntimeError"),
        ("AsyncAnthropic = None", "ImportError"),
    ],
)
def test_a_missing_or_broken_sdk_is_one_error_with_both_ways_out_and_its_cause(
    tmp_path: Path, content: str, cause: str
) -> None:
    (tmp_path / "anthropic.py").write_text(content)
    name, message, fix = run(CHECK, first_on_path=tmp_path).split(" | ")
    assert name == cause
    assert "can't be loaded" in message
    assert "pip install" in fix
    assert "client=" in fix


@pytest.mark.parametrize("key", [None, "", "  "])
async def test_no_key_is_said_at_the_check_and_never_by_the_vendor(key: str | None) -> None:
    model = anthropic(MODEL, api_key=key)
    with pytest.raises(ConfigError, match="no key") as raised:
        model.check()
    assert "ANTHROPIC_API_KEY" in raised.value.fix
    assert "client=" in raised.value.fix
    with pytest.raises(ConfigError, match="no key"):
        await anext(model.stream(Talk().user().request()))


def test_a_key_is_not_shown_by_its_model() -> None:
    model = anthropic(MODEL, api_key="sk-ant-secret")
    assert "secret" not in repr(model) + repr(model._access) + str(model.settings)
