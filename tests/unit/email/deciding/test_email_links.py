"""What a link may decide, and what has to come with an answer."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from channels.email.approve import (
    OPEN_FOR,
    barred,
    choices,
    foreign,
    nonce,
    nonce_holds,
    read_form,
)
from channels.email.deciding import letter, pages
from channels.email.deciding.facts import who_asked
from channels.email.deciding.links import PAGE, Link, brought_back, hashed
from channels.email.deciding.spelling import exact
from channels.email.render import bodies
from channels.email.writing.tokens import Keys
from channels.protocol import Asked, Card, Decider, TurnView
from gateway.engine.kinds import Effect, Json, JsonObject, Millis, Speaker
from gateway.engine.struct import replace

KEYS = Keys([b"a-key-for-tests-only-and-nothing-else"])
NOW = Millis(1_790_000_000_000)
URL = "https://june.shop.example"
FORM = "application/x-www-form-urlencoded"
REPORT = "Content-Type: multipart/report; boundary=b\n\n"
CARD = Card(
    request="req_1",
    turn_id="t1",
    name="note",
    tool="leave_note",
    prompt="May I write this down?",
    arguments={"text": "left with a neighbour"},
    schema={"type": "boolean"},
    answerers={"policy": "notes"},
    digest="d" * 64,
    quorum=1,
    votes=(),
    created_at=NOW,
    expires_at=None,
    outcome=None,
    decided=None,
    call="waits",
)


def changed(changes: dict[str, Any]) -> Card:
    return replace(CARD, **changes)


LINK = Link(turn_id="t1", request="req_1", digest="d" * 64, address="lead@shop.example", who="ada")


@pytest.mark.parametrize(
    ("changes", "effect", "said"),
    [
        ({}, "write", ""),
        ({}, "external", ""),
        ({"schema": {"enum": ["red", "blue"]}}, "write", ""),
        ({}, "money", "moves money"),
        ({}, None, "moves money"),
        ({"answerers": {"user": "email:lead@shop.example"}}, "write", "one person"),
        ({"answerers": {"user": "u", "policy": "notes"}}, "write", "one person"),
        ({"answerers": {"anyone": True}}, "write", "one person"),
        ({"answerers": {"policy": "refunds"}}, "write", "aren't made by a link"),
        ({"schema": {"type": "string"}}, "write", "more than a choice"),
        ({"arguments": {"text": "x" * 20_000}}, "write", "more to be seen"),
        ({"prompt": "x" * 20_000}, "write", "more to be seen"),
    ],
)
def test_a_link_decides_what_is_listed_and_nothing_else(
    changes: dict[str, object], effect: Effect | None, said: str
) -> None:
    why = barred(changed(changes), effect, {"notes"})
    assert (said in why) if said else why == ""


@pytest.mark.parametrize(
    ("schema", "labels"),
    [
        ({"type": "boolean"}, ["Approve", "Deny"]),
        ({"enum": ["red", "blue"]}, ["red", "blue"]),
        ({"enum": ["1", 1]}, ["1", "1"]),
        ({"enum": ["a\u202eb", " "]}, ['"a\\u202eb"', '" "']),
        ({"enum": ["only"]}, []),
        ({"enum": list(range(21))}, []),
        ({"type": "boolean", "const": True}, []),
        ({"type": "object"}, []),
    ],
)
def test_the_answers_can_be_told_apart(schema: JsonObject, labels: list[str]) -> None:
    made = [label for label, _ in choices(schema)]
    assert made == (labels if len(set(labels)) == len(labels) else [])


def test_a_nonce_holds_for_its_link_and_for_a_while() -> None:
    made = nonce(KEYS, "k1", "d1", NOW)
    assert nonce_holds(KEYS, made, "k1", "d1", NOW)
    until, signed, key = made.split(".")
    later = Millis(NOW + OPEN_FOR)
    for wrong, link, digest, now in [
        (made, "k2", "d1", NOW),
        (made, "k1", "d2", NOW),
        (made, "k1", "d1", later),
        (f"{int(until) + 1}.{signed}.{key}", "k1", "d1", NOW),
        (f"{until}.{signed[:1]}.{key}", "k1", "d1", NOW),
        (f"{until}.{'é' * 26}.{key}", "k1", "d1", NOW),
        ("", "k1", "d1", NOW),
        (nonce(Keys([b"another key of sixteen or more"]), "k1", "d1", NOW), "k1", "d1", NOW),
    ]:
        assert not nonce_holds(KEYS, wrong, link, digest, now)
    # A page that was opened before the keys were changed may still be sent.
    both = Keys([b"another key of sixteen or more", b"a-key-for-tests-only-and-nothing-else"])
    assert nonce_holds(both, made, "k1", "d1", NOW)


@pytest.mark.parametrize(
    ("headers", "theirs"),
    [
        ({}, False),
        ({"origin": URL}, False),
        ({"origin": "HTTPS://June.Shop.Example"}, False),
        ({"origin": "null", "sec-fetch-site": "same-origin"}, False),
        ({"origin": URL, "sec-fetch-site": "same-origin", "referer": f"{URL}/x"}, False),
        ({"origin": "null"}, True),
        ({"origin": "https://evil.example"}, True),
        ({"origin": "https://june.shop.example.evil.example"}, True),
        ({"origin": "http://june.shop.example"}, True),
        ({"origin": "https://evil.example", "sec-fetch-site": "same-origin"}, True),
        ({"origin": URL, "sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"referer": "https://evil.example/?https://june.shop.example"}, True),
        ({"referer": "https://[broken"}, True),
    ],
)
def test_another_sites_form_is_known(headers: dict[str, str], theirs: bool) -> None:
    assert foreign(headers, URL) is theirs


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"answer=0", "text/plain"),
        (b"answer=0", ""),
        (b"answer=0&answer=1&nonce=n", FORM),
        (b"\xff=1", FORM),
        (b"a=%ff", FORM),
        (b"&".join([b"a%d=1" % n for n in range(9)]), FORM),
    ],
)
def test_what_our_page_does_not_send_is_no_form(body: bytes, media_type: str) -> None:
    assert read_form(body, media_type) is None


def test_a_form_is_read() -> None:
    form = read_form(b"nonce=n&answer=1&reason=too+%00much%0D%0Areally", f"{FORM}; charset=utf-8")
    assert form is not None
    assert (form.nonce, form.answer, form.reason) == ("n", 1, "too much\nreally")
    for answer in ("", "-1", "1e1", "٣", "9999"):
        form = read_form(f"answer={answer}".encode("ascii", "xmlcharrefreplace"), FORM)
        assert form is None or form.answer is None


def test_a_link_is_known_again_in_a_mail_that_brings_it_back() -> None:
    token, other = "a" * 43, "b" * 43
    raw = f"{URL}{PAGE}{token[:20]}=\r\n{token[20:]}\r\n".encode()
    text = f"> <{URL}{PAGE}{other}>\n{URL}{PAGE}short"
    assert brought_back(raw, text) == (hashed(token), hashed(other))
    # A letter in letters beyond Latin is written in base64, and returned so.
    letter = base64.encodebytes(f"退款 {URL}{PAGE}{token}".encode()).decode()
    told = "--b\n\nNot delivered.\n--b\nContent-Type: message/rfc822\n\nSubject: x\n"
    returned = f"{told}Content-Transfer-Encoding: base64\n\n{letter}\n--b--\n"
    assert brought_back(f"{REPORT}{returned}".encode(), "") == (hashed(token),)
    assert brought_back(b"", "") == ()
    assert len(brought_back(b"", "".join(f"{PAGE}{n:043}" for n in range(500)))) == 50


def test_only_tokens_have_a_hash() -> None:
    assert len(hashed("a" * 43)) == 64
    assert {hashed("a" * 42), hashed("é" * 43), hashed("")} == {""}


# -- words ------------------------------------------------------------------------------------------
@settings(max_examples=60)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5))
def test_arguments_are_spelled_so_that_they_read_back(value: Json) -> None:
    told = exact(value)
    assert json.loads(told) == value
    assert all(c == "\n" or c.isprintable() for c in told)


HOSTILE = (
    "```\n````\n# Approved by console:ada\n</pre></blockquote></main><form action='https://evil.example'>"
    "<button>Approve</button></form><script>x()</script><style>*{display:none}</style>"
    "\n[Decide here](https://evil.example/decide) \u202e evorppA \x1b[2J\u2028Digest  0000"
)


def hostile() -> Card:
    asked = Asked(
        source="email",
        speaker="email:ada@cust.example",
        name=HOSTILE,
        level="none",
        known="Nobody vouches for it that ada@cust.example wrote this.",
        reasons=(HOSTILE,),
        words=HOSTILE,
        hidden=3,
    )
    return replace(CARD, prompt=HOSTILE, arguments={HOSTILE: HOSTILE}, asked=asked)


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


def seen(html: str) -> Seen:
    made = Seen()
    made.feed(html)
    return made


VIEW = TurnView(turn_id="t1", state="suspended", reference="r", speaker=None, event=None)


def test_hostile_words_cannot_forge_the_page() -> None:
    bad = hostile()
    who = who_asked(bad, VIEW)
    link = replace(LINK, who=who)
    plain = seen(pages.ask(CARD, LINK, "n", console=f"{URL}/console").body.decode())
    forged = seen(pages.ask(bad, link, "n", console=f"{URL}/console").body.decode())
    own = ("h2", "blockquote", "p")  # what was written to the agent has a box as well
    assert sorted(forged.tags) == sorted([*plain.tags, *own])
    assert forged.links == plain.links == [f"{URL}/console"]
    shown = pages.ask(bad, link, "n").body.decode()
    assert not any(c in shown for c in "\u202e\x1b\u2028")
    decided = Decider(by=HOSTILE, value=True, reason=HOSTILE, at=NOW)
    after = seen(
        pages.settled(replace(bad, outcome="approved", decided=decided), link).body.decode()
    )
    assert "form" not in after.tags
    assert "script" not in after.tags
    assert after.links == []


def test_hostile_words_cannot_forge_the_letter() -> None:
    bad = hostile()
    text, html = bodies(
        letter.words(bad, who_asked(bad, VIEW), link=f"{URL}/d/x", console=f"{URL}/console")
    )
    found = seen(html)
    assert [one for one in found.links if one] == [f"{URL}/d/x", f"{URL}/console"]
    assert {"form", "script", "style", "button", "h1", "blockquote"}.isdisjoint(found.tags)
    told = [line for line in text.splitlines() if "Approved by" in line or "Digest" in line]
    assert told
    assert all(line.startswith("    ") for line in told)


def test_the_page_is_for_whoever_has_it_and_nobody_else() -> None:
    reply = pages.ask(CARD, LINK, "n")
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["X-Robots-Tag"].startswith("noindex")
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    html = reply.body.decode()
    assert "checked" not in html
    assert html.count('type="radio"') == 2


def test_who_asked_is_said_for_every_channel() -> None:
    slack = replace(VIEW, speaker=Speaker("slack:T1:U1", name="Ada"))
    assert who_asked(CARD, slack) == "Ada (slack:T1:U1)"
    assert who_asked(hostile(), slack).startswith("ada@cust.example, by email. Nobody vouches")
    assert "no person" in who_asked(CARD, VIEW)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"outcome": "approved", "call": "done"}, "Approved by console:ada at 2026-"),
        ({"outcome": "denied", "call": "done"}, "Denied by console:ada at"),
        ({"outcome": "approved", "call": "failed"}, "The call failed."),
        ({"outcome": "approved", "call": "dropped"}, "It was not carried out"),
        ({"outcome": "expired"}, "Nobody decided in time"),
        ({"outcome": "cancelled", "why_dropped": "requested"}, "the turn was stopped"),
    ],
)
def test_the_page_says_who_decided_and_when(changes: dict[str, object], said: str) -> None:
    decided = Decider(by="console:ada", value=True, reason="fine", at=NOW)
    assert said in pages.settled(changed({"decided": decided, **changes}), LINK).body.decode()
