"""What ``gateway serve`` refuses to start with, the doctor finds before, in the same words."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from gateway.cli.doctor.examine import examine
from gateway.config import SettingsError
from gateway.engine.errors import ConfigError
from gateway.host.serving import serve
from tests.support.cli import TOKEN
from tests.unit.cli.doctor.clinic import clinic, running

OWN = """
    from gateway.engine.errors import ConfigError

    def channel(env):
        raise ConfigError("the fax has no number", fix="set FAX_NUMBER")
"""
TAKEN = '''
    from gateway import tool

    @tool
    def attach_file(name: str) -> str:
        """Read a file."""
        return name
'''


async def test_a_host_without_a_token(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        found = await ill.only("settings.serve", "agent", online=False, GATEWAY_API_TOKEN="")
        with pytest.raises(SettingsError) as refused:
            await serve(ill.settings(GATEWAY_API_TOKEN=""))
        assert (found.severity, found.title) == ("error", str(refused.value))
        assert found.evidence == "gateway serve refuses to start with these settings"
        assert found.fix.command == "export GATEWAY_API_TOKEN=$(openssl rand -hex 24)"


async def test_nothing_of_it_matters_while_a_host_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as well:
        assert await well.look(online=False, GATEWAY_API_TOKEN="", REDIS_URL="redis://r") == {}


async def test_nor_beside_a_host_that_serves_another_store(tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    async with running(tmp_path) as well:
        found = await well.look(online=False, GATEWAY_API_TOKEN="", DATABASE_URL=other)
        assert [*found] == ["state.look"]


@pytest.mark.parametrize(
    ("changes", "files"),
    [
        ({"REDIS_URL": "redis://redis.example"}, {}),
        ({"GATEWAY_HOST": "192.0.2.1"}, {}),
        ({"PORT": "taken"}, {}),
        ({"GATEWAY_STATE": "manifest.yml/state"}, {}),
        ({"DATABASE_URL": "sqlite:///manifest.yml/june/june.db"}, {}),
        ({}, {"channels/fax.py": OWN}),
        ({}, {"tools/attach_file.py": TAKEN}),
    ],
    ids=lambda given: ",".join(given) or "as it is",
)
async def test_whatever_else_it_refuses(
    tmp_path: Path, changes: Mapping[str, str], files: Mapping[str, str]
) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent(files)
        with closing(socket.create_server(("127.0.0.1", 0))) as other:
            taken = {"PORT": str(other.getsockname()[1])} if "PORT" in changes else {}
            wrong = {**changes, **taken}
            kind = "agent.definition" if "channels/fax.py" in files else "settings.serve"
            found = await ill.only(kind, "agent", online=False, **wrong)
            assert not (tmp_path / "state").exists()
            with pytest.raises(ConfigError) as refused:
                await serve(ill.settings(**wrong))
        said = found.title.partition(" ")[2] if kind == "agent.definition" else found.title
        assert said in str(refused.value)
        assert found.fix.text[1:] in f"{refused.value} {refused.value.fix}"


async def test_a_state_directory_that_leads_nowhere(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        (tmp_path / "link").symlink_to(tmp_path / "nowhere")
        found = await ill.only("settings.serve", "agent", online=False, GATEWAY_STATE="link")
        with pytest.raises(ConfigError):
            await serve(ill.settings(GATEWAY_STATE="link"))
        assert "can't write to the state directory" in found.title


async def test_what_only_dotenv_says_isnt_served_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GATEWAY_API_TOKEN", raising=False)
    monkeypatch.setenv("PORT", "0")
    async with clinic(tmp_path) as ill:
        (tmp_path / ".env").write_text(f"GATEWAY_API_TOKEN={TOKEN}\n")
        found = await ill.look("agent", online=False)
        assert [*found] == ["settings.serve", "settings.dotenv"]
        assert found["settings.serve"].title.endswith("in .env, which serve doesn't read")
        (tmp_path / "gateway.toml").write_text("prot = 1\n")
        every = await examine(ill.settings())
        assert "gateway.toml:1" in every[0].title
        assert every[0].evidence.endswith("it doesn't read .env")
