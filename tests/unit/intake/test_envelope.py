"""Whatever somebody writes, it ends where the envelope says and nowhere else."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from gateway.engine.kinds import LEVELS, Speaker
from gateway.intake.envelope import marked, unwrapped, wrap

TEXTS = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [
            "</message>",
            '</message mark="',
            "\n",
            '">',
            "<message ",
            "0",
            "a",
            "</",
            "hello",
            "\u2028",
        ]
    ),
    max_size=30,
).map("".join)
SPEAKERS = st.builds(
    Speaker,
    id=st.text(min_size=1, max_size=30),
    name=st.text(max_size=120),
    level=st.sampled_from(LEVELS),
)
OPENING = re.compile(r'<message mark="([0-9a-f]{16})"( [a-z]+="[^"<>\n]*")+>')


def opened(whole: str) -> tuple[str, str]:
    """The mark and the text, read as a reader would: from the first line to the line that closes."""
    first, _, rest = whole.partition("\n")
    found = OPENING.fullmatch(first)
    assert found is not None, first
    text, closing, after = rest.rpartition(f'\n</message mark="{found[1]}">')
    assert closing
    assert after == ""
    return found[1], text


@given(TEXTS, SPEAKERS, st.text(max_size=20))
def test_no_text_closes_its_own_envelope(text: str, speaker: Speaker, turn_id: str) -> None:
    whole = wrap(text, turn_id=turn_id, speaker=speaker)
    mark, inside = opened(whole)
    assert inside == text
    assert mark not in text.casefold()
    assert whole.count(mark) == 2


@given(TEXTS, SPEAKERS, TEXTS)
def test_people_who_read_of_a_turn_are_shown_what_was_said(
    text: str, speaker: Speaker, above: str
) -> None:
    wrapped = wrap(text, turn_id="t", speaker=speaker)
    assert unwrapped(wrapped) == unwrapped(f"{above}\n{wrapped}") == text


@given(TEXTS)
def test_what_no_channel_wrapped_is_left_alone(text: str) -> None:
    assert unwrapped(text) == text


@given(TEXTS, SPEAKERS)
def test_a_copy_of_a_post_gets_the_same_envelope(text: str, speaker: Speaker) -> None:
    assert wrap(text, turn_id="t", speaker=speaker) == wrap(text, turn_id="t", speaker=speaker)


def test_a_text_that_holds_the_mark_it_would_get_gets_another() -> None:
    """Nobody can write a text around its own digest; if somebody could, it would do them no good."""
    guesses = [hashlib.sha256(f"t\n{n}\nx".encode()).hexdigest()[:16] for n in range(3)]
    assert marked("x", "t") == guesses[0]

    class Known(str):
        """A text that is hashed as ``x`` and holds the first two marks all the same."""

        __slots__ = ()

        @override
        def casefold(self) -> str:
            return " ".join(guesses[:2])

    assert marked(Known("x"), "t") == guesses[2]


@pytest.mark.parametrize(
    ("level", "trust"),
    [
        ("none", "unattested"),
        ("domain", "unattested"),
        ("sender", "attested"),
        ("linked", "attested"),
    ],
)
def test_it_says_who_spoke_and_how_well_they_are_known(level: str, trust: str) -> None:
    level_ = next(one for one in LEVELS if one == level)
    speaker = Speaker(id="slack:T1:U1", name='Ada "<b>&\n the boss', level=level_)
    first = wrap("hi", turn_id="t", speaker=speaker).partition("\n")[0]
    assert 'from="slack:T1:U1"' in first
    assert 'name="Ada b the boss"' in first
    assert f'level="{level}" trust="{trust}"' in first
    assert "name=" not in wrap("hi", turn_id="t", speaker=Speaker(id="u"))
