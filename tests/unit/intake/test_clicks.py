"""Every click is answered, whoever clicks, whenever and however often."""

from __future__ import annotations

from pathlib import Path

import pytest

from channels.contract import MISSING
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace
from gateway.intake import words
from gateway.intake.inbox import Inbox
from tests.unit.intake.events import (
    CARD,
    LEAD,
    SECOND,
    STRANGER,
    acted,
    person,
    pressed,
    reply_to,
    said,
)
from tests.unit.intake.world import Stage, World, asked, outcome, stage, until

NOT_NEEDED = "This decision is no longer needed."
NOT_HERE = "I can't take a decision from this message. Nothing was done."
TURN = "talk:T1:C1:1.1"
THEIRS = "This one is for the policy refunds to decide."


async def test_a_click_is_kept_before_anything_is_looked_at(here: Stage) -> None:
    request = await asked(here)
    told = await here.receive(pressed(request, event="E1"))
    assert (told.word, told.rule) == ("accepted", "answer:kept")
    assert here.world.talk.asked == []
    assert await outcome(here, request) is None
    kept = await here.settled("E1", "decided")
    assert (kept.verdict, kept.turn_id, kept.said) == ("accepted", TURN, None)
    assert await outcome(here, request) == "approved"
    assert here.world.talk.said == [], "the card shows it"
    assert here.world.talk.asked == [LEAD]
    await here.ended(TURN)
    assert here.world.refunds == ["1042"]


async def test_pressed_twice_fast_it_runs_once_and_nobody_is_scolded(here: Stage) -> None:
    request = await asked(here)
    for event in ("E1", "E2"):
        await here.receive(pressed(request, event=event))
    for event in ("E1", "E2"):
        assert (await here.settled(event, "decided")).verdict == "accepted"
    await here.ended(TURN)
    assert here.world.refunds == ["1042"]
    assert here.world.talk.said == []


async def test_the_same_press_told_twice_is_one(here: Stage) -> None:
    request = await asked(here)
    press = pressed(request, event="E1")
    assert (await here.receive(press)).word == "accepted"
    again = replace(press, event_id="E1-again")
    assert (await here.receive(again)).word == "duplicate"
    kept = await here.verdict("E1-again")
    assert (kept.verdict, kept.rule) == ("duplicate", "key-claimed")


async def test_a_second_lead_is_told_who_was_faster(here: Stage) -> None:
    request = await asked(here)
    await here.receive(pressed(request, True, LEAD, "E1"))
    await here.settled("E1", "decided")
    await here.receive(pressed(request, False, SECOND, "E2"))
    kept = await here.settled("E2", "already-decided")
    assert kept.said == f"Already approved by {LEAD}."
    assert here.world.talk.said == [("SECOND", f"Already approved by {LEAD}.")]
    assert await outcome(here, request) == "approved"


async def test_the_same_lead_with_another_mind_is_told_too(here: Stage) -> None:
    request = await asked(here)
    await here.receive(pressed(request, True, LEAD, "E1"))
    await here.settled("E1", "decided")
    await here.receive(pressed(request, False, LEAD, "E2"))
    assert (await here.settled("E2", "already-decided")).said == f"Already approved by {LEAD}."


@pytest.mark.parametrize(
    ("who", "rule", "told"),
    [
        ("talk:T1:SOMEBODY", "not-yours", THEIRS),
        (STRANGER, "outsider", words.outsider("the policy refunds")),
        ("talk:T1:BOT", "outsider", words.outsider("the policy refunds")),
    ],
)
async def test_who_may_not_decide_is_told_and_the_request_stays_open(
    here: Stage, who: str, rule: str, told: str
) -> None:
    """hermes-agent#36848: no list means no stranger."""
    here.world.talk.known["talk:T1:BOT"] = "nobody"
    request = await asked(here)
    await here.receive(pressed(request, by=who, event="E1"))
    kept = await here.settled("E1", rule)
    assert (kept.verdict, kept.said) == ("policy", told)
    assert here.world.talk.said == [(who.rpartition(":")[2], told)]
    assert await outcome(here, request) is None


async def test_whoever_cannot_be_checked_decides_nothing(here: Stage) -> None:
    request = await asked(here)
    here.world.talk.known[LEAD] = "away"
    await here.receive(pressed(request, event="E1"))
    assert (await here.settled("E1", "unchecked")).said == words.UNSURE
    assert await outcome(here, request) is None
    here.world.talk.known[LEAD] = "member"
    await here.receive(pressed(request, event="E2"))
    await here.settled("E2", "decided")


async def test_a_hook_that_fails_is_told_and_nothing_is_done(here: Stage) -> None:
    request = await asked(here)
    here.world.hook_fails = True
    await here.receive(pressed(request, event="E1"))
    assert (await here.settled("E1", "hook-failed")).said == words.UNCHECKED
    assert await outcome(here, request) is None


