"""The demo's hosts: each is a process of its own, what counts as a kill was one, a start that fails says so, and
none outlives the demo."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
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


DEMO = """
import asyncio
import sys
from pathlib import Path

from gateway.cli.demo.hosting import HostProcess
from gateway.host.hostfile import find_host


async def demo(state, agent, serves):
    host = HostProcess(state, agent, "a-token-that-is-long-enough", {})
    source = await host.prepare()
    if serves:
        await host.start()
    found = find_host(state)
    print(source.pid, found.pid if found else source.pid, flush=True)
    await asyncio.sleep(600)


asyncio.run(demo(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "serves"))
"""


def alive(pid: int) -> bool:
    """Whether it runs; one that nobody asked for its end yet doesn't."""
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # no Linux, or it ended just now
        return not Path("/proc/self").exists()
    return stat.rpartition(")")[2].split()[0] != "Z"


async def gone(pid: int) -> None:
    while alive(pid):
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


async def test_a_host_that_ended_by_itself_is_not_killed(tmp_path: Path) -> None:
    """Its number may be another process's by then."""
    host = HostProcess(tmp_path, AGENT, TOKEN, {})
    try:
        await host.start()
        os.kill(host.pid, signal.SIGTERM)
        while host.pid:
            await asyncio.sleep(0.01)
        await host.kill()
        await host.start()
        assert alive(host.pid)
    finally:
        await host.stop()
    assert (host.starts, host.kills) == (2, 0)


@pytest.mark.parametrize("moment", ["prepares", "serves"])
async def test_no_process_outlives_a_demo_that_is_killed(tmp_path: Path, moment: str) -> None:
    demo = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DEMO, str(tmp_path), str(AGENT), moment), stdout=PIPE
    )
    assert demo.stdout is not None
    pids = [int(pid) for pid in (await demo.stdout.readline()).split()]
    try:
        assert all(map(alive, pids))
        demo.kill()
        await demo.wait()
        for pid in pids:
            await gone(pid)
    finally:
        for pid in filter(alive, pids):
            os.kill(pid, signal.SIGKILL)


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
        with pytest.raises(Problem, match="there is no such directory"):
            await host.start()
    finally:
        await host.stop()
    assert host.starts == 0
