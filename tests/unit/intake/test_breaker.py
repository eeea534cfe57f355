"""Two bots don't answer each other for ever; a person in the thread sets the count back."""

from __future__ import annotations

from pathlib import Path

import pytest

from channels.contract import Inbound
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Pair
from gateway.engine.records.companions import DAY
from gateway.engine.struct import replace
from gateway.intake.loops import ROUNDS, goes_round
from tests.unit.intake.events import person, reply_to, said
from tests.unit.intake.world import Stage, World, stage


def bot(number: int, root: str = "1.1", name: str = "B1") -> Inbound:
    speaker = person(f"talk:T1:{name}", "sender")
    return said(
        "ack",
        f"{root}{number}",
        root=root,
        author="bot",
        speaker=speaker,
        pair=f"talk:T1:C1:{root}:{name}",
    )


async def words(here: Stage, *inbounds: Inbound) -> list[str]:
    return [(await here.receive(one)).word for one in inbounds]


async def test_a_peer_that_answers_everything_is_left_alone_after_four(here: Stage) -> None:
    """hermes-agent PR#14117, MervinPraison/PraisonAI#2683."""
    told = await words(here, *(bot(number) for number in range(6)))
    assert told == ["accepted"] * ROUNDS + ["loop"] * 2
    kept = await here.verdict("Ev1.15")
    assert (kept.verdict, kept.rule, kept.said) == ("loop", "no-person-spoke", None)
    assert len(await here.turns()) == ROUNDS
    assert await words(here, bot(1, root="7.7"), bot(9, name="B2")) == ["accepted", "accepted"]


async def test_copies_of_one_message_count_once(here: Stage) -> None:
    for _ in range(5):
        await here.receive(bot(0))
    told = await words(here, *(bot(number) for number in range(1, 5)))
    assert told == ["accepted"] * 3 + ["loop"]


@pytest.mark.parametrize("heard", [True, False])
async def test_a_person_who_speaks_there_sets_it_back(here: Stage, heard: bool) -> None:
    for number in range(5):
        await here.receive(bot(number))
    spoke = reply_to("1.1", "hm", follow="thread" if heard else "mention")
    assert (await here.receive(spoke)).word == ("accepted" if heard else "not_addressed")
    assert await words(here, *(bot(number) for number in range(5, 10))) == [
        *["accepted"] * ROUNDS,
        "loop",
    ]


async def test_an_old_event_told_again_is_nobody_speaking(here: Stage) -> None:
    await here.receive(said())
    for number in range(5):
        await here.receive(bot(number))
    await here.receive(said())
    assert await words(here, bot(6)) == ["loop"]


async def test_the_count_outlives_the_process(tmp_path: Path) -> None:
    url, world = f"sqlite:///{tmp_path / 'a.db'}", World()
    for number in range(ROUNDS):
        async with stage(url, world=world) as here:
            assert await words(here, bot(number)) == ["accepted"]
    async with stage(url, world=world) as here:
        assert await words(here, bot(9)) == ["loop"]


def test_a_day_later_it_is_forgotten() -> None:
    pair = Pair(pair="p", n=ROUNDS, first_at=Millis(0), last_at=Millis(5))
    assert goes_round([pair], "p", DAY)
    assert not goes_round([pair], "p", Millis(DAY + 1))
    assert not goes_round([replace(pair, n=ROUNDS - 1)], "p", Millis(5))
    assert not goes_round([pair], "q", Millis(5))
    assert not goes_round([], "p", Millis(5))
