"""The command line: the only part of the gateway that prints.

Exit codes are in ``exits``, the form of an error in ``problem``, every write in ``out``. A command
reaches a gateway through a ``Desk``: over HTTP while a host holds the store, directly otherwise.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Never raises, never shows a stack trace."""
    try:
        from gateway.cli.app import run

        return run(sys.argv[1:] if args is None else args)
    except KeyboardInterrupt:
        return 130
