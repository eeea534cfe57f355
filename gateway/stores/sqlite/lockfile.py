"""One gateway per database file.

Two would not damage it, SQLite sees to that; but each keeps an order of turns in memory that only
holds while nobody else accepts any. The lock belongs to the open file, so it ends with the process,
however that ends. A child that a tool forks has that file open too, and lets go of it at once:
outliving its parent it would keep the next start out.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from gateway.engine.errors import ConfigError

PATIENCE = 1.0
_held: set[int] = set()


def _let_go_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_let_go_in_child)


def _take(descriptor: int) -> None:
    """Lock it, waiting a moment: a process that was just killed may not be quite gone yet."""
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.02)
        else:
            return


class LockFile:
    """``<database>.lock``, held from construction to ``release``."""

    def __init__(self, database: Path) -> None:
        path = Path(f"{database}.lock")
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _take(self._descriptor)
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(self._descriptor)
            raise ConfigError(
                f"{database} is in use by process {holder or 'unknown'}",
                fix="stop that process, or give this one a database of its own"
                " (several hosts share one PostgreSQL, never one SQLite file)",
            ) from None
        except BaseException:
            os.close(self._descriptor)
            raise
        _held.add(self._descriptor)

    def release(self) -> None:
        """Let go. The file stays: removing it could pull it from under the next holder."""
        if self._descriptor in _held:  # no longer so in a child
            _held.discard(self._descriptor)
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # for a child's copy, too
            os.close(self._descriptor)
