"""The clock: Slack's requests are refused when they seem over five minutes old or early."""

from __future__ import annotations

from collections.abc import Iterator

from channels.slack.verify import WINDOW
from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen

SUSPECT = 30.0
"""Seconds; within them a slow answer or the header's whole seconds explain it."""
SYNC = Fix(
    text="Have the system keep its clock by NTP, then restart the gateway",
    command="sudo timedatectl set-ntp true",
)


def clock(seen: Seen) -> Iterator[Finding]:
    me = None if seen.asked is None else seen.asked.me
    if me is None or me.at is None:
        return
    off = seen.now / 1000 - me.at
    if abs(off) <= SUSPECT + me.took:
        return
    which = f"{abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} Slack's"
    if abs(off) * 1000 > WINDOW:
        yield error(
            "slack.clock",
            "this machine's clock is off, so Slack's requests are refused as too old",
            f"it is {which}; {WINDOW // 1000} s are allowed",
            SYNC,
        )
    else:
        yield warning("slack.clock", "this machine's clock is off", f"it is {which}", SYNC)
