"""Text that PostgreSQL can't hold comes back as it was, or is refused as a key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.engine.errors import InvalidInputError
from gateway.stores.postgres.text import key, restored, storable

TRICKY = st.text(alphabet=st.sampled_from(["\0", "\ufdd0", "0", "a", "é", "\\"]))


@given(st.one_of(TRICKY, st.text()))
def test_text_comes_back_as_it_was(text: str) -> None:
    stored = storable(text)
    assert "\0" not in stored
    assert restored(stored) == text


@given(TRICKY, TRICKY)
def test_two_texts_are_never_stored_alike(one: str, other: str) -> None:
    assert (storable(one) == storable(other)) == (one == other)


def test_ordinary_text_is_stored_as_it_is() -> None:
    text = "naïve 🙂 \\0 \\u0000 ' \" \r\n"
    assert storable(text) is text


@pytest.mark.parametrize("bad", ["\0", "a\0b", "\ud800", "é\udfff"])
def test_a_key_that_no_column_holds_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInputError, match="a session key"):
        key(bad, "a session key")
