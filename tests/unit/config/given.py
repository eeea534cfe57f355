"""Settings as a test gives them: a file, the environment, and what was wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config import Settings, SettingsError


def load(tmp_path: Path, toml: str = "", dotenv: str | None = None, **environ: str) -> Settings:
    (tmp_path / "gateway.toml").write_text(toml)
    if dotenv is not None:
        (tmp_path / ".env").write_text(dotenv)
    return Settings.load(
        environ, tmp_path / "gateway.toml", None if dotenv is None else tmp_path / ".env"
    )


def problems(tmp_path: Path, toml: str = "", dotenv: str | None = None, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, toml, dotenv, **environ)
    return str(caught.value)
