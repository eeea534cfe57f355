"""No words of a model ping anybody, show another host than they lead to, or turn letters around."""

from __future__ import annotations

import pytest

from channels.slack.words.guard import feed, guarded, one_line
from channels.slack.words.guardstate import JOINER as J
from channels.slack.words.guardstate import Guard, straighten
from tests.unit.slack.words.oracle import MENTION, labelled, live, unbalanced

TOKENS = [
    *("<!channel>", "<!here>", "<!everyone>", "<!here|here>", "<@U1>", "<@W1|ada>", "<#C1>"),
    *("<#C1|orders>", "<!subteam^S1>", "<!subteam^S1|@leads>", "<!date^1^{date}|now>"),
]
LESS_THAN = [
    *("&lt;", "&lt", "&LT;", "&#60;", "&#60", "&#060;", "&#0000000000060;", "&#x3c;", "&#X3C;"),
    *(
        "&#x003c",
        "&amp;lt;",
        "&amp;amp;lt;",
        "&#38;lt;",
        "\\<",
        "<\\",
        "&lt;\\\\",
        "&\u202elt;",
        "&\\#60;",
    ),
]
SIGILS = [("!", "&excl;"), ("!", "&#33;"), ("@", "&commat;"), ("@", "&#x40;"), ("#", "&num;")]
SPELLED = [
    *TOKENS,
    *(spelled + token[1:] for spelled in LESS_THAN for token in ("<!channel>", "<@U1>", "<#C1>")),
    *(f"{less}{entity}channel>" for less in ("<", "&lt;", "&#60;") for _, entity in SIGILS),
    *("<\u202e!channel>", "<\u2067\u2069!here>", "<&amp;excl;here>", "&lt" + ";" + "!here&gt;"),
]
AROUND = {
    "text": "see {} there",
    "start": "{}",
    "span": "run `{}` now",
    "fence": "```\n{}\n```\n",
    "tilde fence": "~~~sh\n{}\n",
    "unclosed span": "an ` and {}",
    "table": "| a |\n|---|\n| {} |\n",
    "heading": "# {}\n",
    "quote": "> - {}\n",
    "label": "[{}](https://a.example)",
    "label that lies": "[bank.example {}](https://evil.example)",
    "target": "[a](https://a.example/{})",
    "title": '[a](https://a.example "{}")',
    "bold": "**{}**",
    "emphasis inside": "<**{}",
    "doubled": "<<{}>>",
}


def streamed(*pieces: str) -> str:
    state, said = Guard(), ""
    for piece in pieces:
        state, more = feed(state, piece)
        said += more
    state, more = feed(state, "", True)
    assert not state.held
    return said + more


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize("token", SPELLED)
def test_no_spelling_of_a_ping_survives_in_any_place(token: str, around: str) -> None:
    text = around.format(token)
    assert live(text), "the case tests nothing"
    assert not live(guarded(text))


@pytest.mark.parametrize("token", [*SPELLED, "<https://evil.example|bank.example>"])
def test_a_ping_cut_in_two_at_any_place_is_no_ping_either(token: str) -> None:
    for around in ("a {} b", "`{}`", "```\n{}\n```"):
        text = around.format(token)
        for at in range(len(text) + 1):
            assert streamed(text[:at], text[at:]) == guarded(text)
            first, second = guarded(text[:at]), guarded(text[at:])
            assert not live(first), "a part that ends here"
            assert not live(second), "a part that begins here"


def test_a_ping_looks_as_it_was_written() -> None:
    assert guarded("tell <!here> & <@U1>") == f"tell &lt;{J}!here> & &lt;{J}@U1>"
    assert guarded("`<!here>`") == f"`<{J}!here>`"


