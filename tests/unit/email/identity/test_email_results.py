"""Authentication-Results by its grammar, and where our part of the header ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.identity.results import Result, results
from channels.email.identity.scan import Unreadable
from channels.email.identity.zone import zone
from tests.unit.email.identity.mails import BORDER, LMTP, PASS, mail

OURS = (Result("dmarc", "pass", (("header.from", "customer.example"),)),)


@pytest.mark.parametrize(
    "value",
    [
        b" mx.shop.example; dmarc=pass header.from=customer.example",
        b"MX.Shop.EXAMPLE; DMARC=Pass Header.From=customer.example",
        b" (a (nested\\) one)) mx.shop.example (b); dmarc=pass (p=none) header.from=customer.example",
        b' "mx.shop.example"; dmarc=pass header.from="customer.example"',
        b"\r\n\tmx.shop.example;\r\n\tdmarc=pass\r\n\theader.from=customer.example\r\n",
        b" mx.shop.example 1; dmarc=pass header.from=customer.example",
        b" mx.shop.example; dmarc/1=pass header.from=customer.example",
        b" mx.shop.example ; dmarc = pass header.from = customer.example ;",
        b" mx.shop.example;dmarc=pass(x)header.from=customer.example;",
        b" mx.shop.example;; none; dmarc=pass header.from=customer.example",
    ],
)
def test_every_spelling_is_one_result(value: bytes) -> None:
    read = results(value)
    assert (read.server, read.all) == ("mx.shop.example", OURS)


def test_real_servers_spellings_are_read() -> None:
    read = results(
        b"spf=pass (sender IP is 192.0.2.1)\r\n smtp.mailfrom=customer.example; dkim=pass (signature\r\n"
        b" was verified) header.d=customer.example;dmarc=pass action=none\r\n"
        b" header.from=customer.example;compauth=pass reason=100"
    )
    assert read.server is None
    assert [result.method for result in read.all] == ["spf", "dkim", "dmarc", "compauth"]
    assert read.all[2].values("header.from") == ("customer.example",)
    read = results(
        b' mx.a.example; dkim=pass header.i=@b.example header.b="a/b+c="; spf=pass smtp.mailfrom="a b"@c.example'
        b" smtp.remote-ip=2001:db8::1; iprev=pass policy.x=y=z"
    )
    assert read.all[0].of == (("header.i", "@b.example"), ("header.b", "a/b+c="))
    assert read.all[1].values("smtp.mailfrom") == ("a b@c.example",)


@pytest.mark.parametrize(
    "value",
    [
        b' mx.shop.example; spf=pass smtp.mailfrom="a; dmarc=pass header.from=good.example"@evil.example',
        b' mx.shop.example; spf=fail reason="x; dmarc=pass header.from=good.example"',
        b' mx.shop.example; spf=pass smtp.mailfrom="\\"; dmarc=pass \\""@evil.example',
        b" mx.shop.example; spf=pass (; dmarc=pass header.from=good.example) smtp.helo=x",
    ],
)
def test_a_result_in_a_value_or_comment_is_none(value: bytes) -> None:
    assert [result.method for result in results(value).all] == ["spf"]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b";",
        b" mx.shop.example 2; dmarc=pass",
        b" mx.shop.example; dmarc/2=pass",
        b" mx.shop.example; dmarc",
        b" mx.shop.example; dmarc=",
        b" mx.shop.example; dmarc=pass header.from",
        b' mx.shop.example; dmarc=pass header.from="x',
        b" mx.shop.example; dmarc=pass (x",
        b" mx.shop.example; dmarc=pass x)",
        b' mx.shop.example; spf=pass (of "a) ; dmarc=pass header.from=good.example ("@evil.example)',
        b" mx.shop.example; dmarc=pass\r\nheader.from=x.example",
        b" mx.shop.example; dmarc=pass\0",
        b" mx.shop.example; " + b"x=y;" * 101,
    ],
)
def test_what_follows_no_grammar_is_unreadable(value: bytes) -> None:
    with pytest.raises(Unreadable):
        results(value)


@settings(max_examples=40)
@given(st.lists(st.sampled_from('a=; ()"\\\t/.1\r\n@'), max_size=40).map("".join))
def test_the_parser_ends_with_results_or_unreadable(value: str) -> None:
    try:
        read = results(value.encode())
    except Unreadable:
        return
    assert all(result.method and result.word for result in read.all)


# -- the zone ----------------------------------------------------------------------------------------------
MX = "mx.shop.example"
FORGED = "Authentication-Results: mx.shop.example; dmarc=pass header.from=good.example"


def test_the_zone_ends_at_the_first_received_of_the_border() -> None:
    found = zone(mail([LMTP, PASS, BORDER, FORGED, BORDER]).fields, MX, gmail=False)
    assert (found.why, found.ends, len(found.results)) == ("", 2, 1)
    assert zone(mail([PASS]).fields, MX, gmail=False).why == "border_missing"
    assert zone(mail([PASS, BORDER]).fields, None, gmail=False).why == "border_not_set"


def test_a_border_that_writes_below_owns_the_first_field_there() -> None:
    found = zone(mail([BORDER, "Received-SPF: pass", PASS, FORGED]).fields, MX, gmail=True)
    assert [field.at for field in found.results] == [2]
    found = zone(mail([BORDER, LMTP, FORGED]).fields, MX, gmail=True)
    assert found.results == ()


@pytest.mark.parametrize(
    "hop",
    [
        # what a HELO with blanks and brackets, and a recipient with one, make of the border's line
        "from a by evil.example (unknown [192.0.2.9]) by mx.shop.example with ESMTP id 1; x",
        "from a by evil.example ( (unknown [192.0.2.9]) by mx.shop.example for <support+)@shop.example>; x",
        "from a by( (unknown [192.0.2.9]) by mx.shop.example for <support+)shop.example>; x",
        'from a by"x" (unknown [192.0.2.9]) by mx.shop.example; x',
        "from by (unknown [192.0.2.9]) by mx.shop.example; x",
        "from a(b (unknown [192.0.2.9]) by mx.shop.example; x",
        'from "a (unknown [192.0.2.9]) by mx.shop.example; x',
        "from a b (unknown [192.0.2.9]) by mx.shop.example; x",
        "from a by mx.shop.example@evil; x",
        "(nobody told)",
        "",
    ],
)
def test_a_received_with_two_readings_ends_the_search(hop: str) -> None:
    found = zone(mail([PASS, f"Received: {hop}", FORGED, BORDER]).fields, MX, gmail=False)
    assert (found.why, found.results) == ("border_unclear", ())
