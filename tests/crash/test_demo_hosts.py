"""The demo's hosts: each is a process of its own, what counts as a kill was one, and a start that fails says so."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from gateway.cli.demo.hosting import HostProcess
from gateway.cli.problem import Problem
from gateway.host.hostfile import HostFile, find_host

pytestmark = pytest.mark.crash

AGENT = Path(__file__).resolve().parents[2] / "agent"
TOKEN = "a-token-that-is-long-enough"


async def running(state: Path) -> HostFile | None:
    return await asyncio.to_thread(find_host, state)


async def gone(pid: int) -> None:
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            await asyncio.sleep(0.01)


async def test_each_start_is_another_process_on_the_same_port_and_only_sigkill_counts(
    tmp_path: Path,
) -> None:
    host = HostProcess(tmp_path, AGENT, TOKEN, {})
    seen: list[HostFile] = []
    try:
        for number in (1, 2, 3):
            await host.start()
            found = await running(tmp_path)
            assert found is not None
            seen.append(found)
            if number == 3:
                os.kill(found.pid, signal.SIGTERM)
                await gone(found.pid)
            await host.kill()
            assert await running(tmp_path) is None
            await host.kill()  # there is nothing to kill any more
    finally:
        await host.stop()
    assert (host.starts, host.kills) == (3, 2)
    assert len({each.pid for each in seen}) == 3
    assert len({each.url for each in seen}) == 1


async def test_a_host_whose_starter_is_gone_is_ended_all_the_same(tmp_path: Path) -> None:
    host = HostProcess(tmp_path, AGENT, TOKEN, {})
    await host.start()
    source = await host.prepare()
    source.kill()
    await host.stop()
    assert await running(tmp_path) is None


async def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    host = HostProcess(tmp_path, tmp_path / "nobody", TOKEN, {})
    try:
        with pytest.raises(Problem, match="is not a directory"):
            await host.start()
    finally:
        await host.stop()
    assert host.starts == 0
