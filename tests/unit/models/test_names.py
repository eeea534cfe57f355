"""Tool names on the wire: accepted by the provider, one for each tool, and found back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gateway.models._names import accepted, wire_names

ACCEPTED = re.compile(r"^[a-zA-Z0-9_-]{1,128}\Z")
_names = st.lists(
    st.text("ab._-/ é", max_size=4) | st.text(min_size=120, max_size=140) | st.just("x" * 200),
    max_size=12,
)


@given(_names)
def test_every_name_is_accepted_and_no_two_tools_share_one(names: list[str]) -> None:
    spelled = wire_names(names)
    assert spelled.keys() == set(names)
    assert len(set(spelled.values())) == len(spelled)
    assert all(ACCEPTED.match(name) for name in spelled.values())


@given(_names)
def test_an_accepted_name_keeps_its_spelling(names: list[str]) -> None:
    spelled = wire_names(names)
    assert all(spelled[name] == name for name in names if accepted(name))


@given(st.permutations(["a b", "a.b", "a_b", "a/b", "c d", "c_d_x"]))
def test_the_order_of_the_tools_changes_no_name(names: list[str]) -> None:
    assert wire_names(names) == wire_names(sorted(names))


def test_a_reduced_name_stays_readable() -> None:
    assert wire_names(["crm.find order"]) == {"crm.find order": "crm_find_order"}
    assert wire_names([""]) == {"": "tool"}
    taken = wire_names(["a b", "a_b"])
    assert taken["a_b"] == "a_b"
    assert re.fullmatch(r"a_b_[0-9a-f]{8}", taken["a b"])