async def test_what_does_not_fit_is_told_and_can_be_said_again(here: Stage) -> None:
    request = await asked(here, "word")
    await here.receive(pressed(request, "too long", "talk:T1:U1", "E1"))
    kept = await here.settled("E1", "invalid-answer")
    assert kept.said is not None
    assert kept.said.startswith("The answer doesn't fit what was asked for")
    assert kept.said.endswith(words.STILL_OPEN)
    await here.receive(pressed(request, "short", "talk:T1:U1", "E2"))
    await here.settled("E2", "decided")
    assert await outcome(here, request) == "answered"


async def test_votes_count_and_the_last_one_decides(here: Stage) -> None:
    request = await asked(here, "vote")
    await here.receive(pressed(request, True, LEAD, "E1"))
    assert (await here.settled("E1", "voted")).verdict == "accepted"
    await here.receive(pressed(request, True, LEAD, "E2"))
    again = await here.settled("E2", "voted-before")
    assert again.said == "Your vote is kept: 1 of 2. Somebody else has to decide as well."
    assert await outcome(here, request) is None
    await here.receive(pressed(request, True, SECOND, "E3"))
    await here.settled("E3", "decided")
    await here.receive(pressed(request, True, LEAD, "E4"))
    assert (await here.settled("E4", "decided")).said is None, "that vote was taken"


# -- what the message shows ----------------------------------------------------------------------------
async def test_each_card_is_its_own_request(here: Stage) -> None:
    """vercel/eve#2471: five pending, answered in odd order."""
    requests: dict[str, str] = {}
    for number in range(5):
        await here.receive(said(f"refund {number}", f"1.{number}"))

    async def all_asked() -> bool:
        return len(await here.store.list_requests()) == 5

    await until(all_asked)
    for found in await here.store.list_requests():
        order = str(found.request.turn_id).rpartition(".")[2]
        requests[order] = found.request.id
    cards = {request: f"card-{order}" for order, request in requests.items()}
    await here.show(f"card:{requests['0']}", "card-0", **cards)
    values = {"3": True, "0": False, "4": True, "1": False, "2": True}
    for order, value in values.items():
        press = pressed(requests[order], value, LEAD, f"E{order}", shown=f"card-{order}")
        await here.receive(press)
    for order in values:
        await here.settled(f"E{order}", "decided")
    for order, value in values.items():
        assert await outcome(here, requests[order]) == ("approved" if value else "denied")


async def test_a_button_that_names_another_request_than_its_card_shows_is_forged(
    here: Stage,
) -> None:
    await here.receive(said("refund 1", "1.1"))
    first = await here.parked()
    await here.show(f"card:{first}", "card-1")
    await here.receive(said("refund 2", "1.2"))

    async def both() -> bool:
        return len(await here.store.list_requests()) == 2

    await until(both)
    second = next(r.request.id for r in await here.store.list_requests() if r.request.id != first)
    await here.show(f"card:{second}", "card-2")
    for event, press in (
        ("E1", pressed(second, event="E1", shown="card-1")),
        ("E2", pressed("req_made_up", event="E2", shown="card-1")),
        ("E3", pressed(first, event="E3", shown="talk:T1:C1:7.7")),
        ("E4", pressed(first, event="E4", shown="talk:T2:C1:9.9")),
    ):
        await here.receive(press)
        kept = await here.settled(event, "forged-answer")
        assert (kept.verdict, kept.said) == ("policy", NOT_NEEDED if event == "E2" else NOT_HERE)
    assert await outcome(here, first) is None
    assert await outcome(here, second) is None


async def test_a_card_pressed_before_its_receipt_is_in_the_books_counts(here: Stage) -> None:
    await here.receive(said("refund 1042"))
    request = await here.parked()
    await here.receive(pressed(request, event="E1"))
    here.work()
    await here.time.sleep(3)
    assert (await here.verdict("E1")).rule == "answer:kept"
    await here.show(f"card:{request}")
    await here.ended(TURN)
    assert (await here.verdict("E1")).rule == "decided"


async def test_an_answer_from_a_form_stands_on_no_message(here: Stage) -> None:
    request = await asked(here, "word")
    await here.receive(pressed(request, "short", "talk:T1:U1", "E1", shown=""))
    await here.settled("E1", "decided")


async def test_a_request_of_a_conversation_that_was_reset_is_no_longer_needed(
    here: Stage,
) -> None:
    request = await asked(here)
    await here.runtime.session("june", TURN).reset()
    await here.receive(pressed(request, event="E1"))
    kept = await here.settled("E1", "already-decided", "no-longer-needed")
    assert kept.said == NOT_NEEDED
    assert here.world.refunds == []


# -- forms and looks -------------------------------------------------------------------------------------
async def test_a_value_that_is_missing_opens_a_form(here: Stage) -> None:
    request = await asked(here, "word")
    await here.receive(pressed(request, MISSING, event="E1"))
    await here.settled("E1", "form:opened")
    assert here.world.talk.acts == [("form", request)]
    assert await outcome(here, request) is None


