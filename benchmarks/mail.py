"""Reading a mail, in seconds of this process's own time.

``big``: 25 MB as a file, as text and as HTML; time, and the process's peak memory. ``growth``: each shape
that costs other parsers more than its size, at one size and at twice that, as a ratio. ``fuzz``: the
slowest of 20,000 damaged mails, always the same ones. ``idle`` is about the way in: see ``mail_idle.py``.

usage: python -m benchmarks.mail [big|growth|fuzz|idle]
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import resource
import sys
import time
from collections.abc import Callable

from benchmarks.mail_idle import idle
from channels.email.mime.limits import RAW
from channels.email.mime.read import read
from tests.unit.email.corpus.build import file, html, inner, multipart, text, typed
from tests.unit.email.corpus.hostile import GROWING
from tests.unit.email.corpus.mutate import mutated
from tests.unit.email.corpus.tables import CORPUS

FUZZED = 20_000
ONCE = 400
ROUNDS = 5


def spent(raw: bytes) -> float:
    began = time.process_time()
    read(raw)
    return time.process_time() - began


def peak() -> int:
    """Megabytes that this process had at its most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def say(**found: object) -> None:
    print(json.dumps(found), flush=True)


def big() -> None:
    dice = random.Random(1)  # noqa: S311
    body = (
        "<table><tr><td><p>Hello <b>Ada</b>, see <a href='https://a.example/'>this</a></p></table>"
    )
    picture = base64.b64encode(dice.randbytes(60_000)).decode()
    shapes: dict[str, Callable[[], bytes]] = {
        "file": lambda: multipart(
            "mixed", text("Here it is."), file("a.bin", data=dice.randbytes(RAW * 7 // 10))
        ),
        "files": lambda: multipart(
            "mixed",
            inner("alternative", text("Hello Ada"), html(body * 20)),
            *(file(f"{n}.bin", data=dice.randbytes(RAW // 100)) for n in range(70)),
        ),
        "text": lambda: typed("text/plain", b"Hello, all of you.\r\n" * (RAW // 20 - 50)),
        "html": lambda: typed("text/html", body.encode() * (RAW // len(body) - 50)),
        "pictures in html": lambda: typed(
            "text/html", f"<img src='data:image/png;base64,{picture}'>".encode() * 300
        ),
    }
    for name, made in shapes.items():
        raw = made()
        took = spent(raw)
        say(
            name=f"big: {name}",
            megabytes=round(len(raw) / 1e6, 1),
            s=round(took, 3),
            peak_mb=peak(),
        )


def growth() -> None:
    for name, made in GROWING.items():
        once, twice = made(ONCE), made(2 * ONCE)
        pairs = [(spent(once), spent(twice)) for _ in range(ROUNDS)]
        ratio = min(second for _, second in pairs) / min(first for first, _ in pairs)
        say(name=f"growth: {name}", bytes=len(twice), time_ratio=round(ratio, 2))


def fuzz() -> None:
    dice = random.Random(20_000)  # noqa: S311
    seeds = [(name, made()[0]) for name, made in CORPUS.items()]
    seeds += [(name, made(ONCE)) for name, made in GROWING.items()]
    worst, named, total = 0.0, "", 0.0
    for _ in range(FUZZED):
        name, raw = dice.choice(seeds)
        took = spent(mutated(raw, dice))
        total += took
        if took > worst:
            worst, named = took, name
    mean = round(total / FUZZED * 1e3, 3)
    say(name="fuzz", mails=FUZZED, ms_mean=mean, s_worst=round(worst, 3), of=named, peak_mb=peak())


def main(which: str) -> None:
    runs: dict[str, Callable[[], None]] = {
        "big": big,
        "growth": growth,
        "fuzz": fuzz,
        "idle": lambda: asyncio.run(idle()),
    }
    for name, run in runs.items():
        if which in {"", name}:
            run()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
