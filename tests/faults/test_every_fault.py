"""Whatever goes wrong once, at whatever call or event of a journey: the thread ends up the same.

The journeys are played once to learn which calls and events they consist of; then again for each fault at
each of them, in a thread of its own. What lasts until somebody mends it becomes a dead letter, and a retry
after that ends up the same, too.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from channels.slack.emulator.faults import CALL_FAULTS, EVENT_FAULTS, LASTING
from gateway.testing.slack import Fault, Message
from tests.faults.stage import JOURNEYS, Journey, Line, Stage, Strike, staged

ONCE = sorted(CALL_FAULTS - {"user_stops"})
"""What a person does isn't undone; it has a test of its own."""
SAMPLES = {"question": 1, "refund": 5}
"""Each so many-eth of a journey's faults. It shares no divisor with the number of kinds of call faults (9) or
event faults (4), so that each kind comes up."""
WRITES = ("chat.postMessage", "chat.startStream", "chat.update")


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def occasions(on: Stage, journey: Journey) -> tuple[list[Line], list[Strike]]:
    """The thread of a journey without faults, and all that can happen on the way to it."""
    await journey(on)  # what is asked once, such as who somebody is, is known from now on
    calls, events = len(on.slack.journal.calls), len(on.slack.journal.deliveries)
    thread = on.lines(await journey(on))
    methods = Counter(call.method for call in on.slack.journal.calls[calls:])
    types = Counter(f"event:{sent.type}" for sent in on.slack.journal.deliveries[events:])
    found = [*_each(methods, ONCE), *_each(types, sorted(EVENT_FAULTS))]
    assert found
    return thread, found


def _each(met: Counter[str], kinds: Sequence[str]) -> list[Strike]:
    return [
        Strike(kind, what, nth + 1)
        for what, times in met.items()
        for nth in range(times)
        for kind in kinds
    ]


async def played(on: Stage, journey: Journey, *strikes: Strike) -> list[Line]:
    faults = [on.slack.faults.add(strike.fault()) for strike in strikes]
    try:
        root: Message = await journey(on)
    except TimeoutError:
        rows = await on.host.runtime.store.ledger.deliveries(limit=3)
        told = [(row.part, row.state, row.error) for row in rows]
        pytest.fail(f"{' and '.join(map(str, strikes))}: the journey doesn't end; {told}")
    finally:
        on.slack.faults.repair()
    assert faults
    return on.lines(root)


async def check(on: Stage, name: str, every: int) -> None:
    journey = JOURNEYS[name]
    thread, strikes = await occasions(on, journey)
    differing = {
        str(strike): found
        for strike in strikes[::every]
        if (found := await played(on, journey, strike)) != thread
    }
    assert differing == {}
    assert [ping for ping in on.slack.pinged if ping.id != on.play.ada.id] == []


@pytest.mark.parametrize(("name", "every"), SAMPLES.items())
async def test_a_sample_of_all_faults_one_at_a_time(on: Stage, name: str, every: int) -> None:
    """The next test is all of them."""
    await check(on, name, every)


@pytest.mark.slow
@pytest.mark.timeout(420)
@pytest.mark.parametrize("name", JOURNEYS)
async def test_one_fault_at_a_time(on: Stage, name: str) -> None:
    await check(on, name, every=1)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", JOURNEYS)
async def test_two_faults_in_a_row(on: Stage, name: str) -> None:
    journey = JOURNEYS[name]
    thread, strikes = await occasions(on, journey)
    methods = [strike for strike in strikes if not strike.on.startswith("event:")]
    differing: dict[str, list[Line]] = {}
    for first, second in itertools.permutations(methods, 2):
        if (first.on, first.nth) != (second.on, second.nth):
            continue  # the same call, and then the one made in its place
        again = Strike(second.kind, second.on, second.nth + 1)
        found = await played(on, journey, first, again)
        if found != thread:
            differing[f"{first} and {again}"] = found
    assert differing == {}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", sorted(LASTING))
@pytest.mark.parametrize("method", WRITES)
async def test_what_lasts_is_a_dead_letter_until_it_is_mended(
    on: Stage, kind: str, method: str
) -> None:
    journey = JOURNEYS["refund"]
    thread = on.lines(await journey(on))
    ledger = on.host.runtime.store.ledger
    calls = len(on.slack.journal.calls)

    async def mended() -> None:
        """Once the first letter is dead, and again for what follows from it."""
        dead = await ledger.deliveries(state="dead")
        if dead:
            assert {row.error is not None and row.error.split(":")[0] for row in dead} == {kind}
            on.slack.faults.repair()
            for row in dead:
                await ledger.retry(id=row.id, now=on.host.runtime.clock.now())

    on.slack.faults.add(Strike(kind, method, 1).fault())
    try:
        root = await journey(on, mended)
    finally:
        on.slack.faults.repair()
    assert any(call.error == kind for call in on.slack.journal.calls[calls:])
    # Nothing waits for a dead letter, so what it holds may stand below what came after it; and where a
    # card was dead, a line about that went on below what was there, with the task that waited for it.
    assert _all_said(on.lines(root)) == _all_said(thread)


async def test_a_card_that_cant_be_posted_is_told_of_in_its_thread(on: Stage) -> None:
    on.slack.faults.add(Fault("not_ok", "chat.postMessage", error="invalid_blocks"))
    asked = await on.play.ada.mention(on.channel, "@june refund 1042, it arrived broken")

    async def told() -> bool:
        waiting = "Waiting for @support-leads to decide"
        return any(waiting in shown.text for shown in on.by_june(asked))

    await on.until(told)
    (dead,) = await on.host.runtime.store.ledger.deliveries(state="dead")
    assert dead.part.startswith("card:")


def _all_said(thread: list[Line]) -> set[str]:
    return {line for words, _ in thread for line in words.splitlines()}