@pytest.mark.parametrize("kind", ["show", "form"])
async def test_looks_show_the_request_as_it_is_now(here: Stage, kind: str) -> None:
    request = await asked(here)
    look = acted(kind, "E1", post=CARD, place=None, reply={"user": "U1", "request": request})
    await here.receive(look)
    await here.settled("E1", f"{kind}:opened")
    assert here.world.talk.acts == [(kind, request)]
    await here.receive(
        acted(kind, "E2", post="talk:T1:C1:6.6", reply={"user": "U1", "request": request})
    )
    assert (await here.settled("E2", "forged-answer")).said == NOT_HERE
    await here.receive(pressed(request, event="E3"))
    await here.settled("E3", "decided")
    await here.receive(replace(look, event_id="E4", keys=("talk:E4",)))
    kept = await here.settled("E4", "show:opened" if kind == "show" else "no-longer-needed")
    assert kept.said == (None if kind == "show" else NOT_NEEDED)


async def test_an_act_that_has_to_wait_is_done_later(here: Stage) -> None:
    here.world.talk.later = [Millis(here.time.now() + 2000)]
    await here.receive(acted("home", "E1"))
    await here.settled("E1", "home:done")
    assert here.world.talk.later == []
    assert here.world.talk.acts == [("home", None)]


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3)])
async def test_an_act_that_fails_is_tried_again_and_stops_no_other(
    here: Stage, error: BaseException
) -> None:
    here.world.talk.broken = error
    await here.receive(acted("revoked", "E1"))
    request = await asked(here)
    await here.receive(pressed(request, event="E2"))
    await here.settled("E2", "decided")
    assert (await here.verdict("E1")).rule == "revoked:kept"
    here.world.talk.broken = None
    await here.settled("E1", "revoked:done")
    assert here.world.talk.acts == [("revoked", None)]


# -- over restarts -----------------------------------------------------------------------------------------
async def test_a_click_after_a_restart_counts_and_a_click_before_one_is_not_lost(
    tmp_path: Path,
) -> None:
    """hermes-agent PR#100408."""
    url, world = f"sqlite:///{tmp_path / 'a.db'}", World()
    async with stage(url, world=world) as first:
        one = await asked(first)
        await first.receive(pressed(one, event="E1"))  # acknowledged, and not acted on
    async with stage(url, world=world) as second:
        await second.settled("E1", "decided")
        await second.ended(TURN)
        await second.receive(reply_to("1.1", "refund 1043", ts="2.1"))
        two = await second.parked()
        await second.show(f"card:{two}", "card-2")
    async with stage(url, world=world) as third:
        await third.receive(pressed(two, event="E2", shown="card-2"))
        await third.settled("E2", "decided")
        await third.ended("talk:T1:C1:2.1")
    assert world.refunds == ["1042", "1043"]
    assert world.talk.said == []


async def test_two_workers_act_on_a_click_once(here: Stage) -> None:
    request = await asked(here)
    for number in range(10):
        await here.receive(pressed(request, True, LEAD, f"E{number}"))
    other = Inbox(
        runtime=here.runtime,
        agent="june",
        channels={"talk": here.world.talk},
        owner="there",
        waits=here.time,
    )
    here.workers.append(here.group.create_task(other.run()))
    here.workers.append(here.group.create_task(here.inbox.run()))
    for number in range(10):
        await here.settled(f"E{number}", "decided")
    await here.ended(TURN)
    assert here.world.refunds == ["1042"]
    assert here.world.talk.said == []


async def test_a_worker_that_stops_hands_over_what_it_was_about(here: Stage) -> None:
    here.world.talk.hangs = True
    await here.receive(acted("home", "E1"))
    here.work()

    async def begun() -> bool:
        return here.world.talk.begun == 1

    await until(begun)
    await here.rest()
    here.world.talk.hangs = False
    await here.settled("E1", "home:done")
    assert (here.world.talk.begun, len(here.world.talk.acts)) == (2, 1)


async def test_an_act_that_never_ends_is_cut_off_and_tried_again(here: Stage) -> None:
    here.world.talk.hangs = True
    await here.receive(acted("home", "E1"))
    here.work()

    async def again() -> bool:
        return here.world.talk.begun == 2

    await until(again)


async def test_a_reason_and_who_reach_the_model(here: Stage) -> None:
    request = await asked(here)
    denial = pressed(request, False, LEAD, "E1", reason="too old")
    await here.receive(replace(denial, by=replace(person(LEAD), name="Lea")))
    await here.settled("E1", "decided")
    found = await here.store.find_request(request)
    assert found is not None
    assert (found.request.outcome, found.request.by, found.request.reason) == (
        "denied",
        LEAD,
        "too old",
    )
