"""The reference that a person quotes to have a turn looked up. It says nothing about the turn."""

from __future__ import annotations

import hashlib

LENGTH = 8


def reference_of(turn_id: str) -> str:
    return hashlib.sha256(turn_id.encode()).hexdigest()[:LENGTH]
