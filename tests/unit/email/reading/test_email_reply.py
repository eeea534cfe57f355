"""What somebody wrote now is found, nothing of it lost, and no text costs more than its length."""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.reading.reply import Extract, extract
from tests.unit.email.reading.reply_cases import (
    ANSWER,
    ASKED,
    ATTRIBUTIONS,
    FORWARDS,
    HEADERS,
    HISTORY,
    LONG,
    ORIGINALS,
    SIGNED,
    Case,
    cases,
)

CASES = list(cases())
MARKER = "— reply above this line —"


def written(text: str) -> Counter[str]:
    return Counter("".join(text.split()))


def whole(found: Extract, text: str) -> bool:
    return written(found.new + found.rest) == written(text)


# -- mail programs ---------------------------------------------------------------------------------
def test_there_are_enough_of_them() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 150


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_was_written_now(case: Case) -> None:
    found = extract(case.mail, None, MARKER)
    assert (found.new, found.cut) == (case.new, case.cut)
    assert whole(found, case.mail)
    assert found.forwarded is case.name.startswith("forward ")
    assert found.whole is (case.name in {"only a quotation", "only a header"})


# -- our own marker --------------------------------------------------------------------------------
BELOW = {
    "bare": f"\n{MARKER}\n{HISTORY}",
    "marks": f"\n{ATTRIBUTIONS['gmail en']}\n> {MARKER}\n{ASKED}",
    "wrapped announcement": f"\n{ATTRIBUTIONS['gmail en wrapped']}\n\n{MARKER}\n{HISTORY}",
    "unknown language": f"\nMa 3.3.2025 klo 10.12 June kirjoitti:\n\n{MARKER}\n{HISTORY}",
    "header": f"\n{HEADERS['outlook en']}\n\n{MARKER}\n{HISTORY}",
    "original": f"\n{ORIGINALS['en']}\n{HEADERS['outlook fr']}\n\n{MARKER}\n{HISTORY}",
    "signature": f"\n-- \nA. Customer\n\n{ATTRIBUTIONS['gmail fr']}\n\n{MARKER}\n{HISTORY}",
    "respaced": f"\n{MARKER.replace(' ', '  ').upper()}\n{HISTORY}",
}


@pytest.mark.parametrize("below", BELOW.values(), ids=BELOW)
@pytest.mark.parametrize(
    "said",
    [
        ANSWER,
        "From: Berlin <office@example.com>\nTo: Paris\nDate: 3 March 2025\nSubject: boxes\n\nShip them so.",
        f"{ATTRIBUTIONS['gmail en']}\n\nThat is what your mail says, and I don't agree.",
        "> Red?\n\nNo, blue.",
    ],
)
def test_our_marker_beats_all_guesses(said: str, below: str) -> None:
    text = said + "\n" + below
    found = extract(text, None, MARKER)
    assert (found.new, found.cut) == (said, "marker")
    assert whole(found, text)


def test_what_stands_below_our_marker_only_is_found_by_the_other_rules() -> None:
    text = f"{ATTRIBUTIONS['gmail en']}\n> {MARKER}\n{LONG}\n\nThe red one."
    assert extract(text, None, MARKER).new == "The red one."


def test_a_mail_of_ours_that_is_passed_on_keeps_its_text() -> None:
    text = f"See?\n\n{FORWARDS['gmail']}\nFrom: June\n\n{MARKER}\n\n{HISTORY}"
    assert extract(text, None, MARKER) == Extract(new=text, forwarded=True)


# -- what HTML says --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("above", "below", "cut"),
    [
        (f"{ANSWER}\n\n", HISTORY, "html"),
        (f"{ANSWER}\n\n{ATTRIBUTIONS['gmail de']}\n\n", HISTORY, "attribution"),
        (f"{ANSWER}\n\n", f"{ATTRIBUTIONS['gmail de']}\n\n{HISTORY}", "html"),
        (f"{ANSWER}\nMa 3.3.2025 klo 10.12 June kirjoitti:\n", HISTORY, "attribution"),
        (f"{ANSWER}\n\n{HEADERS['outlook en']}\n\nYes.\n\n", HISTORY, "headers"),
        (f"{ANSWER}\n", f"\n{ATTRIBUTIONS['gmail en wrapped']}\n\n{ASKED}", "html"),
        (f"{ANSWER} ", HISTORY, "html"),
    ],
)
def test_where_html_begins_its_quotation(above: str, below: str, cut: str) -> None:
    found = extract(above + below, len(above), "")
    assert (found.new.rstrip(), found.cut) == (ANSWER, cut)
    assert whole(found, above + below)


