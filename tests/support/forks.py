"""A child of this process, as a tool would fork one, that outlives what its parent lets go of, and a
look at what it may have kept."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTEN = "0A"


@contextmanager
def forked() -> Generator[None]:
    """A child that does nothing, and is gone at the end."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        yield
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


def listening(port: int) -> set[str]:
    """The sockets that listen on a port. One is the same socket in every process that has it, and is
    here until the last of them has closed it; who takes the port after that has another."""
    if not TABLES[0].exists():
        pytest.skip("this system doesn't show its sockets")
    found: set[str] = set()
    for table in TABLES:
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, address, _, state, _, _, _, _, _, inode, *_ = line.split()
            if state == LISTEN and int(address.rpartition(":")[2], 16) == port:
                found.add(inode)
    return found
