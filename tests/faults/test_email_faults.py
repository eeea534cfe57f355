"""Whatever goes wrong once, at whatever step of IMAP or SMTP: each mail is answered once, and put away.

The journeys are played once to learn which steps they consist of; then again for each fault at each of them.
There is one moment of which nobody can tell whether a letter arrived, between the line that ends it and the
answer to that: there the very same letter may arrive twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from typing_extensions import override

from channels.email.emulator.faults import Fault
from tests.faults.mail_stage import JOURNEYS, Journey, MailStage, Outcome, played, staged

END = "smtp:END"
LINE = ("cut_before", "cut_after")
SAID = ("tempfail", "refuse", "slow")
QUIET = {"imap:IDLE", "imap:NOOP"}
"""Where a mailbox is waited at: how often that happens is chance."""


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[MailStage]:
    async with staged(tmp_path) as stage:
        yield stage


@dataclass(frozen=True, slots=True)
class Strike:
    kind: str
    on: str
    nth: int

    def fault(self) -> Fault:
        return Fault(self.kind, self.on, nth=self.nth, seconds=0.2)  # type: ignore[arg-type]

    @property
    def twice(self) -> bool:
        """The letter arrived, and nobody was told."""
        return (self.kind, self.on) == ("cut_after", END)

    @override
    def __str__(self) -> str:
        return f"{self.kind} at {self.on} #{self.nth}"


async def occasions(
    on: MailStage, journey: Journey, kinds: tuple[str, ...]
) -> tuple[Outcome, list[Strike]]:
    """What a journey without faults leaves, and all that can happen on the way to it."""
    await played(on, journey)  # folders that weren't there are made now, once
    on.steps.met.clear()
    calm = await played(on, journey)
    met = Counter(on.steps.met)
    strikes = [
        Strike(kind, step, nth + 1)
        for step, times in met.items()
        for nth in range(1 if step in QUIET else times)
        for kind in kinds
    ]
    assert {"smtp:DATA", END, "imap:LOGIN", "imap:FETCH", "imap:MOVE"} <= set(met)
    return calm, strikes


async def struck(on: MailStage, journey: Journey, *strikes: Strike) -> Outcome:
    async def mended() -> None:
        """What a server refuses for good is a dead letter, until an operator sends it again."""
        await on.revive("refused")

    faults = [on.post.faults.add(strike.fault()) for strike in strikes]
    try:
        found = await played(on, journey, mended)
    except TimeoutError:
        rows = [(row.part, row.state, row.error) for row in await on.ledger.deliveries(limit=2)]
        pytest.fail(f"{' and '.join(map(str, strikes))}: the journey doesn't end; {rows}")
    finally:
        on.post.faults.repair()
    assert all(fault.struck for fault in faults), strikes
    return found


def differs(calm: Outcome, found: Outcome, strike: Strike) -> bool:
    same = (calm.letters, calm.verdicts, calm.paid) == (found.letters, found.verdicts, found.paid)
    arrived = Counter(found.arrived)
    most = 2 if strike.twice else 1
    as_often = sorted(arrived.values()) == sorted([1] * (len(calm.arrived) - 1) + [most])
    return not (same and as_often)


async def check(
    on: MailStage,
    name: str,
    kinds: tuple[str, ...],
    *,
    picked: Callable[[int, Strike], bool] = lambda _, __: True,
) -> None:
    journey = JOURNEYS[name]
    calm, known = await occasions(on, journey, kinds)
    strikes = [strike for number, strike in enumerate(known) if picked(number, strike)]
    assert calm.once
    assert strikes
    differing = {
        str(strike): found
        for strike in strikes
        if differs(calm, found := await struck(on, journey, strike), strike)
    }
    assert differing == {}


def one_of_two(number: int, strike: Strike) -> bool:
    """Before a step is taken or after it, and both at the one that matters most. The last test is all."""
    return strike.on == END or number % 4 in {0, 3}


@pytest.mark.timeout(120)
async def test_a_line_that_is_cut_at_any_step(on: MailStage) -> None:
    await check(on, "question", LINE, picked=one_of_two)


@pytest.mark.timeout(120)
async def test_a_letter_that_is_refused_or_put_off_at_any_step(on: MailStage) -> None:
    def picked(number: int, strike: Strike) -> bool:
        return strike.on.startswith("smtp:") and one_of_two(number, strike)

    await check(on, "question", ("refuse", "tempfail"), picked=picked)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", JOURNEYS)
async def test_whatever_happens_at_any_step(on: MailStage, name: str) -> None:
    await check(on, name, (*LINE, *SAID))
