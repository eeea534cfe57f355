"""Tool names the provider accepts, and the way back.

The API takes ``^[a-zA-Z0-9_-]{1,128}$`` and fails every request that holds another name (T17).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping

_MAX = 128
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")


def accepted(name: str) -> bool:
    return 0 < len(name) <= _MAX and _REFUSED.search(name) is None


def reduced(name: str) -> str:
    """The name with what the API refuses replaced; two names may reduce to one."""
    return _REFUSED.sub("_", name)[:_MAX] or "tool"


def wire_names(names: Iterable[str]) -> dict[str, str]:
    """Each name's spelling on the wire: its own where it is accepted, else a reduced one.

    Two passes, so that neither order nor a later tool changes an accepted name: accepted names
    keep theirs, and every reduced name that meets another gets a suffix made from the original.
    """
    own = list(dict.fromkeys(names))
    spelled = {name: name for name in own if accepted(name)}
    others = [name for name in own if name not in spelled]
    crowd = Counter([*spelled, *(reduced(name) for name in others)])
    for name in others:
        short = reduced(name)
        spelled[name] = short if crowd[short] == 1 else _suffixed(name, spelled)
    return {name: spelled[name] for name in own}


def _suffixed(name: str, taken: Mapping[str, str]) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()
    for length in range(8, len(digest)):
        tail = "_" + digest[:length]
        candidate = reduced(name)[: _MAX - len(tail)] + tail
        if candidate not in taken.values():
            return candidate
    raise AssertionError("two tool names have one SHA-256")  # pragma: no cover
