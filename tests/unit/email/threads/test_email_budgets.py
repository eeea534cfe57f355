"""What a mail is counted by."""

from __future__ import annotations

import pytest

from channels.email.policy import EmailRules, budgets

TEXT = "Where is the kettle that I ordered on Monday?"


def keys(address: str, *, text: str = TEXT, vouched: bool = True, begins: bool = True) -> set[str]:
    spent = budgets(
        EmailRules(), "support@shop.example", "c1", address, text, vouched=vouched, begins=begins
    )
    return {one.key for one in spent}


def test_plus_parts_and_subdomains_are_the_same_sender_and_domain() -> None:
    plain = keys("ada@cust.example")
    assert len(plain) == 4
    assert keys("ada+2@cust.example") == plain
    assert {key for key in keys("bo@mail.cust.example") if ":domain:" in key} <= plain


def test_who_may_be_anybody_spends_nothing_of_anybody() -> None:
    assert not keys("ada@cust.example", vouched=False) & keys("ada@cust.example")


def test_strangers_of_whatever_names_have_one_budget_together() -> None:
    strangers = keys("ada@cust.example", vouched=False), keys("bo@other.example", vouched=False)
    (shared,) = strangers[0] & strangers[1]
    assert shared not in keys("ada@cust.example")


def test_who_goes_on_isnt_held_for_others_of_the_same_provider() -> None:
    assert not [key for key in keys("ada@cust.example", begins=False) if ":domain:" in key]


@pytest.mark.parametrize("text", ["Thank you!", " \n", ""])
def test_short_words_may_come_twice(text: str) -> None:
    assert not [key for key in keys("ada@cust.example", text=text) if ":same:" in key]
