"""What every contender shares: the turn they run, the disk they run it on, and the yardstick.

A turn is an opening message, three model replies and two tool calls: five checkpointed steps, about
1 KB of text that doesn't compress in each message, a model that answers at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

MODEL_STEPS = 3
TOOL_STEPS = 2
STEPS = MODEL_STEPS + TOOL_STEPS

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 "
_NOISE = "".join(random.Random(20261129).choices(_LETTERS, k=1 << 20))  # noqa: S311 - filler


def text(length: int = 900) -> str:
    start = random.randrange(len(_NOISE) - length)  # noqa: S311 - filler
    return _NOISE[start : start + length]


def folder() -> Path:
    """On the disk to be measured: ``BENCH_DIR``, or the system's temporary folder."""
    root = os.environ.get("BENCH_DIR")  # noqa: TID251 - a benchmark's own switch
    return Path(tempfile.mkdtemp(prefix="june-bench-", dir=root))


def size_of(path: Path) -> int:
    """Bytes on disk with the write-ahead log folded in."""
    with sqlite3.connect(path, timeout=30) as db:
        db.execute("pragma wal_checkpoint(truncate)")
    db.close()
    return sum(
        other.stat().st_size
        for suffix in ("", "-wal", "-journal")
        if (other := Path(f"{path}{suffix}")).exists()
    )


def bare_loop(seconds: float) -> float:
    """Steps a second of the plainest durable loop: one ``sqlite3`` commit per step, WAL, FULL."""
    path = folder() / "bare.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("pragma journal_mode=wal")
    db.execute("pragma synchronous=full")
    db.execute(
        "create table messages(id integer primary key, session integer, n integer, body text)"
    )
    db.execute(
        "create table steps(session integer, step text, result text, primary key(session, step)) without rowid"
    )
    done, end = 0, time.perf_counter() + seconds
    began = time.perf_counter()
    while time.perf_counter() < end:
        body = json.dumps({"role": "assistant", "text": text()})
        db.execute("begin immediate")
        db.execute(
            "insert into messages(session, n, body) values (?, ?, ?)", (done % 64, done, body)
        )
        db.execute("insert into steps values (?, ?, ?)", (done % 64, f"model:{done}", '{"ok":1}'))
        db.execute("commit")
        done += 1
    took = time.perf_counter() - began
    db.close()
    return done / took


async def drive(
    turn: Callable[[str, int], Awaitable[None]], sessions: int, seconds: float
) -> tuple[float, list[float]]:
    """``sessions`` conversations at once, each one turn after the other, for a fixed time.
    Steps a second, and each turn's seconds."""
    lasted: list[float] = []
    end = time.perf_counter() + seconds
    name = f"s{time.time_ns()}"

    async def one(which: int) -> None:
        number = 0
        while time.perf_counter() < end:
            began = time.perf_counter()
            await turn(f"{name}-{which}", number)
            lasted.append(time.perf_counter() - began)
            number += 1

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for which in range(sessions):
            group.create_task(one(which))
    return len(lasted) * STEPS / (time.perf_counter() - began), lasted


def report(name: str, sessions: int, rate: float, lasted: list[float], bare: float) -> None:
    """One JSON line: a contender's rate, and its ratio to the bare loop of the same minute."""
    print(
        json.dumps(
            {
                "name": name,
                "sessions": sessions,
                "steps_per_second": round(rate),
                "turn_ms_median": round(statistics.median(lasted) * 1e3, 2),
                "turn_ms_p99": round(sorted(lasted)[int(len(lasted) * 0.99)] * 1e3, 2),
                "bare_steps_per_second": round(bare),
                "ratio_to_bare": round(rate / bare, 3),
            }
        ),
        flush=True,
    )
