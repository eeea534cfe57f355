"""The command line: the only part of the gateway that prints.

Exit codes are in ``exits``, the form of an error in ``problem``, every write in ``out``. A command
reaches a gateway through a ``Desk``: over HTTP while a host holds the store, directly otherwise.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

__all__ = ["main"]

COLLECT_EVERY = 50_000
"""Objects made before the garbage collector looks at the young ones. A command is mostly imports, which
make as many that stay: looking for what doesn't would be a tenth of its time."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises, never shows a stack trace."""
    gc.set_threshold(COLLECT_EVERY)
    try:
        from gateway.cli.app import run

        return run(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:
        return 130
