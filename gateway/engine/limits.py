"""Deadlines, limits, clocks: every number the engine obeys, in one place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from gateway.engine.errors import ConfigError
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct


@struct(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds for durations, bytes for sizes.

    Raises ``ConfigError`` at construction when two settings contradict each other.
    """

    turn_idle: float = 300.0
    """Longest silence of a running turn; a running tool counts as alive until its timeout."""
    turn_ceiling: float = 3600.0
    """Longest running time of a turn; queued, parked and down time don't count."""
    credential_life: float | None = None
    """Life of credentials issued per turn, where something issues them."""
    max_steps: int = 50
    same_call: int = 3
    """The same call with the same input this many times running ends the turn."""
    max_attempts: int = 3
    model_retry_for: float = 120.0
    running_turns: int = 64
    queue_per_session: int = 100
    queue_per_host: int = 10_000
    message_bytes: int = 1 << 20
    tool_result_bytes: int = 256 << 10
    request_bytes: int = 64 << 10
    cancel_grace: float = 30.0
    lease: float = 30.0
    """An owner silent for this long has lost its sessions."""

    def __post_init__(self) -> None:
        for name in ("turn_idle", "turn_ceiling", "model_retry_for", "cancel_grace", "lease"):
            if not getattr(self, name) > 0:
                raise ConfigError(
                    f"{name} must be above 0 seconds", fix=f"set {name} to a number > 0"
                )
        for name in (
            "max_steps",
            "same_call",
            "max_attempts",
            "running_turns",
            "queue_per_session",
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigError(
                    f"{name} must be a whole number ≥ 1", fix=f"set {name} to 1 or more"
                )
        if self.turn_idle > self.turn_ceiling:
            raise ConfigError(
                f"the idle window ({self.turn_idle:g} s) is above the ceiling"
                f" ({self.turn_ceiling:g} s), so it could never end a turn",
                fix="lower GATEWAY_TURN_IDLE or raise GATEWAY_TURN_CEILING",
            )
        if self.credential_life is not None and self.credential_life <= self.turn_ceiling:
            raise ConfigError(
                f"a turn's credential lives {self.credential_life:g} s, but a turn may run"
                f" {self.turn_ceiling:g} s and would lose it half-way",
                fix="lower GATEWAY_TURN_CEILING or issue longer credentials",
            )


@struct(frozen=True, slots=True)
class Clock:
    """Time as the engine sees it: ``now`` for expiry and ages, ``monotonic`` for waits."""

    now: Callable[[], Millis]
    monotonic: Callable[[], float]


def _wall() -> Millis:
    return time.time_ns() // 1_000_000  # type: ignore[return-value]  # NewType costs a call


SYSTEM_CLOCK = Clock(now=_wall, monotonic=time.monotonic)


class Waits(Protocol):
    """How whoever talks to the outside waits: by a clock that a test may run faster."""

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Raises ``TimeoutError`` on leaving when the block took longer."""
        ...


class RealWaits:
    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)


SYSTEM_WAITS: Waits = RealWaits()
