"""A label that reads like an address has to be the link's own."""

from __future__ import annotations

import pytest

from channels.slack.words.links import judge, leads_somewhere, resolved


@pytest.mark.parametrize(
    ("label", "href"),
    [
        ("the docs", "https://docs.example/a"),
        ("docs.example", "https://docs.example/a"),
        ("https://docs.example/a/b.c", "https://DOCS.example:443/a"),
        ("www.docs.example", "https://docs.example"),
        ("`docs.example.`", "http://docs.example"),
        ("bücher.example", "https://xn--bcher-kva.example"),
        ("version 1.2.3 of report.pdf at 10:30", "https://a.example"),
        ("Node.js e.g. v2", "https://a.example"),
        ("ada@acme.example", "mailto:ada@acme.example?subject=x"),
        ("write to us", "mailto:ada@acme.example"),
        ("10.0.0.1", "http://10.0.0.1:8080/"),
        ("", "https://a.example"),
    ],
)
def test_an_honest_link_stays(label: str, href: str) -> None:
    assert judge(label, href).verdict == "keep"


@pytest.mark.parametrize(
    ("label", "href"),
    [
        ("bank.example", "https://evil.example"),
        ("bank.example", "https://bank.example.evil.example"),
        ("bank.example", "https://login.bank.example"),
        ("https://bank", "https://evil"),
        ("Sign in at BANK.example/login now", "https://evil.example"),
        ("**bank**.example", "https://evil.example"),
        ("ba\u200bnk\u00ad.example", "https://evil.example"),
        ("bank．example", "https://evil.example"),
        ("bank。example", "https://evil.example"),
        ("bank&period;example", "https://evil.example"),
        ("ｂａｎｋ.example", "https://evil.example"),
        ("b\u0430nk.example", "https://bank.example"),
        ("evil.example and bank.example", "https://evil.example"),
        ("ada@bank.example", "https://evil.example"),
        ("ada@bank.example", "mailto:ada@evil.example"),
        ("ada@bank.example", "mailto:eve@bank.example"),
        ("192.168.0.1", "http://10.0.0.1"),
        ("words", "https://bank.example@evil.example"),
    ],
)  # fmt: skip
def test_a_label_that_promises_another_host_is_shown_beside_the_real_one(
    label: str, href: str
) -> None:
    judged = judge(label, href)
    assert judged.verdict == "show"
    assert "evil" in judged.printed or "bank.example" in judged.printed or "10.0" in judged.printed


@pytest.mark.parametrize(
    "href",
    [
        *("javascript:alert(1)", "JAVASCRIPT:x", "slack://open", "data:text/html,x", "file:///x"),
        *("vbscript:x", "ftp://a.example", "./readme.md", "#top", "//evil.example", "evil.example"),
        *("https:/evil.example", "https:evil.example", "https://", "https://evil.example\\@a.b"),
        *("https://e vil.example", "https://evil.example\n", "https://e%76il.example", "mailto:"),
        *("https://[::1", "https://a.example\u202e", "mailto:nobody", ""),
    ],
)
def test_what_no_browser_should_be_sent_to_is_no_link(href: str) -> None:
    if href == "https://evil.example\n":
        assert judge("x", href).target == "https://evil.example"
    else:
        assert judge("x", href).verdict == "drop"


def test_an_address_is_printed_so_that_it_ends_where_it_ends() -> None:
    judged = judge("bank.example", "https://user:pw@evil.example/a)b|c>d?x=1&lt;!here")
    assert judged.printed == "https://evil.example/a%29b%7Cc%3Ed?x=1%26lt;!here"
    assert judged.target == "https://evil.example/a)b%7Cc%3Ed?x=1&lt;!here"


def test_targets_are_read_as_markdown_spells_them() -> None:
    assert resolved(r"https://a.example/\(x\)&amp;y\q") == r"https://a.example/(x)&y\q"


def test_a_subscript_leads_nowhere() -> None:
    for nowhere in ("x", "a, b", "std::move(x)", "key: value", "a ? b : c"):
        assert not leads_somewhere(nowhere)
    for somewhere in ("https://a.example", "//a.example", "x javascript:alert", "WWW.a.example"):
        assert leads_somewhere(somewhere)
