"""Every event ends with a stored word and the rule behind it, and opens a turn or nothing at all."""

from __future__ import annotations

import pytest

from channels.contract import Ignored, Inbound, Parsed, Word
from gateway.engine.struct import replace
from gateway.intake import words
from tests.unit.intake.events import STRANGER, person, reply_to, said
from tests.unit.intake.world import Stage, until


def ignored(word: Word, rule: str) -> Ignored:
    return Ignored(
        event_id="Ev1.1", verdict=word, rule=rule, reason="because", place="talk:T1:C1:1.1"
    )


BOT = replace(said(), author="bot", pair="talk:T1:C1:1.1:B1")

REFUSED: list[tuple[Parsed, str, str]] = [
    (replace(said(), addressed="none"), "not_addressed", "not-mentioned"),
    (reply_to("1.1", ts="1.2", event="Ev1.1"), "not_addressed", "not-taking-part"),
    (
        replace(reply_to("1.1", event="Ev1.1"), root_is_ours=True, follow="mention"),
        "not_addressed",
        "channel-rule-mention",
    ),
    (replace(said(), author="self"), "own_echo", "own-post"),
    (replace(BOT, addressed="thread"), "other_bot", "unmentioned"),
    (ignored("own_echo", "own-post"), "own_echo", "own-post"),
    (ignored("other_bot", "not-listed"), "other_bot", "not-listed"),
    (ignored("automated_mail", "auto-submitted"), "automated_mail", "auto-submitted"),
    (ignored("policy", "external"), "policy", "external"),
    (ignored("unsupported", "event-type"), "unsupported", "event-type"),
]


@pytest.mark.parametrize(("parsed", "word", "rule"), REFUSED)
async def test_what_starts_nothing_says_why(
    here: Stage, parsed: Parsed, word: str, rule: str
) -> None:
    told = await here.receive(parsed)
    assert (told.word, told.rule, told.turn_id) == (word, rule, None)
    kept = await here.verdict("Ev1.1")
    assert (kept.verdict, kept.rule, kept.turn_id, kept.copies) == (word, rule, None, 1)
    assert kept.place == "talk:T1:C1:1.1"
    assert await here.turns() == []
    assert here.woken == []


@pytest.mark.parametrize("how", ["mention", "direct", "agent"])
async def test_what_is_said_to_us_opens_a_turn_whose_answer_has_a_place(
    here: Stage, how: str
) -> None:
    told = await here.receive(said(addressed=how, fetch={"thread_ts": "1.0"}))
    assert (told.word, told.rule, told.turn_id) == ("accepted", how, "talk:T1:C1:1.1")
    kept = await here.verdict("Ev1.1")
    assert (kept.verdict, kept.session, kept.turn_id) == (
        "accepted",
        "talk:T1:C1:1.1",
        "talk:T1:C1:1.1",
    )
    assert kept.speaker == "talk:T1:U1"
    (view,) = await here.store.ledger.deliveries(turn_id="talk:T1:C1:1.1")
    assert (view.part, view.lane, view.source) == ("reply", "talk:T1:C1:1.1", "talk")
    assert view.target == said().target
    turn = await here.turn("talk:T1:C1:1.1")
    assert turn is not None
    assert turn.delivers
    assert '"fetch":{"thread_ts":"1.0"}' in turn.body


async def test_a_thread_that_we_take_part_in_is_followed_or_not_by_the_channels_rule(
    here: Stage,
) -> None:
    await here.receive(said())
    followed = await here.receive(reply_to("1.1", ts="2.1"))
    assert (followed.word, followed.rule) == ("accepted", "thread")
    strict = await here.receive(reply_to("1.1", ts="2.2", follow="mention"))
    assert (strict.word, strict.rule) == ("not_addressed", "channel-rule-mention")
    elsewhere = await here.receive(reply_to("7.7", ts="2.3"))
    assert (elsewhere.word, elsewhere.rule) == ("not_addressed", "not-taking-part")
    turns = {turn for turn, _ in await here.turns()}
    assert turns == {"talk:T1:C1:1.1", "talk:T1:C1:2.1"}
    assert await here.turn("talk:T1:C1:2.1") is not None, "both in the thread's session"


async def test_a_message_behind_an_open_request_is_queued_and_its_author_told_once(
    here: Stage,
) -> None:
    await here.receive(said("refund 1042"))
    await here.parked()
    told = await here.receive(reply_to("1.1", "and 1043?", ts="2.1"))
    assert (told.word, told.rule, told.said) == ("queued", "thread", words.QUEUED)
    assert (await here.verdict("Ev2.1")).said == words.QUEUED
    assert await here.parts("talk:T1:C1:2.1") == ["note:queued", "reply"]
    (note,) = [
        one
        for one in await here.store.ledger.deliveries(turn_id="talk:T1:C1:2.1")
        if one.part == "note:queued"
    ]
    assert note.lane == "talk:T1:C1:1.1#note"
    assert "note:queued" not in await here.parts("talk:T1:C1:1.1")


async def test_what_is_to_be_said_is_said_once_and_after_the_verdict(here: Stage) -> None:
    event = replace(ignored("policy", "external"), say="Not here.", reply={"user": "U9"})
    for _ in range(2):
        assert (await here.receive(event)).said == "Not here."
    assert here.world.talk.said == []
    kept = await here.verdict("Ev1.1")
    assert (kept.said, kept.copies) == ("Not here.", 2)

    async def told() -> bool:
        return bool(here.world.talk.said)

    here.work()
    await until(told)
    await here.receive(event)
    await here.time.sleep(3)
    assert here.world.talk.said == [("U9", "Not here.")]


async def test_a_message_that_no_turn_can_take_is_refused_in_words(here: Stage) -> None:
    told = await here.receive(said("x" * (1 << 20)))
    assert (told.word, told.rule, told.said) == ("policy", "too-large", words.TOO_LARGE)

    async def heard() -> bool:
        return here.world.talk.said == [("U1", words.TOO_LARGE)]

    here.work()
    await until(heard)
    assert await here.turns() == []
    again = await here.receive(said("x" * (1 << 20), event="EvOther"))
    assert (again.word, again.rule, again.said) == ("policy", "too-large", None)
    await here.time.sleep(3)
    assert await heard(), "another event of the same post says nothing again"


async def test_the_session_is_the_one_that_the_place_is_bound_to(here: Stage) -> None:
    """A reply below a digest goes on in the digest's session."""
    await here.receive(said(place=replace(said().place, session="cron:digest:monday")))
    assert await here.turn("talk:T1:C1:1.1", "cron:digest:monday") is not None
    await here.receive(reply_to("1.1", ts="2.1"))
    assert await here.turn("talk:T1:C1:2.1", "cron:digest:monday") is not None


async def test_who_speaks_is_who_the_platform_says(here: Stage) -> None:
    stranger = person(STRANGER, "sender")
    inbound: Inbound = said(speaker=stranger, author="external")
    await here.receive(inbound)
    turn = await here.turn("talk:T1:C1:1.1")
    assert turn is not None
    assert turn.speaker == STRANGER
