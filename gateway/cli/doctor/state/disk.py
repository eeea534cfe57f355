"""Room to write: a full disk stops every turn at its next step."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen

MIB = 1 << 20
LITTLE, SCARCE = 1024 * MIB, 128 * MIB
LARGE_LOG = 256 * MIB
"""A write-ahead log is a few MiB; somebody who reads for hours keeps it from shrinking."""


def room(seen: Seen) -> Iterator[Finding]:
    disk = seen.disk
    if disk is None or disk.free >= LITTLE:
        return
    report = error if disk.free < SCARCE else warning
    yield report(
        "state.disk",
        "the disk of the database is almost full",
        f"{disk.free // MIB} MiB are free beside {disk.place}",
        Fix(text="Make room; old copies end with .bak", command=f"du -h {disk.place}*"),
    )


def log(seen: Seen) -> Iterator[Finding]:
    disk = seen.disk
    if disk is not None and disk.log > LARGE_LOG:
        yield warning(
            "state.log",
            "the database's write-ahead log grows and isn't emptied",
            f"{disk.place}-wal has {disk.log // MIB} MiB",
            Fix(
                text="End whatever else reads the database for long, then restart the gateway",
                command=f"fuser -v {disk.place}",
            ),
        )
