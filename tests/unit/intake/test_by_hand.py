"""What is let in so often and no more, and what only an operator lets in."""

from __future__ import annotations

from channels.contract import Budget, Inbound
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Pair
from gateway.engine.records.companions import DAY
from gateway.engine.struct import replace
from gateway.intake.admitting import admission
from gateway.intake.loops import TOO_MANY, overspent
from tests.unit.intake.events import said
from tests.unit.intake.world import Stage

TWO = Budget(key="mail:ada", most=2, window=DAY)


def letter(number: int) -> Inbound:
    return said("hello", f"{number}.0", budgets=(TWO,))


async def test_what_is_beyond_a_budget_is_held_until_an_operator_lets_it_in(here: Stage) -> None:
    told = [await here.receive(letter(number)) for number in range(1, 4)]
    assert [(one.word, one.rule) for one in told] == [
        ("accepted", "mention"),
        ("accepted", "mention"),
        ("held", TOO_MANY),
    ]
    assert here.woken == []  # the inbox holds nothing that could let it in by itself
    now = here.time.clock.now()
    await here.store.ledger.note([admission("talk", letter(3), now)])
    assert (await here.settled("Ev3.0", "mention")).verdict == "accepted"
    assert len(await here.turns()) == 3


async def test_copies_of_one_message_are_spent_once(here: Stage) -> None:
    for _ in range(3):
        await here.receive(letter(1))
    assert (await here.receive(letter(2))).word == "accepted"


async def test_a_doubt_holds_it_whatever_the_budget(here: Stage) -> None:
    told = await here.receive(said(doubt="stranger"))
    assert (told.word, told.rule, told.turn_id) == ("held", "stranger", None)
    assert await here.turns() == []


async def test_further_places_are_bound_with_the_turn(here: Stage) -> None:
    await here.receive(said(places=("mail:a", "mail:b")))
    asked = Asked(source="talk", event_id="x", places=("mail:a", "mail:b", "mail:c"))
    known = await here.store.ledger.known(asked)
    assert len({one.session for one in known.bindings}) == 1
    assert [one.place for one in known.bindings] == ["mail:a", "mail:b"]


def test_a_budget_is_whole_again_when_its_window_is_over() -> None:
    spent = [Pair(pair=TWO.key, n=2, first_at=Millis(0), last_at=Millis(5))]
    assert overspent(spent, [TWO], DAY) == TOO_MANY
    assert overspent(spent, [TWO], Millis(DAY + 1)) == ""
    assert overspent(spent, [replace(TWO, most=3), replace(TWO, key="mail:eve")], DAY) == ""
