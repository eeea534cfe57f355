"""One process with an outbox on a SQLite file. Run by ``test_outbox_sigkill.py``.

``python -m tests.crash.outbox_worker <folder> <where>``: the platform is a file of posts that outlives
the process, and ``where`` names the moment at which the process kills itself: ``before`` a post is made,
``after`` it was made and before anybody was told, ``journalled`` once its reference is kept, or ``never``.
A process that isn't to die ends when its turn is told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from typing_extensions import override

from channels.contract import NotSent, Sent, SentOrNot
from gateway.engine.ledger import Delivery
from gateway.stores.sqlite import SqliteStore
from tests.unit.outbox.kit import Desk, desk
from tests.unit.outbox.platform import Platform

POSTS = "posts"


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FilePlatform(Platform):
    """Each post is a line: its nonce and its text."""

    def __init__(self, folder: Path, where: str) -> None:
        super().__init__()
        self.file = os.open(folder / POSTS, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        self.where = where

    @override
    async def post(self, place: str, text: str, nonce: str) -> str:
        if self.where == "before":
            die()
        os.write(self.file, f"{nonce}\t{text}\n".encode())
        if self.where == "after":
            die()
        return nonce

    @override
    async def update(self, ref: str, text: str) -> None:
        os.write(self.file, f"{ref}\tchanged: {text}\n".encode())

    def look_up(self, nonce: str) -> SentOrNot:
        size = os.fstat(self.file).st_size
        lines = os.pread(self.file, size, 0).decode().splitlines()
        return Sent(nonce) if any(line.split("\t")[0] == nonce for line in lines) else NotSent()


async def work(folder: Path, where: str) -> None:
    store = SqliteStore(folder / "june.db")
    await store.open()
    platform = FilePlatform(folder, where)
    async with desk(store, platform=platform, runs=False) as made:
        reconcile_by(made, platform)
        if where == "journalled":
            die_at_the_receipt(made)
        await made.start("hello", "t1")  # the same one, if an earlier life began it
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(made.outbox.run())
            row = await made.until("t1", "done")
            work.cancel()
        sys.stdout.write(f"done {row.shown} {[part.state for part in row.parts]}\n")
    await store.close()


def reconcile_by(made: Desk, platform: FilePlatform) -> None:
    async def reconcile(delivery: Delivery) -> SentOrNot:
        (wanted,) = [part.nonce for part in delivery.parts if part.state == "opening"]
        sys.stdout.write(f"reconcile {wanted}\n")
        return platform.look_up(wanted)

    made.channel.reconcile = reconcile  # type: ignore[method-assign]


def die_at_the_receipt(made: Desk) -> None:
    async def settle(_: Any) -> Any:
        die()

    made.ledger.settle = settle


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
