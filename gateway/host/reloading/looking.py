"""What a directory is like, as far as an agent is made of it.

Watching is looking, a few times a second: a directory holds dozens of files, and looking works wherever they
may lie.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

WATCHED = frozenset({".py", ".md"})
"""Code and prompts. What else lies there, a database say, changes without meaning anything."""

Seen = Mapping[str, tuple[int, int]]
"""A directory's files by their name in it: when each was written, and its size."""


def look(root: Path) -> Seen:
    """Blocks. A file or folder that vanishes meanwhile was never there."""
    found: dict[str, tuple[int, int]] = {}
    for folder, inside, files in os.walk(root):
        inside[:] = [name for name in inside if not name.startswith((".", "__"))]
        for name in files:
            path = Path(folder, name)
            if path.suffix not in WATCHED or name.startswith("."):
                continue
            try:
                state = path.stat()
            except OSError:
                continue
            found[path.relative_to(root).as_posix()] = (state.st_mtime_ns, state.st_size)
    return found
