"""A model's words in a mail: readable, and unable to lie about where they lead."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from channels.email.render import EMPTY, MARKER, bodies, marked
from channels.email.writing.looks.links import judge
from channels.email.writing.looks.markdown import MOST_TEXT

ALLOWED = {
    *(
        "html",
        "head",
        "meta",
        "body",
        "div",
        "p",
        "strong",
        "em",
        "s",
        "code",
        "pre",
        "hr",
        "br",
        "a",
    ),
    *("ul", "ol", "li", "blockquote", "table", "tr", "th", "td"),
}


class Seen(HTMLParser):
    """What a mail program makes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.links: list[tuple[str, str]] = []
        self.feed(html)
        self.close()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "a":
            self.links.append((dict(attrs)["href"] or "", ""))

    @override
    def handle_data(self, data: str) -> None:
        self.text += data
        if self.tags and self.tags[-1][0] == "a" and self.links[-1][1] == "":
            self.links[-1] = (self.links[-1][0], data)


def test_markdown_becomes_both_bodies() -> None:
    text, html = bodies(
        "# Order 7\n\nHello **Ada**,\nit *is* `on` ~~no~~ way.\n\n- one\n  - two\n- [x] three\n\n"
        "3. a\n4. b\n\n> said\n\n```\nx  <y\n```\n\n---\n\n| item | price |\n|:--|--:|\n| tea | 日本 |\n| milk | 2 |\n"
    )
    assert text == (
        "Order 7\n\nHello Ada,\nit is on no way.\n\n- one\n  - two\n- ☑ three\n\n"
        "3. a\n4. b\n\n> said\n\n    x  <y\n\n" + "-" * 40 + "\n\n"
        "item | price\n-----+------\ntea  | 日本\nmilk | 2\n"
    )
    seen = Seen(html)
    assert {tag for tag, _ in seen.tags} == ALLOWED - {"a"}
    assert "x  <y" in seen.text
    assert any("text-align:right" in (given.get("style") or "") for _, given in seen.tags)
    assert ("ol", "3") in [(tag, given.get("start")) for tag, given in seen.tags]


def test_a_wide_table_is_told_row_by_row() -> None:
    text, _ = bodies(f"| name | words |\n|--|--|\n| a | {'long ' * 20}|\n| b | c |\n")
    assert text == f"name: a\nwords: {('long ' * 20).strip()}\n\nname: b\nwords: c\n"


def test_a_quotations_lines_all_have_their_mark() -> None:
    text, _ = bodies("> " + "word " * 40)
    assert len(text.splitlines()) > 1
    assert all(line.startswith("> ") for line in text.splitlines())


@pytest.mark.parametrize(
    ("label", "href"),
    [
        ("the docs", "https://docs.example/a?b=1&c"),
        ("docs.example", "https://docs.example/a"),
        ("https://docs.example/x", "https://DOCS.example:443/a"),
        ("www.docs.example.", "https://docs.example"),
        ("ada@acme.example", "mailto:ada@acme.example"),
        ("Sign in, at 10:30!", "https://a.example"),
    ],
)
def test_an_honest_link_stands_alone(label: str, href: str) -> None:
    link = judge(label, href)
    assert link is not None
    assert link.honest
    assert Seen(bodies(f"[{label}]({href})")[1]).links[0][1] == label


@pytest.mark.parametrize(
    ("label", "href"),
    [
        ("bank.example", "https://evil.example"),
        ("bank.example", "https://bank.example.evil.example"),
        ("Sign in at BANK.example/login now", "https://evil.example"),
        ("ba\u200bnk\u00ad.example", "https://evil.example"),
        ("bank．example", "https://evil.example"),
        ("bank。example", "https://evil.example"),
        ("https://bank", "https://evil.example"),
        ("b\u0430nk.example", "https://evil.example"),
        ("bank&period;example", "https://evil.example"),
        ("**bank**.example", "https://evil.example"),
        ("ada@bank.example", "https://evil.example"),
        ("ada@bank.example", "mailto:ada@evil.example"),
        ("words", "https://bank.example@evil.example"),
        ("evil.example@bank.example", "https://evil.example"),
    ],
)
def test_a_label_that_promises_another_place_is_no_link_and_the_place_is_shown(
    label: str, href: str
) -> None:
    text, html = bodies(f"[{label}]({href})")
    seen = Seen(html)
    ((target, shown),) = seen.links
    assert "evil.example" in shown
    assert shown in target
    assert "@" not in target.removeprefix("mailto:ada@")
    assert f"<{shown}>" in text


