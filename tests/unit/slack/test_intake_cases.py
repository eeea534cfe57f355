"""Reports of other gateways about what came in: dropped, doubled, misread. Each is a test here as far
as reading decides it; claims in the store are what the keys are for."""

from __future__ import annotations

import pytest

from channels.contract import Ignored, Inbound
from channels.slack import policy
from channels.slack.parse import parse, read
from channels.slack.verify import Verified
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace
from tests.unit.slack.payloads import (
    ME,
    RULES,
    altered,
    answer,
    envelope,
    event,
    ignored,
    inbound,
    opened,
    sample,
    told,
    wire,
)


def test_1_a_first_delivery_that_is_a_retry_is_a_message_like_any_other() -> None:
    """agno-agi/agno PR#10073. No header is even looked at: reading knows the body and its type."""
    body, kind = wire("event", sample("event.message_mention"))
    once, again = read(Verified(body), kind), read(Verified(body), kind)
    assert once == again
    assert inbound(told("event.message_mention")).keys[0] == "slack:event:Ev001"


def test_4_a_socket_envelope_with_a_retry_number_is_a_message_like_any_other() -> None:
    """vercel/chat PR#667."""
    retried = {**sample("socket.events_api"), "retry_attempt": 3, "retry_reason": "timeout"}
    first = parse(opened("socket", sample("socket.events_api")), ME, RULES)
    assert parse(opened("socket", retried), ME, RULES) == first


def test_5_both_copies_of_a_mention_are_one_post_and_two_events() -> None:
    """vercel/chat PR#189."""
    one, two = inbound(told("event.app_mention")), inbound(told("event.message_mention"))
    assert one.turn_id == two.turn_id
    assert one.place == two.place
    assert one.speaker.id == two.speaker.id
    assert one.text == two.text
    assert (one.addressed, two.addressed) == ("mention", "mention")
    assert set(one.keys) & set(two.keys) == {*two.keys[1:]}
    assert one.keys[0] != two.keys[0]


def test_7_a_late_replay_is_answered_in_its_thread_or_not_at_all() -> None:
    """openclaw#83521. Every message has a thread to answer in; without one it is none."""
    for name in ("event.message_mention", "event.message_reply", "event.message_im"):
        found = inbound(told(name))
        assert found.target["thread_ts"]
        assert found.target["channel"]
    assert isinstance(event(altered("event.message_mention", "ts")), Ignored)


def test_11_every_event_ends_with_a_word_and_a_reason() -> None:
    """openclaw#131150: an unmentioned post, another bot, an unknown subtype."""
    found = [
        ignored(told("event.message")),
        ignored(told("event.message_bot")),
        ignored(event(altered("event.message", subtype="brand_new"))),
    ]
    assert [(one.verdict, one.rule) for one in found] == [
        ("not_addressed", "not-mentioned"),
        ("other_bot", "not-listed"),
        ("not_addressed", "subtype"),
    ]
    assert all(one.reason for one in found)


@pytest.mark.parametrize(
    "text",
    ["jane@bot.io", "https://acme.example/@bot", "```\n@scope/pkg\n```", "june@acme.example"],
)
def test_23_an_address_or_a_package_wakes_nobody(text: str) -> None:
    """vercel/chat PR#394, #618, #629, #761."""
    payload = altered("event.message_mention", "blocks", text=text)
    assert ignored(event(payload)).rule == "not-mentioned"


def test_27_the_thread_goes_with_the_message_to_where_it_is_answered() -> None:
    """hermes-agent#9394."""
    found = inbound(told("event.message_reply"))
    assert found.target["thread_ts"] == "1700000000.000100"
    assert answer(told("interactive.approve")).reply["thread_ts"] == "1700000000.000100"


def test_42_each_card_answers_its_own_request() -> None:
    """vercel/eve#2471: five cards answered in odd order."""
    first = sample("interactive.approve")["actions"]
    assert isinstance(first, list)
    assert isinstance(first[0], dict)
    for n in (3, 1, 5, 2, 4):
        request = f"req_{n}"
        press = {**first[0], "value": request, "block_id": f"june.{request}.1"}
        found = parse(
            opened("interactive", {**sample("interactive.approve"), "actions": [press]}), ME, RULES
        )
        assert answer(found).request == request


def test_52_our_own_echo_is_known_in_direct_messages_too() -> None:
    """hermes-agent PR#14117, #34593."""
    payload = altered("event.message_own", channel="D1", channel_type="im", text="<@UJUNE> thanks!")
    assert ignored(event(payload)).verdict == "own_echo"


def test_52_a_bot_that_echoes_us_has_a_pair_to_be_counted_by() -> None:
    rules = policy.rules(bots=["B9"])
    found = inbound(told("event.message_bot", ME, rules))
    assert found.pair is not None
    assert found.pair.startswith(f"{found.place.key}:")
    assert inbound(told("event.message_mention", ME, rules)).pair is None


def test_55_one_channel_follows_threads_and_another_wants_the_name() -> None:
    """openclaw#64277 against #24760."""
    rules = policy.rules(follow={"C1": "mention", "*": "thread"})
    strict = inbound(told("event.message_reply", ME, rules))
    loose = inbound(event(altered("event.message_reply", channel="C2"), ME, rules))
    assert (strict.follow, loose.follow) == ("mention", "thread")
    assert strict.addressed == loose.addressed == "thread"


def test_79_a_workspace_that_isnt_connected_reaches_nothing() -> None:
    """Of growthbook PR#6931."""
    for me in (None, replace(ME, key="T2", team="T2")):
        found = ignored(told("event.message_mention", me))
        assert (found.verdict, found.rule) == ("policy", "unknown-installation")


def test_80_two_teams_with_the_same_ids_share_no_string() -> None:
    """vercel/chat PR#355, PR#724: same channel, user and timestamp, another installation."""
    payload: JsonObject = {
        **altered("event.message_mention", team="T2"),
        "team_id": "T2",
        "context_team_id": "T2",
        "authorizations": [{"team_id": "T2", "user_id": "UJUNE", "is_bot": True}],
    }
    other = parse(opened("event", payload), replace(ME, key="T2", team="T2"), RULES)
    one = told("event.message_mention")
    assert isinstance(one, Inbound)
    assert isinstance(other, Inbound)
    assert one.turn_id != other.turn_id
    assert one.place != other.place
    assert one.speaker.id != other.speaker.id
    assert set(one.keys) & set(other.keys) <= {one.keys[0]}


def test_an_unaddressed_copy_has_no_keys_to_claim() -> None:
    """Else a copy without the mention's mark could swallow the mention."""
    assert not hasattr(told("event.message"), "keys")
    assert envelope("event.message").event_id == ignored(told("event.message")).event_id
