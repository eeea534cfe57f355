"""A child of this process, as a tool would fork one, that outlives what its parent lets go of."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager


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