@pytest.mark.parametrize(
    "href",
    [
        *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "file:///x", "tel:+1"),
        *("vbscript:x", "./readme.md", "//evil.example", "cid:1", "https:evil.example", "https://"),
        *(
            "https://e%76il.example",
            "mailto:nobody",
            "mailto:a@b.example,c@d.example",
            "http://a b",
        ),
        *("&#106;avascript:alert(1)", "java\tscript:alert(1)", "https://[::1]/", "http://a..b"),
    ],
)
def test_what_no_reader_should_be_sent_to_is_no_link(href: str) -> None:
    for markdown in (f"[words]({href})", f"[words](<{href}>)", f"![words]({href})", f"<{href}>"):
        assert Seen(bodies(markdown)[1]).links == []


def test_a_letter_to_somebody_is_all_that_a_link_can_begin() -> None:
    _, html = bodies("[write](mailto:ada@acme.example?bcc=eve@evil.example&body=x)")
    assert Seen(html).links == [("mailto:ada@acme.example", "write")]


def test_no_picture_is_loaded() -> None:
    text, html = bodies("![a map](https://track.example/1.png) ![](https://track.example/2.png)")
    seen = Seen(html)
    assert "img" not in {tag for tag, _ in seen.tags}
    assert [target for target, _ in seen.links] == [
        "https://track.example/1.png",
        "https://track.example/2.png",
    ]
    assert text == "a map <https://track.example/1.png> https://track.example/2.png\n"


@pytest.mark.parametrize(
    "trick", ["\u202e", "\u2066", "&#x202e;", "&#8238;", "\x00", "&#0;", "\x1b", "&#x9b;", "\x7f"]
)
def test_no_letter_is_turned_around_and_no_control_is_left(trick: str) -> None:
    for markdown in (f"a{trick}b", f"`a{trick}b`", f"```\na{trick}b\n```", f"[a{trick}b](https://x.example)", f"| a{trick}b |\n|--|\n"):  # fmt: skip
        for body in bodies(markdown):
            assert not set(body) & set("\u202e\u2066\x00\x1b\x9b\x7f")


@pytest.mark.parametrize(
    "html",
    [
        "<script>alert(1)</script>",
        "<img src=https://x.example onerror=alert(1)>",
        "a <b onclick=x>b</b>",
        "<!-- x --><style>*{}</style>",
        "`<script>`",
        "```html\n<script>\n```",
        '[x](https://x.example/"onmouseover="alert(1))',
        '[x](https://x.example "<script>")',
        '```"><script>\nx\n```',
    ],
)
def test_no_tag_and_no_attribute_is_the_models(html: str) -> None:
    for tag, attributes in Seen(bodies(html)[1]).tags:
        assert tag in ALLOWED
        assert set(attributes) <= {"style", "href", "start", "charset", "name", "content"}


@settings(max_examples=40)
@given(st.text(st.sampled_from("<>\"'&;[]()!*_`~#|-> \n\\:/.@ab1\u202e\u200d=x"), max_size=120))
def test_whatever_is_said_the_page_holds_our_tags_and_safe_links_only(markdown: str) -> None:
    text, html = bodies(markdown)
    assert text.strip()
    seen = Seen(html)
    assert {tag for tag, _ in seen.tags} <= ALLOWED
    assert all(link.startswith(("http://", "https://", "mailto:")) for link, _ in seen.links)
    assert "\u202e" not in text + html


@pytest.mark.parametrize(
    "text",
    ["*" * 5_000 + "a" + "*" * 5_000, ">" * 500 + "a", "[" * 20_000, "- " * 500 + "a", "x " * MOST_TEXT,
     "\n\n".join("![" * 400 for _ in range(40))],
)  # fmt: skip
def test_what_nobody_can_have_meant_as_markdown_stays_as_it_is(text: str) -> None:
    told, html = bodies(text)
    assert told == text.strip("\n") + "\n"
    assert "<pre" in html


@pytest.mark.parametrize("nothing", ["", "\n \n", "\x00", "\u202e"])
def test_a_mail_is_never_blank(nothing: str) -> None:
    text, html = bodies(nothing)
    assert text == f"{EMPTY}\n"
    assert EMPTY in Seen(html).text


def test_the_marker_stands_above_all_once() -> None:
    text, html = marked(*bodies(f"{MARKER}\n\nHello"))
    assert text.startswith(f"{MARKER}\n\n")
    assert Seen(html).text.strip().startswith(MARKER)
    assert text.count(MARKER) == 2  # the model's own is words
