"""How often an app may call: so many a minute per method and workspace, one post a second per channel.

Source: Slack docs "Rate limits" (tiers), "chat.postMessage" (one a second per channel, short bursts are
let through), "Rate limit changes for non-Marketplace apps" (history at one a minute, 15 at once).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tier = Literal["1", "2", "3", "4", "post", "free"]

A_MINUTE: Mapping[Tier, int] = {"1": 1, "2": 20, "3": 50, "4": 100, "post": 300}
WINDOW = 60.0
BURST = 3
HISTORY = frozenset({"conversations.history", "conversations.replies"})
HISTORY_OBJECTS = 15


@dataclass(slots=True)
class Limits:
    """``enabled=False`` lets everything through; ``burst`` is how many posts a channel takes at once."""

    enabled: bool = True
    burst: int = BURST
    per_minute: dict[str, int] = field(default_factory=dict[str, int])
    """Other figures for single methods."""
    _seen: dict[tuple[str, str], deque[float]] = field(
        default_factory=dict[tuple[str, str], deque[float]]
    )
    _posts: dict[tuple[str, str], tuple[float, float]] = field(
        default_factory=dict[tuple[str, str], tuple[float, float]]
    )

    def admit(self, tier: Tier, method: str, app_in: str, channel: str, now: float) -> int | None:
        """Nothing if the call may go on, else the seconds to wait. ``app_in``: app and workspace."""
        if not self.enabled or tier == "free":
            return None
        most = self.per_minute.get(method, A_MINUTE[tier])
        seen = self._seen.setdefault((app_in, method), deque())
        while seen and seen[0] <= now - WINDOW:
            seen.popleft()
        if len(seen) >= most:
            return max(1, math.ceil(seen[0] + WINDOW - now))
        if tier == "post" and (wait := self._post((app_in, channel), now)) is not None:
            return wait
        seen.append(now)
        return None

    def _post(self, key: tuple[str, str], now: float) -> int | None:
        left, at = self._posts.get(key, (float(self.burst), now))
        left = min(float(self.burst), left + now - at)
        if left < 1:
            return max(1, math.ceil(1 - left))
        self._posts[key] = (left - 1, now)
        return None
