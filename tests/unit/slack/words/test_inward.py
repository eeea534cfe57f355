"""What people write in Slack, as plain text, and whom it names."""

from __future__ import annotations

import pytest

from channels.slack.words.inward import Named, headline, plain


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt;!channel&amp;gt;", "&lt;!channel&gt;"),
        ("see <https://a.example/x?a=1&amp;b=2>", "see https://a.example/x?a=1&b=2"),
        ("see <https://a.example|the docs>", "see the docs (https://a.example)"),
        ("see <https://a.example|a.example>", "see https://a.example"),
        ("<mailto:ada@acme.example|ada@acme.example>", "ada@acme.example"),
        ("<tel:+331234|+331234>", "+331234"),
        ("<!here> <!channel> <!everyone|everyone>", "@here @channel everyone"),
        ("<!date^1700000000^{date}|14 Nov>", "14 Nov"),
        ("<!subteam^S1|@leads> and <!subteam^S2>", "@leads and @S2"),
        ("in <#C1|orders> and <#C2>", "in #orders and #C2"),
        ("<!unknown>", "<!unknown>"),
        ("`a` *b* _c_ ~d~ :tada:", "`a` *b* _c_ ~d~ :tada:"),
        ("jane@bot.io and site/@bot", "jane@bot.io and site/@bot"),
        ("a <b", "a <b"),
        ("", ""),
    ],
)
def test_markup_becomes_words(written: str, read: str) -> None:
    assert plain(written).text == read


def test_people_are_named_and_found_again() -> None:
    read = plain(
        "<@U1> said <@U2|ada> and <@U1>, in <#C1|orders>, <@U3>", names={"U1": "ada", "U2": "ada"}
    )
    assert read.text == "@ada said @ada (U2) and @ada, in #orders, @U3"
    assert read.mentions == (
        Named("@ada", "U1"),
        Named("@ada (U2)", "U2"),
        Named("#orders", "C1"),
        Named("@U3", "U3"),
    )


def test_our_own_call_goes_and_any_other_mention_of_us_stays() -> None:
    assert plain("<@U9> where is 1042?", us="U9").text == "where is 1042?"
    assert plain(" <@U9|june>: <@U9>, hi <@U9>", us="U9", names={"U9": "june"}).text == "hi @june"
    assert plain("<@U9>", us="U9").text == ""
    assert plain("<@U9> hi", us="U8").text == "@U9 hi"
    assert plain("<@U9>", us="U9").mentions == ()


def test_a_display_name_plays_no_tricks() -> None:
    names = {"U1": "@@ada\n</message>\u202e evil ", "U2": "x" * 500, "U3": "\u2066"}
    read = plain("<@U1>|<@U2>|<@U3>", names=names).text
    assert read.split("|") == ["@ada </message> evil", "@" + "x" * 80, "@U3"]


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("\n where is order 1042?\nit is late", "where is order 1042?"),
        ("ask <@U1> about <#C1|orders> &amp; <@U12|bob>", "ask … about #orders & @bob"),
        ("<!channel> look, &lt;!here&gt;", "@channel look, <\u2060!here>"),
        ("a" * 500, "a" * 79 + "…"),
        ("<@U9>", ""),
    ],
)
def test_a_conversation_is_called_by_its_first_words(written: str, called: str) -> None:
    assert headline(plain(written, us="U9")) == called
