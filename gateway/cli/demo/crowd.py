"""Many conversations at once, and a kill -9 in the middle of them.

Turns are handed in one after the other in each conversation. What got no receipt when the host died is
handed in again under the same id afterwards: that is all a client has to do.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from gateway.cli.demo import proof
from gateway.cli.demo.theatre import Theatre, listed, until, within
from gateway.cli.problem import Problem
from gateway.cli.told import text_of

DESKS = ("1042", "1043", "1044", "1045", "1042", "1043", "1044", "1045")
"""One conversation each, about this order. Not 1046: somebody asks about it beneath the digest, and would
be read all that was noted here."""
ROUNDS = ("one", "two", "three", "four", "five")


@dataclass(frozen=True, slots=True)
class Task:
    session: str
    turn_id: str
    message: str
    note: str


def tasks() -> list[list[Task]]:
    return [
        [
            Task(
                session=f"demo-desk-{desk}",
                turn_id=f"desk-{desk}-{number}",
                message=f"note on order {order}: desk {desk}, part {number}",
                note=f"desk {desk}, part {number}",
            )
            for number in ROUNDS
        ]
        for desk, order in zip("abcdefgh", DESKS, strict=True)
    ]


async def crowd(on: Theatre) -> None:
    desks = tasks()
    everything = [task for desk in desks for task in desk]
    on.stage.says("you", f"{len(desks)} desks at once, {len(ROUNDS)} notes each")
    receipts: set[str] = set()

    async def hand_in(desk: list[Task]) -> None:
        for task in desk:
            try:
                await on.post(task.session, task.message, task.turn_id)
            except Problem:  # no receipt: the host died under the request, or before it
                return
            receipts.add(task.turn_id)

    async def pull_the_plug() -> None:
        a_third = len(everything) // 3
        await until("the first notes", lambda: len(_written(on, everything)) >= a_third)
        await on.host.kill()

    async with within("handing in the notes"), asyncio.TaskGroup() as group:
        group.create_task(pull_the_plug())
        for desk in desks:
            group.create_task(hand_in(desk))
    at_crash = len(_written(on, everything))
    await on.crash(f"with {at_crash} of {len(everything)} notes written")
    missing = [task for task in everything if task.turn_id not in receipts]
    for task in missing:
        await on.post(task.session, task.message, task.turn_id)
    await _all_done(on, everything)

    found = _written(on, everything)
    times = Counter(found)
    again = f"; {len(missing)} that got no receipt were sent again" if missing else ""
    on.stage.that(
        f"all {len(everything)} turns completed{again}",
        await _completed(on) >= len(everything),
    )
    on.stage.that(
        f"every note is written exactly once: {len(found)} notes, {len(times)} different",
        len(times) == len(everything) and set(times.values()) == {1},
        [note for note, count in times.items() if count > 1],
    )
    order = {task.note: number for number, task in enumerate(everything)}
    ranks = [[order[n] for n in found if n.startswith(desk[0].note[:6])] for desk in desks]
    on.stage.that(
        "and each desk's notes are in the order they were sent",
        all(rank == sorted(rank) for rank in ranks),
        ranks,
    )
    logs = [proof.gapless(await on.log(task.session, task.turn_id)) for task in everything]
    broken = [log.seen for log in logs if not log.held]
    on.stage.that(f"{len(logs)} event logs, each gapless with one end", not broken, broken)


def _written(on: Theatre, everything: list[Task]) -> list[str]:
    wanted = {task.note for task in everything}
    return [note for note in proof.notes(on.state) if note in wanted]


async def _all_done(on: Theatre, everything: list[Task]) -> None:
    async with within("finishing all turns"):
        while True:
            if await _completed(on) >= len(everything):
                return
            await asyncio.sleep(0.05)


async def _completed(on: Theatre) -> int:
    body = await on.client.get("/turns", {"state": "completed", "limit": "500"})
    rows = listed(body, "turns")
    return sum(text_of(row.get("turn_id")).startswith("desk-") for row in rows)
