"""Exit codes: what a script may hang on. The numbers never change meaning."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    OK = 0
    FAILURE = 1
    USAGE = 2
    CHECK = 3
    """A check found mistakes: ``gateway check``, a configuration that contradicts itself."""
    NOT_FOUND = 4
    NOT_ALLOWED = 5
    SCHEMA = 6
    """The store was written by a newer release."""
    CONFLICT = 7
    """Already answered, suspended, taken by something else: the world moved on."""
    UNREACHABLE = 8
    PARKED = 10
    """Not a failure: the turn waits for a person."""
    INTERRUPTED = 130
    PIPE = 141
    """Whoever read our output left, as with any program in a pipe."""


BY_STATUS: dict[int, Exit] = {
    400: Exit.USAGE,
    401: Exit.NOT_ALLOWED,
    403: Exit.NOT_ALLOWED,
    404: Exit.NOT_FOUND,
    409: Exit.CONFLICT,
    413: Exit.USAGE,
    422: Exit.USAGE,
}
"""HTTP status → exit code; every other status is a failure."""

BY_CODE: dict[str, Exit] = {
    "config": Exit.CHECK,
    "definition": Exit.CHECK,
    "tool_definition": Exit.CHECK,
    "seam_version": Exit.CHECK,
    "schema_too_new": Exit.SCHEMA,
    "unreachable": Exit.UNREACHABLE,
    "usage": Exit.USAGE,
    "check": Exit.CHECK,
}
"""Error code → exit code, where the status says too little."""


def exit_for(code: str, status: int) -> Exit:
    return BY_CODE.get(code) or BY_STATUS.get(status) or Exit.FAILURE
