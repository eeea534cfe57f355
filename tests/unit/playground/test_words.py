"""What somebody wrote, as HTML: drawn as Slack draws it, and never markup by itself."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from gateway.engine.kinds import JsonObject
from gateway.playground.words import markdown, mrkdwn, plain, rich_text

NAMES = {"U1": "ada", "C1": "orders"}.get
TAGS = {
    *("a", "blockquote", "br", "code", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li"),
    *("ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
ATTRIBUTES = {"class", "href", "rel", "start", "style", "tabindex", "target", "title"}
PIECES = st.lists(
    st.sampled_from(
        (
            *("<", ">", "&lt;", "&amp;", '"', "'", "`", "```", "*", "_", "~", "\n", "&gt; ", "|"),
            *("<@U1>", "<!here>", "<https://x.example|", "](javascript:alert(1))", "![", "[", ")"),
            *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "http://x.example", "a"),
            *("<javascript:alert(1)|x>", "data:text/html,", "|-|-|\n", "# ", "1. ", "- ", ":tada:"),
        )
    ),
    max_size=14,
).map("".join)


class Tags(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


@given(PIECES)
def test_no_text_becomes_markup_of_its_own(text: str) -> None:
    tree: JsonObject = {
        "elements": [
            {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]},
            {
                "type": "rich_text_quote",
                "elements": [{"type": "link", "url": text, "text": text, "style": {"bold": True}}],
            },
        ]
    }
    for html in (mrkdwn(text, NAMES), markdown(text, NAMES), plain(text), rich_text(tree, NAMES)):
        tags = Tags(html)
        assert tags.found <= TAGS, html
        assert tags.attributes <= ATTRIBUTES, html
        safe = ("http://", "https://", "mailto:")
        assert all(link.lower().startswith(safe) for link in tags.links), html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*bold* _it_ ~gone~", "<strong>bold</strong> <em>it</em> <s>gone</s>"),
        ("2*3*4 snake_case_name", "2*3*4 snake_case_name"),
        ("<@U1> in <#C1>, <!here>", "{@ada} in {#orders}, {@here}"),
        ("&lt;@U1&gt;", "&lt;@U1&gt;"),
        ("`*a*` &amp; b", "<code>*a*</code> &amp; b"),
        ("&gt; said\nso", "<blockquote>said</blockquote><br>so"),
        ("<javascript:alert(1)|safe>", "safe"),
        (":tada: :unknown:", "🎉 :unknown:"),
        ("```a\n&gt; b```", '<pre tabindex="0">a&#10;&gt; b</pre>'),
    ],
)
def test_mrkdwn(text: str, html: str) -> None:
    mention = '<span class="mention">'
    assert mrkdwn(text, NAMES) == html.replace("{", mention).replace("}", "</span>")


def test_markdown_names_people_and_pictures() -> None:
    drawn = markdown("**hi** <@U1> <@U2> ![a cat](https://x.example/cat.png)", NAMES)
    assert "<strong>hi</strong>" in drawn
    assert '<span class="mention">@ada</span> &lt;@U2&gt;' in drawn
    assert "[picture: a cat]</a>" in drawn


def test_a_list_and_code_of_rich_text() -> None:
    item: JsonObject = {
        "type": "rich_text_section",
        "elements": [{"type": "user", "user_id": "U1"}],
    }
    code: JsonObject = {
        "type": "rich_text_preformatted",
        "elements": [{"type": "text", "text": "<b>\n"}],
    }
    listed: JsonObject = {"type": "rich_text_list", "style": "ordered", "elements": [item]}
    drawn = rich_text({"elements": [listed, code]}, NAMES)
    assert drawn == (
        '<ol><li><div><span class="mention">@ada</span></div></li></ol>'
        '<pre tabindex="0">&lt;b&gt;\n</pre>'
    )
