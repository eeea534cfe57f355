"""The state of schedules, as the store keeps it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import cast

from gateway.engine.kinds import JsonObject
from gateway.engine.ledger import Document, Ledger
from gateway.schedules.plan import ScheduleState

KIND = "schedule"


@dataclass(frozen=True, slots=True)
class Kept:
    """What was read: with its version, under which something else may be kept."""

    state: ScheduleState | None = None
    version: int | None = None


def _key(agent: str, name: str) -> str:
    return f"{agent}:{name}"


async def read(ledger: Ledger, agent: str, name: str) -> Kept:
    row = await ledger.document(KIND, _key(agent, name))
    if row is None:
        return Kept()
    return Kept(ScheduleState(**cast("dict[str, object]", row.body)), row.version)  # type: ignore[arg-type]


async def keep(ledger: Ledger, agent: str, name: str, state: ScheduleState, over: Kept) -> bool:
    """``False``: somebody kept another state meanwhile, and nothing was written."""
    body = cast("JsonObject", asdict(state))
    return await ledger.put_document(
        Document(kind=KIND, key=_key(agent, name), body=body), over.version
    )


async def change(
    ledger: Ledger, agent: str, name: str, made: Callable[[ScheduleState | None], ScheduleState]
) -> None:
    """Keep what ``made`` makes of the state, whoever else changes it at the same time."""
    while True:
        held = await read(ledger, agent, name)
        if await keep(ledger, agent, name, made(held.state), held):
            return
