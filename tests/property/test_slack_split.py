"""However long a text is and whatever it is made of: its parts are the text, and each stands alone."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from channels.slack.words.markdown import outline
from channels.slack.words.split import cut, frame, guarded_units, next_part, units

LINES = [
    *(
        "Some words that make a sentence. And one more.",
        "# Heading",
        "",
        "",
        "---",
        "> quoted words",
    ),
    *("- item", "  - inner item", "    - innermost", "1. first", "2. second", "   more of it"),
    *(
        "```",
        "```py",
        "  ```",
        "````",
        "~~~",
        "code(line)",
        "    indented",
        "| a | b |",
        "|---|---|",
    ),
    *(
        "| 1 | 2 |",
        "> ```",
        "<!channel>",
        "[bank.example](https://evil.example)",
        "x" * 90,
        "中文😀",
    ),
]
TEXTS = st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=40).map("\n".join)
FENCED = st.tuples(
    st.sampled_from(["```", "````", "~~~"]),
    st.sampled_from(["", "py", "js title=x"]),
    st.lists(st.sampled_from(["x = 1", "", "  deep", "``", "# no heading", "| a |"]), max_size=40),
)


@given(TEXTS, st.integers(60, 400))
def test_parts_are_the_text(text: str, limit: int) -> None:
    parts = cut(text, limit)
    assert "".join(text[part.start : part.end] for part in parts) == text
    assert parts[0].start == 0
    for before, after in pairwise(parts):
        assert before.end == after.start
        assert before.end > before.start
    for part in parts:
        assert guarded_units(part.of(text)) <= limit
        assert next_part(text, part.start, limit) == part, "found again from where it begins"


@given(TEXTS, st.integers(100, 400))
def test_no_part_leaves_a_fence_open(text: str, limit: int) -> None:
    for part in cut(text, limit, units):
        said = part.of(text)
        assert frame(said, len(said)).closing == ""


@given(FENCED, st.integers(60, 200))
def test_code_in_parts_is_the_same_code(given_code: tuple[str, str, list[str]], limit: int) -> None:
    fence, info, lines = given_code
    text = "\n".join([fence + info, *lines, fence]) + "\n"
    whole = [token for token in outline(text) if token.type == "fence"]
    assume(len(whole) == 1)
    found: list[str] = []
    for part in cut(text, limit, units):
        for token in outline(part.of(text)):
            assert token.type == "fence", "nothing but code comes of code"
            assert token.info.strip() == info
            found.append(token.content)
    assert "".join(found) == whole[0].content


@given(st.text(st.characters(categories=["L", "N"]) | st.just(" ")), st.integers(10, 60))
def test_text_without_markdown_is_cut_and_nothing_added(text: str, limit: int) -> None:
    assert "".join(part.of(text) for part in cut(text, limit)) == text