@pytest.mark.parametrize(
    "below",
    [
        "> Which colour?\nRed.\n> Which size?\nLarge.",
        f"{ATTRIBUTIONS['gmail fr']}\n\n> Which colour?\nRed.",
        "Ma 3.3.2025 klo 10.12 June kirjoitti:\n> Which colour?\n\nRed.",
    ],
)
def test_answers_within_what_html_calls_a_quotation(below: str) -> None:
    found = extract(f"See below.\n\n{below}\n\n{ASKED}", len("See below.\n\n"), "")
    assert (found.new, found.rest, found.cut) == (f"See below.\n\n{below}", ASKED, "html")


@pytest.mark.parametrize("quote_at", [-5, 0, 10_000])
def test_a_place_outside_of_the_text_says_nothing(quote_at: int) -> None:
    assert extract(ANSWER, quote_at, MARKER) == Extract(new=ANSWER)


def test_a_forward_that_html_calls_a_quotation() -> None:
    above, below = "Please look.\n\n", f"{FORWARDS['gmail']}\nFrom: Printer\n\nThe paper is out."
    assert extract(above + below, len(above), "") == Extract(new=above + below, forwarded=True)


@pytest.mark.parametrize("quote_at", [None, len("Please look.\n\n")])
def test_a_forward_that_is_marked_as_quoted(quote_at: int | None) -> None:
    text = f"Please look.\n\n> {FORWARDS['apple']}\n>\n> From: Printer\n>\n> The paper is out."
    assert extract(text, quote_at, "") == Extract(new=text, forwarded=True)


@pytest.mark.parametrize(
    ("subject", "forwarded"),
    [
        *(("FW: Paper", True), ("WG: Papier", True), ("TR : Papier", True), ("转发：纸", True)),
        *(("RE: FW: Paper", False), ("Paper", False), ("", False)),
    ],
)
def test_a_subject_tells_a_forward_where_the_text_doesnt(subject: str, forwarded: bool) -> None:
    text = f"Please look.\n\n{HEADERS['outlook en']}\n\n{HISTORY}"
    found = extract(text, None, MARKER, subject)
    assert found.forwarded is forwarded
    assert found.new == (text if forwarded else "Please look.")


# -- any text --------------------------------------------------------------------------------------
PIECES = st.sampled_from(
    [
        *ATTRIBUTIONS.values(),
        *HEADERS.values(),
        *ORIGINALS.values(),
        *FORWARDS.values(),
        *SIGNED.values(),
        *("", "", "> quoted", ">> more", "Yes.", "-- ", "--", "On ", "From: me", "_" * 9, MARKER),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=20), max_size=14).map("\n".join)


@settings(max_examples=150)
@given(text=TEXTS, quote_at=st.none() | st.integers(-3, 500), marker=st.sampled_from(["", MARKER]))
def test_nothing_is_lost_whatever_the_text(text: str, quote_at: int | None, marker: str) -> None:
    found = extract(text, quote_at, marker)
    assert whole(found, text)
    assert bool(found.new.strip()) is bool(text.strip())
    assert found.cut == "" or found.rest.strip()


# -- what it costs ---------------------------------------------------------------------------------
def steps(text: str) -> int:
    """How many calls it takes, those into Python's own functions among them."""
    counted = 0

    def count(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        extract(text, None, MARKER)
    finally:
        sys.setprofile(before)
    return counted


LONG_LINE = "x" * 50_000
GROWING = {
    "on on on": "On ",
    "on, line by line": "On \n",
    "newlines": "\n",
    "marks": ">",
    "marks, line by line": ">\n",
    "announcements": f"{ATTRIBUTIONS['gmail en']}\n",
    "announcements above marks": f"{ATTRIBUTIONS['gmail en']}\n\n> no\n",
    "announcements that never end": "On Mon, Mar 3, 2025 at 10:12 AM\n",
    "only ends": "wrote:\n",
    "headers": "From: a@b.example\n",
    "whole headers": f"{HEADERS['outlook en']}\n> no\n",
    "answers": "> no\nyes\n\n",
    "gaps": f"> no\n{ATTRIBUTIONS['gmail en']}\n" + "\n" * 8,
    "signatures": "-- \n",
    "phones": "Sent from my iPhone\n",
    "rulers": "-----\n",
    "blanks": " \t\n",
}


@pytest.mark.parametrize("piece", GROWING.values(), ids=GROWING)
def test_it_grows_with_the_text_and_no_faster(piece: str) -> None:
    once, twice = steps(piece * 150), steps(piece * 300)
    assert twice <= 2.1 * once + 100


def test_a_long_line_is_one_line() -> None:
    said = "> no\nOn Monday\n" * 20
    assert steps(said + LONG_LINE * 4) <= steps(said + "word") + 10
    assert steps(LONG_LINE + ":\n" + said) <= steps("word:\n" + said) + 10
