"""What a card shows, in every look that it has."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.protocol import Asked, Card
from channels.slack.cards.arguments import MOST_SHOWN, exact, whole
from channels.slack.cards.card import Rendered, gone, rendered
from channels.slack.cards.words import deciders
from channels.slack.emulator.blocks.text import links, mentions
from channels.slack.parsing.clicks import APPROVE, DENY, PICK, REASON, SHOW
from channels.slack.settings import read_options
from gateway.engine.kinds import Json, JsonObject
from tests.unit.slack.cards.samples import (
    ADA,
    BOB,
    HOSTILE,
    NOW,
    OPTIONS,
    REQUEST,
    by,
    card,
    fits,
    pings,
    read,
)
from tests.unit.slack.words.oracle import DIRECTIONS, elements

LOOKS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("open", {}, ["for @support-leads to decide"]),
    ("open, with a deadline", {"expires_at": NOW}, ["until 2023-11-14 22:13 UTC"]),
    (
        "one of two",
        {"quorum": 2, "answerers": {"policy": "refunds", "quorum": 2}, "votes": (by(ADA),)},
        ["1 of 2", "approved by <@U1>", "for 2 of @support-leads to decide"],
    ),
    (
        "running",
        {"outcome": "approved", "decided": by(ADA), "call": "runs"},
        ["Approved by <@U1> · 2023-11-14 22:13 UTC · running"],
    ),
    ("done", {"outcome": "approved", "decided": by(ADA), "call": "done"}, ["· done"]),
    ("failed", {"outcome": "approved", "decided": by(ADA), "call": "failed"}, ["· failed"]),
    (
        "dropped",
        {"outcome": "approved", "decided": by(ADA), "call": "dropped", "why_dropped": "replaced"},
        ["Approved by <@U1>", "not carried out: a newer message took its place"],
    ),
    (
        "both of two",
        {
            "quorum": 2,
            "votes": (by(ADA), by(BOB)),
            "outcome": "approved",
            "decided": by(f"{BOB} via api:ci"),
            "call": "done",
        },
        ["Approved by <@U1>, <@U2> ·"],
    ),
    (
        "denied",
        {"outcome": "denied", "decided": by(ADA, False, "already refunded"), "call": "done"},
        ["Denied by <@U1>", "already refunded"],
    ),
    (
        "answered",
        {
            "schema": {"type": "string"},
            "outcome": "answered",
            "decided": by(ADA, "blue"),
            "call": "runs",
        },
        ["Answered by <@U1>", "blue", "running"],
    ),
    (
        "expired",
        {"outcome": "expired", "decided": by("timer", None), "call": "failed"},
        ["Expired · 2023-11-14 22:13 UTC · nobody decided in time"],
    ),
    (
        "cancelled",
        {
            "outcome": "cancelled",
            "decided": by("", None),
            "call": "dropped",
            "why_dropped": "reset",
        },
        ["No longer needed", "the conversation was reset"],
    ),
]


@pytest.mark.parametrize(
    ("fields", "said"), [look[1:] for look in LOOKS], ids=[look[0] for look in LOOKS]
)
def test_every_look(fields: dict[str, Any], said: list[str]) -> None:
    shown = card(**fields)
    made = rendered(shown, OPTIONS, "T1", 3)
    fits(made.blocks)
    words = read(made.blocks)
    for part in [shown.prompt, '"amount": "42.50"', "refund · 0123456789ab", *said]:
        assert part in words
    open_now = shown.outcome is None
    assert any(block["type"] == "actions" for block in made.blocks) == open_now
    assert ("timer" in words, "api:" in words) == (False, said[0].count("via") > 0)


def controls(made: list[JsonObject]) -> list[JsonObject]:
    return [
        one
        for block in made
        if block["type"] == "actions"
        for one in elements(block)
        if "action_id" in one
    ]


def test_controls_say_what_the_parser_reads() -> None:
    made = rendered(card(), OPTIONS, "T1", 3).blocks
    found = controls(made)
    assert [one["action_id"] for one in found] == [APPROVE, DENY, SHOW, "june.more"]
    assert [one.get("value") for one in found] == [REQUEST, REQUEST, REQUEST, None]
    assert found[3]["options"] == [
        {
            "text": {"type": "plain_text", "text": "Deny with a reason", "emoji": False},
            "value": REASON,
        }
    ]
    assert [block["block_id"] for block in made if "block_id" in block] == [f"june.{REQUEST}.30"]


def test_ids_are_new_with_each_version_and_the_hash_is_not() -> None:
    one, two = rendered(card(), OPTIONS, "T1", 1), rendered(card(), OPTIONS, "T1", 2)
    assert one.hash == two.hash
    assert one.blocks != two.blocks
    assert rendered(card(outcome="denied", decided=by(ADA)), OPTIONS, "T1", 2).hash != two.hash
    assert gone().hash != one.hash


def test_few_choices_are_buttons_more_a_select() -> None:
    few = controls(rendered(card(schema={"enum": ["red", 1, None]}), OPTIONS, "T1", 1).blocks)
    assert [one["action_id"] for one in few] == [f"{PICK}.0", f"{PICK}.1", f"{PICK}.2", SHOW]
    assert [one["text"] for one in few[:3]] == [
        {"type": "plain_text", "text": words, "emoji": False} for words in ("red", "1", "null")
    ]
    many = rendered(card(schema={"enum": [f"order {n}" for n in range(100)]}), OPTIONS, "T1", 1)
    fits(many.blocks)
    select = controls(many.blocks)[0]
    assert select["action_id"] == PICK
    assert [one["value"] for one in elements(select["options"]) if "value" in one] == [
        str(n) for n in range(100)
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": "number"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {"enum": list(range(101))},
        {"enum": []},
        {},
    ],
)
def test_everything_else_opens_a_form(schema: JsonObject) -> None:
    made = rendered(card(schema=schema), OPTIONS, "T1", 1)
    fits(made.blocks)
    assert [one["action_id"] for one in controls(made.blocks)] == ["june.form", SHOW]


def test_choices_that_read_the_same_are_numbered() -> None:
    schema: JsonObject = {"enum": ["1", 1, "x" * 200, "x" * 201, "\u200b", ""]}
    made = rendered(card(schema={"enum": schema["enum"]}), OPTIONS, "T1", 1)
    fits(made.blocks)
    (select,) = [one for one in controls(made.blocks) if one["action_id"] == PICK]
    names = [
        str(one["text"]) for one in elements(select["options"]) if one.get("type") == "plain_text"
    ]
    assert len(set(names)) == 6
    assert names[0].startswith("1. ")


# -- nothing is cut without a word ---------------------------------------------------------------------------
def test_long_arguments_say_how_much_is_missing() -> None:
    arguments: JsonObject = {"note": "x" * 300_000}
    made = rendered(card(arguments=arguments), OPTIONS, "T1", 1)
    fits(made.blocks)
    hidden = len(exact(arguments)) - MOST_SHOWN
    assert f"… {hidden:,} more characters" in read(made.blocks)
    closed = rendered(
        card(arguments=arguments, outcome="approved", decided=by(ADA)), OPTIONS, "T1", 1
    )
    assert [one["action_id"] for one in controls(closed.blocks)] == [SHOW]
    assert len(json.dumps(made.blocks)) < 20_000


def test_long_words_of_people_say_so_too() -> None:
    made = rendered(card(prompt="p" * 5_000), OPTIONS, "T1", 1)
    fits(made.blocks)
    assert "… 2,200 more characters" in read(made.blocks)
    answer = card(
        schema={"type": "string"}, outcome="answered", decided=by(ADA, "a" * 3_000, "r" * 2_000)
    )
    closed = rendered(answer, OPTIONS, "T1", 1)
    fits(closed.blocks)
    assert "… 200 more characters" in read(closed.blocks)
    assert "r" * 2_000 in read(closed.blocks)
    assert [one["action_id"] for one in controls(closed.blocks)] == [SHOW]


@pytest.mark.parametrize("outcome", [None, "answered"])
def test_all_that_is_long_at_once_still_fits_into_a_message(outcome: str | None) -> None:
    arguments: JsonObject = {"note": "x" * 300_000}
    full = card(
        prompt="p" * 5_000,
        arguments=arguments,
        asked=asked("w" * 1_000),
        schema={"type": "string"},
        outcome=outcome,
        decided=by(ADA, "a" * 3_000, "r" * 2_000) if outcome else None,
    )
    made = rendered(full, OPTIONS, "T1", 1)
    fits(made.blocks)
    told = read(made.blocks)
    assert len(told) < 12_500
    shown = sum(map(len, re.findall("x{9,}", told)))
    assert shown > 2_000
    hidden = 300_000 - shown + len('"\n}')
    assert f"… {hidden:,} more characters" in told
    assert ("Arguments", exact(arguments)) in whole(full)


def asked(words: str, **fields: Any) -> Asked:
    made: dict[str, Any] = {
        "source": "email",
        "speaker": "email:ada@cust.example",
        "name": "Ada",
        "level": "domain",
        "known": "cust.example vouches for the message, and not for the person who wrote it.",
        "reasons": ("cust.example isn't listed.",),
        "words": words,
    }
    return Asked(**{**made, **fields})


def test_who_asked_elsewhere_is_quoted() -> None:
    words, since = "please refund it\nApproved by lead · done", "lead@shop.example has taken over."
    made = rendered(card(asked=asked(words, since=since)), OPTIONS, "T1", 1)
    fits(made.blocks)
    told = read(made.blocks)
    head = (
        "Asked for by email from ada@cust.example · cust.example vouches for the message, and not"
    )
    assert head in told
    assert f"isn't listed. {since}" in told
    quotes = [
        one
        for block in made.blocks
        for one in cast("list[JsonObject]", block.get("elements") or [])
        if one["type"] == "rich_text_quote"
    ]
    assert [one["elements"] for one in quotes] == [[{"type": "text", "text": words}]]
    assert not any("Approved by lead" in str(one) for one in made.blocks if one != _holding(made))


def _holding(made: Rendered) -> JsonObject:
    return next(one for one in made.blocks if "rich_text_quote" in str(one))


def test_long_words_of_who_asked_are_cut_and_stand_among_all_arguments() -> None:
    long = card(
        asked=asked("w" * 1_000, hidden=50, reasons=("r" * 80,) * 8),
        prompt="p" * 5_000,
        arguments={"note": "x" * 300_000},
    )
    made = rendered(long, OPTIONS, "T1", 1)
    fits(made.blocks)
    assert "… 350 more characters" in read(made.blocks)
    assert ("What was written", "w" * 1_000) in whole(long)


# -- nobody is disturbed, nothing passes for something else ---------------------------------------------------
def hostile_cards(words: str) -> list[Card]:
    told: dict[str, Any] = {
        "prompt": words,
        "arguments": {words: words},
        "tool": words,
        "schema": {"enum": [words, f"{words}."]},
    }
    return [
        card(**told),
        card(**{**told, "schema": {"type": "boolean"}, "answerers": {"policy": words}}),
        card(**told, outcome="answered", decided=by(words, words, words)),
        card(**told, outcome="denied", decided=by(f"email:{words}", False, words)),
        card(**told, quorum=2, votes=(by(words, words),)),
        card(
            **told,
            asked=asked(
                words, speaker=words, source=words, known=words, reasons=(words,), since=words
            ),
        ),
    ]


@pytest.mark.parametrize("which", range(6))
def test_hostile_words_ping_nobody(which: int) -> None:
    made = rendered(hostile_cards(HOSTILE)[which], OPTIONS, "T1", 1)
    fits(made.blocks)
    assert pings(made.blocks) == []
    assert list(mentions(made.text)) == []
    assert "<" not in made.text
    assert links("", made.blocks) == []
    assert "evil.example" in read(made.blocks), "it is shown, as words"
    assert all("\u202e" not in str(one.get("text")) for one in elements([*made.blocks]))


@given(st.text(max_size=60))
def test_any_words_fit_and_ping_nobody(words: str) -> None:
    for one in hostile_cards(words):
        made = rendered(one, OPTIONS, "T1", 1)
        fits(made.blocks)
        assert pings(made.blocks) == []


def test_only_people_of_the_installation_are_shown_as_people() -> None:
    def who(identity: str) -> list[tuple[str, str]]:
        decided = card(outcome="approved", decided=by(identity), call="done")
        return pings(rendered(decided, OPTIONS, "T1", 1).blocks)

    assert who(ADA) == [("user", "U1")]
    assert who(f"{ADA} via api:helpdesk") == [("user", "U1")]
    assert who("slack:T2:U1") == who("email:ada@shop.example") == who("slack:T1:nobody") == []


# -- who may decide ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answerers", "said"),
    [
        ({"policy": "refunds"}, "@support-leads"),
        ({"policy": "board"}, "the policy board"),
        (
            {"policy": "refunds", "quorum": 2, "not_requester": True},
            "@support-leads, but not whoever asked",
        ),
        ({"user": ADA}, "the person who was asked"),
        ({"anyone": True}, "anyone"),
        ({"policy": "oncall"}, "the policy oncall"),
    ],
)
def test_who_may_decide_in_words(answerers: JsonObject, said: str) -> None:
    options = read_options(policy_words={"refunds": "@support-leads", "oncall": "<!subteam^S1>"})
    assert deciders(answerers, options) == said


def test_a_group_is_notified_only_where_the_operator_wrote_its_token() -> None:
    options = read_options(policy_words={"refunds": "<!subteam^S1>"})
    assert pings(rendered(card(), options, "T1", 1).blocks) == [("group", "S1")]
    for words in ("SUPPORT", "@SUPPORT", "U1"):
        assert (
            pings(rendered(card(), read_options(policy_words={"refunds": words}), "T1", 1).blocks)
            == []
        )


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_arguments_read_back_as_what_they_are(value: Json) -> None:
    spelled = exact(value)
    assert json.loads(spelled) == value
    assert not DIRECTIONS.search(spelled)
    assert "\u200b" not in spelled
