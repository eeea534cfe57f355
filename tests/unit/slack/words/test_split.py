"""Long text in parts: nothing lost, nothing twice, and each part whole by itself."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from channels.slack.words.guard import guarded
from channels.slack.words.markdown import outline
from channels.slack.words.split import (
    MOST_PART,
    MOST_PARTS,
    Slice,
    block_end,
    cut,
    frame,
    is_file,
    next_part,
    units,
)

LENGTHS = (3_001, 12_001, 13_300, 41_000, 45_000)
PROSE = "The order was packed on Monday and left the house on Tuesday. "


def prose(length: int) -> str:
    paragraph = PROSE * 9 + "\n\n"
    return (paragraph * (length // len(paragraph) + 1))[:length]


def shown(text: str, limit: int = MOST_PART) -> list[str]:
    parts = cut(text, limit)
    assert "".join(text[part.start : part.end] for part in parts) == text
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    said = [part.of(text) for part in parts]
    assert all(units(guarded(one)) <= limit for one in said)
    return said


def code_of(markdown: str) -> str:
    return "".join(t.content for t in outline(markdown) if t.type in {"fence", "code_block"})


@pytest.mark.parametrize("length", LENGTHS)
def test_prose_of_any_length_ends_each_part_with_a_paragraph(length: int) -> None:
    text = prose(length)
    said = shown(text)
    assert len(said) == -(-length // MOST_PART)
    assert "".join(said) == text
    assert all(part.endswith("\n\n") for part in said[:-1])


@pytest.mark.parametrize("length", LENGTHS)
def test_a_fence_across_every_cut_is_closed_and_opened_again(length: int) -> None:
    lines = "".join(f"value_{n:05} = compute({n})\n" for n in range(length // 27 + 1))
    text = f"Before.\n\n```python\n{lines}"[: length - 12].rsplit("\n", 1)[0] + "\n```\n\nAfter.\n"
    said = shown(text)
    assert len(said) == -(-len(text) // MOST_PART)
    for part in said:
        fences = [token for token in outline(part) if token.type == "fence"]
        assert [(fence.markup, fence.info) for fence in fences] == [("```", "python")]
    for part in said[:-1]:
        assert part.endswith(")\n```")
    assert "".join(code_of(part) for part in said) == code_of(text)


def test_a_text_without_a_place_to_cut_is_cut_all_the_same() -> None:
    said = shown("x" * 30_000)
    assert "".join(said) == "x" * 30_000
    assert len(said) == 3


def test_letters_of_several_characters_stay_whole() -> None:
    for letter in ("👩🏽‍🚀", "e\u0301", "🇫🇷", "👍🏿"):
        for part in shown(letter * 60, 100):
            assert part.replace(letter, "") == ""


def test_length_is_counted_as_slack_may_count_it() -> None:
    assert units("a😀é") == 4
    said = shown("😀 " * 9_000)
    assert len(said) == 3


def test_a_text_that_the_guard_makes_longer_still_fits() -> None:
    text = "<!here> " * 4_000
    assert max(units(guarded(part)) for part in shown(text)) <= MOST_PART


def test_the_table_head_is_repeated_over_the_rest_of_its_rows() -> None:
    head = "| order | state |\n|---|:-:|\n"
    rows = "".join(f"| {n} | sent on day {n} |\n" for n in range(40))
    text = f"Orders:\n\n{head}{rows}\nDone.\n"
    said = shown(text, 400)
    assert all(part.startswith(head) for part in said[1:])
    for part in said:
        tables = [token for token in outline(part) if token.type == "table_open"]
        assert len(tables) == 1
    body = [line for part in said for line in part.splitlines() if line.startswith("| ")]
    assert [line for line in body if line != "| order | state |"] == rows.splitlines()


def test_a_table_that_ended_is_not_begun_again() -> None:
    head = "| a |\n|---|\n| 1 |\n"
    assert frame(head + "\nText", len(head) + 1).opening == ""
    assert frame(head + "# Heading\n", len(head)).opening == ""
    assert frame(head + "| 2 |\n", len(head)).opening == "| a |\n|---|\n"
    assert frame(head + "| 2 |\n", len(head) + 2).opening == "| a |\n|---|\n"


@pytest.mark.parametrize(
    ("text", "closing", "opening"),
    [
        ("````md\n```js\nx\n", "````", "````md\n"),
        ("~~~\nx\n", "~~~", "~~~\n"),
        ("```py\nhalf a li", "\n```", "```py\n"),
        ("- item\n\n  ```sh\n  ls\n", "  ```", "- ```sh\n"),
        ("1. item\n   ```\n   ls -l", "\n   ```", "-  ```\n   "),
        ("- a\n  - b\n    - c\n      ```\n      x\n", "      ```", "- -   ```\n"),
        ("> ```\n> a\n", "> ```", "> ```\n"),
        ("> said in a quo", "", "> "),
        ("- an item that goes on", "", "- … "),
        ("```\na\n```\n", "", ""),
        ("```" + "x" * 90 + " y\na\n", "```", "```" + "x" * 40 + "\n"),
        ("plain\n\n", "", ""),
        ("", "", ""),
    ],
)
def test_what_is_open_is_closed_and_opened_again(text: str, closing: str, opening: str) -> None:
    found = frame(text + "more", len(text))
    assert (found.closing, found.opening) == (closing, opening)


@pytest.mark.parametrize(
    "text",
    [
        "- item\n\n  ```sh\n  ls\n  pwd\n  ```\n",
        "1. item\n\n   ```\n   ls\n     indented\n   ```\n",
        "- a\n  - b\n    - c\n      ```\n      x\n        y\n      ```\n",
        "> ```\n> a\n>   b\n> ```\n",
    ],
)
def test_code_inside_lists_and_quotes_keeps_its_lines(text: str) -> None:
    lines = [at + 1 for at, letter in enumerate(text) if letter == "\n"]
    for at in lines[text[: text.index("```")].count("\n") + 1 : -1]:
        before, after = frame(text, at).closing, frame(text, at).opening
        assert code_of(text[:at] + before) + code_of(after + text[at:]) == code_of(text)


def test_a_nested_item_stays_an_item() -> None:
    text = "- a\n  - b\n    - c one\n    - c two\n"
    at = text.index("    - c two")
    opening = frame(text, at).opening
    assert "c two" not in code_of(opening + text[at:])
    assert MarkdownIt().render(opening + text[at:]).count("<li>") == 2


def test_a_heading_stays_with_what_it_heads() -> None:
    text = PROSE * 4 + "\n\n## Next\n\n" + PROSE * 4
    said = shown(text, 300)
    assert said[1].startswith("## Next")


def test_an_open_fence_at_the_end_is_closed() -> None:
    text = "```py\nx = 1"
    assert cut(text) == (Slice(0, len(text), "", "\n```"),)


def test_each_part_can_be_found_again_from_where_it_begins() -> None:
    text = prose(20_000) + "\n\n```py\n" + "x = 1\n" * 3_000
    parts = cut(text)
    assert [next_part(text, part.start) for part in parts] == list(parts)


def test_a_stream_turns_over_where_a_block_ended() -> None:
    text = "One.\n\nTwo goes on\nand on.\n\n```\ncode\n\nmore\n```\n\nLast"
    assert block_end(text, 0, 2) == text.index("Two")
    assert block_end(text, 0, text.index("goes")) == text.index("```\ncode")
    assert block_end(text, 0, text.index("code")) == text.index("Last")
    assert block_end(text, 0, text.index("Last") + 1) is None
    assert block_end(text, text.index("Two"), 0) == text.index("```\ncode")


def test_what_nobody_reads_in_messages_is_a_file() -> None:
    assert not is_file(prose(MOST_PART * MOST_PARTS - 4_000))
    assert is_file(prose(MOST_PART * MOST_PARTS + 1))
    assert is_file("word " * 1_000_000)
    assert not is_file("")
