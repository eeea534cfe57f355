"""What comes back under a token of ours was made by us, and nothing else verifies."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.writing import tokens
from gateway.engine.errors import ConfigError

OLD, NEW, OTHER = b"o" * 32, b"n" * 32, b"x" * 32
KEYS = tokens.Keys([NEW, OLD])
BOX, CUSTOMER = "support@shop.example", "customer@example.com"
CONVERSATION = tokens.conversation_id(KEYS, "<opening@example.com>")
SESSION = f"email:support:{CONVERSATION}"


def an_id(keys: tokens.Keys = KEYS, part: int = 0, domain: str = "shop.example") -> str:
    return tokens.message_id(keys, SESSION, "t1", part, domain)


def test_a_conversation_has_one_id_that_only_the_key_makes() -> None:
    assert tokens.is_conversation(CONVERSATION)
    assert tokens.conversation_id(KEYS, "<opening@example.com>") == CONVERSATION
    assert tokens.conversation_id(KEYS, "<other@example.com>") != CONVERSATION
    assert tokens.conversation_id(tokens.Keys([OTHER]), "<opening@example.com>") != CONVERSATION


def test_the_same_part_has_the_same_id_and_another_another() -> None:
    assert an_id() == an_id()
    made = {
        an_id(),
        an_id(part=1),
        tokens.message_id(KEYS, SESSION, "t2", 0, "shop.example"),
        tokens.message_id(KEYS, f"email:sales:{CONVERSATION}", "t1", 0, "shop.example"),
    }
    assert len(made) == 4


@pytest.mark.parametrize(
    ("domain", "right"),
    [
        ("shop.example", "shop.example"),
        ("Mail.SHOP.example", "mail.shop.example"),
        ("desk.a-rather-long-company.example", "example"),
        ("mail.support.company.example", "company.example"),
        ("x" * 30, "june.invalid"),
    ],
)
def test_an_id_is_short_enough_to_be_echoed(domain: str, right: str) -> None:
    made = an_id(domain=domain)
    assert len(made) <= 60
    assert made.endswith(f"@{right}>")
    assert tokens.original(KEYS, made) == tokens.Ours(CONVERSATION, made)


def test_the_twin_names_the_mail_it_belongs_to() -> None:
    twin = tokens.twin(KEYS, an_id())
    assert twin != an_id()
    assert len(twin) <= 60
    assert tokens.original(KEYS, twin) == tokens.Ours(CONVERSATION, an_id())
    assert tokens.original(KEYS, an_id()) == tokens.Ours(CONVERSATION, an_id())
    with pytest.raises(ValueError, match="twin"):
        tokens.twin(KEYS, twin)


def test_an_older_key_still_reads_what_it_wrote() -> None:
    before = tokens.Keys([OLD])
    written = an_id(before)
    twin = tokens.twin(before, written)
    reply = tokens.reply_to(before, BOX, CONVERSATION, CUSTOMER)
    bounce = tokens.bounce_address(before, BOX, CONVERSATION, 7)
    assert written != an_id(KEYS)
    assert tokens.original(KEYS, twin) == tokens.Ours(CONVERSATION, written)
    assert tokens.twin(KEYS, written) == twin
    assert tokens.holds(KEYS, reply, CUSTOMER)
    assert tokens.bounced(KEYS, bounce) == (CONVERSATION, 7)
    after = tokens.Keys([NEW])
    assert tokens.original(after, written) is None
    assert tokens.threads(after, reply) is None
    assert not tokens.holds(after, reply, CUSTOMER)
    assert tokens.bounced(after, bounce) is None


def test_case_makes_no_difference() -> None:
    reply = tokens.reply_to(KEYS, BOX, CONVERSATION, "Customer@Example.com")
    assert tokens.original(KEYS, an_id().upper()) == tokens.Ours(CONVERSATION, an_id())
    assert tokens.threads(KEYS, reply.upper()) == CONVERSATION
    assert tokens.holds(KEYS, reply.title(), CUSTOMER)
    assert tokens.bounced(KEYS, tokens.bounce_address(KEYS, BOX, CONVERSATION, 99).upper())


def test_a_token_is_its_recipients_alone() -> None:
    reply = tokens.reply_to(KEYS, BOX, CONVERSATION, CUSTOMER)
    assert not tokens.holds(KEYS, reply, "eve@example.com")
    assert tokens.holder(KEYS, reply, ["ada@example.com", CUSTOMER]) == CUSTOMER
    assert tokens.holder(KEYS, reply, ["ada@example.com"]) is None


def test_one_purpose_doesnt_serve_another() -> None:
    reply = tokens.reply_to(KEYS, BOX, CONVERSATION, "a")
    bounce = tokens.bounce_address(KEYS, BOX, CONVERSATION, 0)
    assert tokens.bounced(KEYS, reply.replace("@", ".a@")) is None
    assert tokens.threads(KEYS, bounce) is None
    assert not tokens.holds(KEYS, bounce.replace(".a@", "@"), "a")


@pytest.mark.parametrize("delivery", [0, 31, 32, 2**31, 2**40])
def test_a_bounce_names_its_delivery(delivery: int) -> None:
    made = tokens.bounce_address(KEYS, BOX, CONVERSATION, delivery)
    assert len(made.partition("@")[0]) <= 64
    assert tokens.bounced(KEYS, made) == (CONVERSATION, delivery)


@pytest.mark.parametrize(
    "address",
    ["", "@", "support@shop.example", "support+@shop.example", "a+b.c.d@x", "+" * 300, "é+a@b.c"],
)
def test_other_addresses_are_nobodys(address: str) -> None:
    assert tokens.threads(KEYS, address) is None
    assert not tokens.holds(KEYS, address, CUSTOMER)
    assert tokens.bounced(KEYS, address) is None


@pytest.mark.parametrize(
    "given", ["", "<>", "<a@b>", "<[a@b]>", "<" * 60, "no@brackets", "<" + "a" * 36 + "@b c>"]
)
def test_other_ids_are_not_ours(given: str) -> None:
    assert tokens.original(KEYS, given) is None


# Letters that a Message-ID or an address may hold but for the plus, and some that turn into ASCII in lower case.
_LETTERS = string.ascii_lowercase + string.digits + ".-_@<> \x00\nKſıé"


@settings(max_examples=100)
@given(data=st.data())
def test_no_edit_of_a_token_verifies(data: st.DataObject) -> None:
    made = {
        "id": an_id(),
        "twin": tokens.twin(KEYS, an_id()),
        "reply": tokens.reply_to(KEYS, BOX, CONVERSATION, CUSTOMER),
        "bounce": tokens.bounce_address(KEYS, BOX, CONVERSATION, 4711),
    }
    kind = data.draw(st.sampled_from(sorted(made)))
    token = made[kind]
    # A mailbox may have aliases: what is signed of an address is what stands behind its plus.
    first, last = (
        (1, len(token) - 1) if kind in {"id", "twin"} else (token.index("+") + 1, token.index("@"))
    )
    at = data.draw(st.integers(first, last - 1))
    put = data.draw(st.text(_LETTERS, max_size=2))
    taken = data.draw(st.integers(0, 2))
    edited = token[:at] + put + token[min(at + taken, last) :]
    if edited.lower() == token and edited.isascii():
        return
    assert tokens.original(KEYS, edited) is None
    assert not tokens.holds(KEYS, edited, CUSTOMER)
    assert tokens.bounced(KEYS, edited) is None


def test_a_mailbox_has_to_leave_room() -> None:
    longest = "a" * tokens.MOST_MAILBOX + "@shop.example"
    assert tokens.bounced(KEYS, tokens.bounce_address(KEYS, longest, CONVERSATION, 2**40))
    with pytest.raises(ConfigError, match="mailbox"):
        tokens.reply_to(KEYS, "a" * 40 + "@shop.example", CONVERSATION, CUSTOMER)
    with pytest.raises(ConfigError, match="mailbox"):
        tokens.reply_to(KEYS, "a b@shop.example", CONVERSATION, CUSTOMER)


def test_what_isnt_a_conversation_gets_no_token() -> None:
    with pytest.raises(ValueError, match="conversation"):
        tokens.message_id(KEYS, "email:support:short", "t1", 0, "shop.example")
    with pytest.raises(ValueError, match="conversation"):
        tokens.reply_to(KEYS, BOX, "a.b", CUSTOMER)
    with pytest.raises(ValueError, match="host"):
        an_id(domain="shop example")
    with pytest.raises(ValueError, match="number"):
        tokens.bounce_address(KEYS, BOX, CONVERSATION, -1)


@pytest.mark.parametrize("secrets", [[], [b"short"], [NEW, b""]])
def test_nothing_is_signed_with_a_weak_key(secrets: list[bytes]) -> None:
    with pytest.raises(ConfigError, match="key"):
        tokens.Keys(secrets)


def test_our_mark_against_loops_is_signed() -> None:
    mark = tokens.loop_mark(KEYS, CONVERSATION)
    assert tokens.is_loop_mark(KEYS, f" {mark} ")
    assert not tokens.is_loop_mark(tokens.Keys([OTHER]), mark)
    for odd in ("", "a.b.c", mark[:-1], f"9{mark[1:]}", f"{mark}é", mark.upper()):
        assert not tokens.is_loop_mark(KEYS, odd)
