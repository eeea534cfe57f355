"""Where a host listens, and what it says when it can't."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.config import Settings
from gateway.engine.errors import ConfigError
from gateway.host.serving import serve
from gateway.values import Secret


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The agent isn't read before the port is taken, so there is none."""
    token = Secret("full-secret-of-the-host")
    return Settings(agent=tmp_path / "agent", state=tmp_path / "state", port=0, api_token=token)


async def test_a_port_that_is_taken_costs_nothing(settings: Settings) -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConfigError) as caught:
            await serve(replace(settings, port=port))
    assert str(caught.value) == f"can't listen on 127.0.0.1:{port}: address already in use"
    assert caught.value.fix.startswith("set PORT to another port")
    assert not settings.state.exists()


@pytest.mark.parametrize("host", ["192.0.2.1", "zz::1"])
async def test_an_address_of_another_machine_is_not_taken_for_a_port_in_use(
    settings: Settings, host: str
) -> None:
    with pytest.raises(ConfigError, match=f"can't listen on {host}:0: ") as caught:
        await serve(replace(settings, host=host))
    assert "while attempting" not in str(caught.value)
    assert caught.value.fix.startswith("set GATEWAY_HOST to an address of this machine")