@pytest.mark.parametrize(
    "text",
    [
        "a < b, 3<4, <3, <- and x<=y",
        "jane@bot.io, site/@bot, `@scope/pkg`, @here, C# and #channel!",
        "<https://a.example/x?y=1&z=2#top> and <mailto:ada@acme.example> and <ada@acme.example>",
        "https://a.example/?a=1&lt=2&b=3#frag",
        "```ts\n[key: string]: any\nhandlers[name](request, response)\n```\n",
        "```cpp\nstd::map<std::string, int> m; f[i](std::move(x));\n```\n",
        "```rust\nfn f(x: Vec<&str>) -> Option<&T>\n```\n",
        '```xml\n<xs:element name="a"/> <xsl:if test="a|b"/>\n```\n',
        "```md\n[label](https://a.example) [other](./docs.md)\n```\n",
        "`f[x](y)` and `<div>` and `a && b`",
        "[docs](https://docs.example/a_(b)) ![logo](https://a.example/l.png)",
        '[docs](<https://docs.example/a> "The title") [a.example](https://www.a.example/)',
        "- [ ] open\n- [x] done\n1. [one](https://a.example)\n",
        "| a | b |\n|:--|--:|\n| `x` | **y** |\n",
    ],
)
def test_what_is_harmless_stays_to_the_letter(text: str) -> None:
    assert guarded(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "[bank.example](https://evil.example/in)",
            f"{J}bank.example (https://evil.example/in)",
        ),
        ("![bank.example](https://evil.example)", f"{J}bank.example (https://evil.example)"),
        ("[**bank**.example](https://evil.example)", f"{J}**bank**.example (https://evil.example)"),
        ("[x](https://bank.example@evil.example/a)", f"{J}x (https://evil.example/a)"),
        ("[ada@acme.example](mailto:eve@evil.example)", f"{J}ada@acme.example (eve@evil.example)"),
        ("[x](javascript:alert(1))", f"[x]{J}(javascript:alert(1))"),
        ("[x](slack://open)", f"[x]{J}(slack://open)"),
        ("[x](data:text/html;base64,xx)", f"[x]{J}(data:text/html;base64,xx)"),
        ("[x](./readme.md)", f"[x]{J}(./readme.md)"),
        ("[x](https://evil.example oops)", f"[x]{J}(https://evil.example oops)"),
        ("[bank.example](evil.example oops)", f"[bank.example]{J}(evil.example oops)"),
        ("[x](https://evil.example", f"[x]{J}(https://evil.example"),
        ("[bank.example][1]\n\n[1]: https://evil.example", f"[bank.example][1]\n\n[1]{J}: https://evil.example"),
        ("```\n[a]: https://evil.example\n", f"```\n[a]{J}: https://evil.example\n"),
        ("<https://evil.example|bank.example>", f"&lt;{J}https://evil.example|bank.example>"),
        ("`<https://evil.example|bank.example>`", f"`<{J}https://evil.example|bank.example>`"),
        ("<www.evil.example|bank.example>", f"&lt;{J}www.evil.example|bank.example>"),
        ("<slack://open>", f"&lt;{J}slack://open>"),
        ("`[bank.example](https://evil.example)`", f"`[bank.example]{J}(https://evil.example)`"),
    ],
)  # fmt: skip
def test_a_link_that_lies_is_shown_for_what_it_is(text: str, shown: str) -> None:
    assert guarded(text) == shown
    for at in range(len(text)):
        assert streamed(text[:at], text[at:]) == shown


def test_code_that_never_was_hides_no_link() -> None:
    """An open backtick or a fence that Slack doesn't see: the link is no link all the same."""
    for start in ("an ` open, ", "> - ```\n", "      ```\n", "```\n~~~\n", "a `` b ` c "):
        said = guarded(start + "[bank.example](https://evil.example)")
        assert "](" not in said


def test_links_inside_links_are_judged_one_by_one() -> None:
    said = guarded("[a [b.example](https://evil.example) c](https://ok.example)")
    assert said == f"{J}a {J}b.example (https://evil.example) c (https://ok.example)"


def test_nothing_grows_together_where_a_bracket_went() -> None:
    said = guarded("<[!subteam^S1|bank.example](https://evil.example)>")
    assert not live(said)
    assert not labelled(guarded("<htt[ps://x.example|bank.example](https://evil.example)>"))


def test_directions_are_closed_in_their_paragraph() -> None:
    text = "a\u202eb\u2066c\nd\u2069 e\u2067f\u2069\u2069\u200f"
    assert guarded(text) == "ab\u2066c\u2069\nd e\u2067f\u2069\u200f"
    assert not unbalanced(straighten("\u2066" * 500)[0])
    state, said = feed(Guard(), "\u2066a")
    assert (said, state.isolates) == ("\u2066a", 1)
    assert feed(state, "b", True)[1] == "b\u2069"


def test_only_what_is_undecided_waits() -> None:
    def waits(text: str) -> str:
        return feed(Guard(), text)[0].held

    assert waits("plain words") == ""
    assert waits("a <") == "<"
    assert waits("a <https://a.exam") == "<https://a.exam"
    assert waits("see [label") == "[label"
    assert waits("see [label](https://a.ex") == "[label](https://a.ex"
    assert waits("see [label] and") == ""
    assert waits("a `") == "`"
    assert waits("wow!") == "!"
    for long in ("<https://" + "a" * 5_000, "[" + "b" * 5_000, "[a](" + "c" * 5_000):
        assert len(waits(long)) <= 2_100


def test_a_title_is_one_line_without_a_token() -> None:
    for token in SPELLED:
        assert not live(one_line(f"Looking up {token}", 256))
    assert one_line("a\n b\u202e\tc", 256) == "a b c"
    assert one_line("<@U1>", 256) == f"<{J}@U1>"
    assert one_line("x" * 300, 256) == "x" * 255 + "…"
    for limit in range(1, 12):
        assert len(one_line("<!channel> is here", limit)) <= limit
        assert not live(one_line("<!channel> is here", limit))


@pytest.mark.parametrize(
    "piece", ["[a](", "[", "<a:", "&lt;!", "`", "![", "](", "\\<!", "&#60", "[a]:"]
)
def test_hostile_text_is_guarded_in_linear_time(piece: str) -> None:
    """A guard that looks back at all it has seen would run into the test's timeout."""
    text = piece * (60_000 // len(piece))
    said = guarded(text)
    assert len(said) >= len(text) // 2
    assert not MENTION.search(said)
