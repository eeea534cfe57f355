"""Rich text and mrkdwn beyond the sixteen texts: lists with things in them, limits, odd text."""

from __future__ import annotations

import pytest

from channels.slack.words.mrkdwn import escaped, fallback, markup, verbatim
from channels.slack.words.richtext import blocks, preformatted_block, width
from gateway.engine.kinds import Json
from tests.unit.slack.words.golden import code, items, quote, section, t, url
from tests.unit.slack.words.oracle import elements, mentioning


def rich(text: str) -> Json:
    made = blocks(text)
    return made[0]["elements"] if made else []


def test_a_list_goes_on_behind_what_stands_in_it() -> None:
    text = "3. one\n   ```\n   ls\n   ```\n   then\n4. two\n"
    assert rich(text) == [
        items("ordered", 0, "one", offset=2),
        code("ls"),
        section(t("then")),
        items("ordered", 0, "two", offset=3),
    ]


def test_two_lists_are_two_lists() -> None:
    assert rich("1. a\n\n<!-- -->\n\n1. b\n")
    assert rich("- a\n\n* b\n") == [items("bullet", 0, "a"), items("bullet", 0, "b")]


def test_an_item_without_words_is_still_one() -> None:
    assert rich("- \n- - deep\n") == [items("bullet", 0, " ", " "), items("bullet", 1, "deep")]


def test_a_quote_draws_what_it_can_not_hold() -> None:
    text = "> words\n>\n> - one\n> - two\n>   1. deep\n>\n> ```\n> ls\n> ```\n> ***\n"
    assert rich(text) == [quote(t("words\n• one\n• two\n  1. deep\n"), t("ls", "code"), t("\n———"))]


def test_formatting_adds_up() -> None:
    assert rich("**a *b* ~~c~~** `d` [**e**](https://a.example)") == [
        section(
            t("a ", "bold"),
            t("b", "bold", "italic"),
            t(" ", "bold"),
            t("c", "bold", "strike"),
            t(" "),
            t("d", "code"),
            t(" "),
            {**url("https://a.example", "e"), "style": {"bold": True}},
        )
    ]


def test_columns_are_as_wide_as_they_look() -> None:
    assert [width(text) for text in ("abc", "中文", "e\u0301", "\u200babc")] == [3, 4, 1, 3]
    assert rich("| a | b |\n|---|---|\n| 中文 | x |\n|  |  |\n") == [
        code("a    │ b\n─────┼──\n中文 │ x\n     │")
    ]


@pytest.mark.parametrize("text", ["", " \n\n", "\n"])
def test_nothing_is_nothing(text: str) -> None:
    assert blocks(text) == []
    assert fallback(text) == ""


@pytest.mark.parametrize(
    "text", ["> " * 200 + "deep", "- " * 150 + "deep", "```\n```", "# ", "[]()"]
)
def test_odd_text_loses_no_word_and_makes_no_empty_element(text: str) -> None:
    made: Json = list[Json](blocks(text))
    assert ("deep" in str(made)) == ("deep" in text)
    assert ("deep" in fallback(text)) == ("deep" in text)
    assert all(element["text"] for element in elements(made) if element["type"] == "text")


def test_definitions_of_links_are_words() -> None:
    text = "[bank.example][1]\n\n[1]: https://evil.example"
    assert "https://evil.example" in str(blocks(text))
    assert "[1]: https://evil.example" in fallback(text)


def test_text_of_ours_is_shown_character_for_character() -> None:
    block = preformatted_block('{"to": "<!channel>"}\n')
    assert block["elements"] == [code('{"to": "<!channel>"}')]
    assert not mentioning(block)


def test_the_fallback_is_cut_where_it_is_too_long() -> None:
    for text in ("a & b < c > d " * 900, "```\n" + "<&>" * 3_000, "*x* " * 4_000):
        for limit in (3_900, 200, 50):
            made = fallback(text, limit)
            assert len(made) <= limit
            assert made.endswith(" …")
            assert made.count("&") == made.count(";"), "no entity is cut in two"


def test_marks_format_only_what_the_text_formats() -> None:
    assert markup("2 * 3 * 4, a_b_c, *i*, **b**") == "2 \u2060* 3 \u2060* 4, a_b_c, _i_, *b*"
    assert markup("x**y**z") == "xyz"
    assert markup("`` a`b ``") == "a`b"
    assert markup("[a|b](https://a.example)") == "<https://a.example|a¦b>"
    assert markup("![](https://a.example/x.png)") == "<https://a.example/x.png>"


def test_a_text_object_is_verbatim() -> None:
    assert verbatim(escaped("<!here> & co")) == {
        "type": "mrkdwn",
        "text": "&lt;!here&gt; &amp; co",
        "verbatim": True,
    }


@pytest.mark.parametrize("mark", ["*", "_", "[", "![", "`", "~~"])
@pytest.mark.parametrize("times", [150, 20_000])
def test_text_that_is_nothing_but_marks_is_shown_all_the_same(mark: str, times: int) -> None:
    text = f"{mark * times}a{mark * times}"[:12_000]
    assert len(blocks(text)) == 1
    assert markup(text)
