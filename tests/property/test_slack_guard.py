"""Whatever a model writes, however it is cut: nobody is pinged, no link lies, and the same is said."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from channels.slack.words.guard import feed, guarded, one_line
from channels.slack.words.guardstate import JOINER, Guard
from channels.slack.words.links import judge
from channels.slack.words.mrkdwn import fallback
from channels.slack.words.richtext import blocks
from tests.unit.slack.words.oracle import MENTION, labelled, live, mentioning, unbalanced

# Made of what tokens, links, code and directions are made of, so that they meet in every way.
PIECES = [
    *("<", "<!", "<@U1>", "<#", "&lt;", "&lt", "&#60;", "&#x3c;", "&#0060", "&amp;lt;", "&excl;"),
    *("&#33;", "&commat;", "!", "@", "#", "channel>", "here>", "|", ">", "[", "]", "(", ")", "]("),
    *("https://", "bank.example", "evil.example", "http://", "mailto:", "ada@a.example", "slack:"),
    *("javascript:", "\\", "`", "``", "```", "```py\n", "~~~\n", "\n", "\n\n", "\u202e", "\u2066"),
    *("\u2069", "\u2067", " ", "a", "\u200b", "subteam^S1", '"', "- ", "> ", ":", "]:", "![", "*"),
    *("&", "lt;", "amp;", "0", "std::x", "| a |", "|---|", "é", "😀", "\r", "\r\n", "\u2029"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=24).map("".join)
LINKS = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@st.composite
def cut_up(draw: st.DrawFn) -> list[str]:
    text = draw(TEXTS)
    places = draw(st.lists(st.integers(0, len(text)), max_size=12).map(sorted))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


def links_in(tokens: list[Token]) -> list[tuple[str, str]]:
    """Label and target of every link that a Markdown parser finds."""
    found: list[tuple[str, str]] = []
    for token in tokens:
        children = token.children or []
        for at, child in enumerate(children):
            if child.type == "link_open":
                end = next(n for n, c in enumerate(children) if n > at and c.type == "link_close")
                label = "".join(c.content for c in children[at + 1 : end])
                found.append((label, str(child.attrs.get("href", ""))))
            elif child.type == "image":
                found.append((child.content, str(child.attrs.get("src", ""))))
    return found


@given(cut_up())
@example(["<", "!channel>"])
@example(["[!subteam^S1|bank.example", "](https://evil.example)>"])
def test_a_stream_cut_anywhere_says_what_the_whole_text_says(pieces: list[str]) -> None:
    state, said = Guard(), ""
    for piece in pieces:
        state, more = feed(state, piece)
        said += more
        assert not live(said), "what is shown so far"
    state, more = feed(state, "", True)
    assert said + more == guarded("".join(pieces))
    assert not state.held
    assert not state.marks


@given(TEXTS)
@example("&lt&#59;!channel>")
@example("<\\\u2066!here>")
@example("\\&lt;\\!here>")
def test_no_text_pings_lies_or_turns(text: str) -> None:
    said = guarded(text)
    assert not live(said)
    assert not labelled(said)
    assert not unbalanced(said)
    for label, href in links_in(LINKS.parse(said)):
        assert judge(label, href).verdict == "keep", (label, href)


@given(TEXTS, TEXTS)
def test_a_part_that_ends_anywhere_pings_nobody_either(first: str, second: str) -> None:
    assert not live(guarded(first) + " " + guarded(second))
    assert not live(one_line(first, 60))
    assert len(one_line(first, 60)) <= 60


@given(TEXTS)
def test_no_rich_text_and_no_fallback_pings(text: str) -> None:
    assert not mentioning(blocks(text))
    made = fallback(text, 200)
    assert len(made) <= 200
    assert not MENTION.search(made)


@given(st.text(alphabet=st.characters(exclude_characters="<&[]()!@#`~\u2066\u2067\u2068\u2069\u202a\u202b\u202c\u202d\u202e")))  # fmt: skip
def test_words_without_a_token_in_them_stay_to_the_letter(text: str) -> None:
    assert guarded(text) == text


@given(TEXTS.filter(lambda text: "](" not in bare(text)))
def test_nothing_is_lost_but_directions(text: str) -> None:
    """Without links nothing changes that can be seen."""
    assert bare(guarded(text)) == bare(text)


def bare(text: str) -> str:
    return re.sub(f"[{JOINER}\u202a-\u202e\u2066-\u2069]", "", text).replace("&lt;", "<")
