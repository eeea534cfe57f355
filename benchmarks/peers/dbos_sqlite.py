"""DBOS on its SQLite default: one workflow per turn, a durable step for each model and tool call."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from dbos import DBOS, SetWorkflowID

from benchmarks.common import MODEL_STEPS, TOOL_STEPS, bare_loop, drive, folder, report, text


@DBOS.step()
async def model_step(given: int) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "text": text()}
    if given < TOOL_STEPS:
        said["calls"] = [{"id": f"c{given}", "name": "note", "input": {"n": given}}]
    return said


@DBOS.step()
async def tool_step(call: dict[str, Any]) -> dict[str, Any]:
    return {"role": "tool", "call_id": call["id"], "result": text()}


@DBOS.workflow()
async def one_turn(message: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "text": message}]
    for given in range(MODEL_STEPS):
        said = await model_step(given)
        messages.append(said)
        messages.extend([await tool_step(call) for call in said.get("calls", [])])
    return str(messages[-1]["text"])


async def main(seconds: float) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{folder() / 'dbos.db'}",
            "log_level": "ERROR",
            "application_version": "1",
        }
    )
    DBOS.launch()

    async def turn(session: str, number: int) -> None:
        with SetWorkflowID(f"{session}:{number}"):
            await one_turn(text())

    for sessions in (1, 64):
        bare = bare_loop(1.0)
        rate, lasted = await drive(turn, sessions, seconds)
        report("DBOS on SQLite", sessions, rate, lasted, (bare + bare_loop(1.0)) / 2)
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0))
