"""How often this process may call what: a bucket of tokens for each (installation, method, subject).

A bucket holds as many calls as may come at once and fills at the method's rate. What the platform
refuses all the same empties it for as long as the platform says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from channels.protocol import PaceKey

Rule = tuple[float, int]
"""Calls per minute, and how many of them at once."""

DEFAULT: Rule = (50.0, 5)
MOST = 10_000
"""Buckets kept. A full one says nothing that a new one wouldn't."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float
    """When ``tokens`` was counted."""
    closed: float = 0.0
    """Until when the platform takes nothing."""


class Budgets:
    """``channels.protocol.Pacer``. ``rules`` are by method, ``default`` is for the others."""

    def __init__(
        self,
        monotonic: Callable[[], float],
        rules: Mapping[str, Rule] | None = None,
        default: Rule = DEFAULT,
    ) -> None:
        self._monotonic = monotonic
        self._rules = dict(rules or {})
        self._default = default
        self._buckets: dict[PaceKey, _Bucket] = {}

    def ready(self, key: PaceKey) -> float:
        bucket, now = self._filled(key), self._monotonic()
        missing = max(0.0, 1.0 - bucket.tokens) * 60 / self._rule(key)[0]
        return max(missing, bucket.closed - now, 0.0)

    def take(self, key: PaceKey) -> None:
        self._filled(key).tokens -= 1

    def penalise(self, key: PaceKey, seconds: float) -> None:
        bucket = self._filled(key)
        bucket.tokens = min(bucket.tokens, 1.0)  # not a burst first thing when it opens
        bucket.closed = max(bucket.closed, self._monotonic() + seconds)

    def _rule(self, key: PaceKey) -> Rule:
        return self._rules.get(key[1], self._default)

    def _filled(self, key: PaceKey) -> _Bucket:
        now = self._monotonic()
        per_minute, burst = self._rule(key)
        bucket = self._buckets.get(key)
        if bucket is None:
            self._make_room(now)
            bucket = self._buckets[key] = _Bucket(float(burst), now)
        # While it is closed it doesn't fill: whoever was refused asked for too much.
        grown = max(0.0, now - max(bucket.at, bucket.closed)) * per_minute / 60
        bucket.tokens = min(float(burst), bucket.tokens + grown)
        bucket.at = now
        return bucket

    def _make_room(self, now: float) -> None:
        if len(self._buckets) < MOST:
            return
        kept = {
            key: bucket for key, bucket in self._buckets.items() if self._tells(key, bucket, now)
        }
        self._buckets = kept

    def _tells(self, key: PaceKey, bucket: _Bucket, now: float) -> bool:
        per_minute, burst = self._rule(key)
        full = bucket.tokens + (now - bucket.at) * per_minute / 60 >= burst
        return not full or bucket.closed > now
