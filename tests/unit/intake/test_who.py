"""Who somebody is, whatever an event called them: one person, one vote, and nobody passes for another."""

from __future__ import annotations

from typing import Literal

import pytest

from gateway.intake import words
from tests.unit.intake.events import LEAD, SECOND, person, pressed, said
from tests.unit.intake.world import Stage, asked, outcome


@pytest.mark.parametrize(("standing", "rule"), [("outsider", "decided"), ("nobody", "outsider")])
async def test_a_policy_that_is_opened_lets_outsiders_and_nobody_else_in(
    here: Stage, standing: Literal["outsider", "nobody"], rule: str
) -> None:
    request = await asked(here)
    here.world.talk.known[LEAD] = standing
    here.world.talk.opened = {"else"}
    await here.receive(pressed(request, event="E1"))
    await here.settled("E1", "outsider")
    here.world.talk.opened = {"refunds"}
    await here.receive(pressed(request, event="E2"))
    await here.settled("E2", rule)


async def test_a_guest_whose_own_request_names_them_is_told_that_a_member_has_to_ask(
    here: Stage,
) -> None:
    """Their message came as a member's: most carry no mark."""
    guest = "talk:T1:GUEST"
    here.world.talk.known[guest] = "outsider"
    here.world.talk.opened = {"refunds"}
    await here.receive(said("word", speaker=person(guest)))
    request = await here.parked()
    await here.show(f"card:{request}")
    await here.receive(pressed(request, "short", guest, "E1"))
    kept = await here.settled("E1", "outsider")
    assert kept.said == words.outsider(None)
    assert await outcome(here, request) is None


async def test_a_person_is_one_whatever_the_click_called_them(here: Stage) -> None:
    """They wrote from one workspace of an organisation and press from another."""
    elsewhere = "talk:T3:LEAD"
    here.world.talk.names[elsewhere] = LEAD
    request = await asked(here, "vote")
    for event, by, rule in (("E1", LEAD, "voted"), ("E2", elsewhere, "voted-before")):
        await here.receive(pressed(request, True, by, event))
        await here.settled(event, rule)
    assert await outcome(here, request) is None, "it takes two people"
    await here.receive(pressed(request, True, SECOND, "E3"))
    await here.settled("E3", "decided")
    found = await here.store.find_request(request)
    assert found is not None
    assert found.request.by == SECOND


@pytest.mark.parametrize("clicked", ["talk:T3:U1", "talk:T1:U1", "talk:unknown:U1"])
async def test_who_asked_keeps_the_name_that_their_message_gave_them(
    here: Stage, clicked: str
) -> None:
    """They wrote where the platform said less of them than it says when it is asked."""
    wrote, settled = "talk:T3:U1", "talk:T1:U1"
    here.world.talk.names |= {wrote: settled, "talk:unknown:U1": settled}
    await here.receive(said("mine", speaker=person(wrote, "sender"), author="external"))
    request = await here.parked()
    await here.show(f"card:{request}")
    await here.receive(pressed(request, True, "talk:T1:U2", "E1"))
    await here.settled("E1", "not-yours")
    await here.receive(pressed(request, True, clicked, "E2"))
    await here.settled("E2", "decided")
    found = await here.store.find_request(request)
    assert found is not None
    assert found.request.by == wrote
