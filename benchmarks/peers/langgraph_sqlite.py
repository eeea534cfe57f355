"""LangGraph: a model node and a tool node over a message list, ``AsyncSqliteSaver``, each checkpoint
written before the next step (``durability="sync"``), a new thread per turn."""

from __future__ import annotations

import asyncio
import operator
import sys
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks.common import TOOL_STEPS, bare_loop, drive, folder, report, text


class State(TypedDict):
    messages: Annotated[list[dict[str, Any]], operator.add]
    given: int


async def model(state: State) -> dict[str, Any]:
    given = state["given"]
    said: dict[str, Any] = {"role": "assistant", "text": text()}
    if given < TOOL_STEPS:
        said["calls"] = [{"id": f"c{given}", "name": "note", "input": {"n": given}}]
    return {"messages": [said], "given": given + 1}


async def tool(state: State) -> dict[str, Any]:
    call = state["messages"][-1]["calls"][0]
    return {"messages": [{"role": "tool", "call_id": call["id"], "result": text()}]}


async def main(seconds: float) -> None:
    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(START, "model")
    graph.add_conditional_edges(
        "model", lambda state: "tool" if "calls" in state["messages"][-1] else END
    )
    graph.add_edge("tool", "model")
    async with AsyncSqliteSaver.from_conn_string(str(folder() / "langgraph.db")) as saver:
        await saver.setup()
        app = graph.compile(checkpointer=saver)

        async def turn(session: str, number: int) -> None:
            await app.ainvoke(
                {"messages": [{"role": "user", "text": text()}], "given": 0},
                {"configurable": {"thread_id": f"{session}:{number}"}},
                durability="sync",
            )

        for sessions in (1, 64):
            bare = bare_loop(1.0)
            rate, lasted = await drive(turn, sessions, seconds)
            report("LangGraph on SQLite", sessions, rate, lasted, (bare + bare_loop(1.0)) / 2)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0))
