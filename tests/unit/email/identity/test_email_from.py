"""From names somebody only where no program could read it in another way."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from channels.email.identity.author import read
from channels.email.identity.domains import a_label, aligned, organisation
from channels.email.identity.recipients import addresses
from channels.email.mail import Field, Mail


def named(*values: bytes) -> Mail:
    return Mail(fields=tuple(Field("from", value, at) for at, value in enumerate(values)))


@pytest.mark.parametrize(
    ("value", "address", "display"),
    [
        (b" ada@customer.example", "ada@customer.example", ""),
        (b"<ada@customer.example>", "ada@customer.example", ""),
        (b" Ada <ada@customer.example>", "ada@customer.example", "Ada"),
        (b" Ada<Ada.B+x@Customer.EXAMPLE> ", "ada.b+x@customer.example", "Ada"),
        (b" Ada L. King\r\n\t<ada@customer.example>\r\n", "ada@customer.example", "Ada L. King"),
        (
            b' "King, Ada (sales)" <ada@customer.example>',
            "ada@customer.example",
            "King, Ada (sales)",
        ),
        (b' "A \\"x\\" B" C <ada@customer.example>', "ada@customer.example", 'A "x" B C'),
        (b" =?utf-8?q?Ad=C3=A0?= <ada@customer.example>", "ada@customer.example", "Adà"),
        (b" =?utf-8?b?QQ0KQmNjOiB4?= <a@customer.example>", "a@customer.example", "A Bcc: x"),
        (b" =?utf-8?q?a=E2=80=AEb?= <a@customer.example>", "a@customer.example", "ab"),
        (b" a@xn--bcher-kva.example", "a@xn--bcher-kva.example", ""),
        (" A <a@BÜcher.example>".encode(), "a@xn--bcher-kva.example", "A"),
        ("a@straße.example".encode(), "a@xn--strae-oqa.example", ""),
        (b" a@pay-co.example.my-bank.com", "a@pay-co.example.my-bank.com", ""),
    ],
)
def test_plain_shapes_name_their_author(value: bytes, address: str, display: str) -> None:
    found = read(named(value))
    assert found.author is not None
    assert found.author.address == address
    assert found.author.domain == address.rpartition("@")[2]
    assert found.author.display == display
    assert found.reasons == ()


VICTIM, ATTACKER = b"alice@good.example", b"eve@evil.example"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        # one reader sees the first, a filter the second
        (VICTIM + b" <" + ATTACKER + b">", "from_grammar"),
        (VICTIM + b"\r\n <" + ATTACKER + b">", "from_grammar"),
        (VICTIM + b"\x0b<" + ATTACKER + b">", "from_grammar"),
        (VICTIM + b")" + ATTACKER, "from_address"),
        (VICTIM + b":" + ATTACKER + b";", "from_address"),
        (b"<" + VICTIM + b">" + ATTACKER, "from_grammar"),
        (b"<" + VICTIM + b"> <" + ATTACKER + b">", "from_grammar"),
        (b"<" + VICTIM + b">\r\n <" + ATTACKER + b">", "from_grammar"),
        (b"<@a.example,@b.example:" + ATTACKER + b">", "from_address"),
        (VICTIM + b", " + ATTACKER, "from_grammar"),
        (VICTIM + b"," + ATTACKER, "from_address"),
        (b"Alice <" + VICTIM + b">, Eve <" + ATTACKER + b">", "from_grammar"),
        (b"Team: " + ATTACKER + b";", "from_grammar"),
        (b"undisclosed:;", "from_grammar"),
        # what a strict reader refuses
        (ATTACKER + b" (" + VICTIM + b")", "from_grammar"),
        (b"(x) " + ATTACKER, "from_grammar"),
        (b"Eve <eve(x)@evil.example>", "from_address"),
        (b'"eve"@evil.example', "from_address"),
        (b'Eve <"a b"@evil.example>', "from_grammar"),
        (b"Eve < eve@evil.example>", "from_grammar"),
        (b"Eve <eve@evil.example> x", "from_grammar"),
        (b"Eve <eve@evil.example", "from_grammar"),
        (b"<>", "from_address"),
        (b"", "from_grammar"),
        (b"Eve", "from_grammar"),
        (b'"Eve <eve@evil.example>', "from_grammar"),
        (b"=?utf-8?q?alice=40good.example?=", "from_grammar"),
        (b"=?utf-8?q?alice?=@good.example", "from_address"),
        (b"<=?utf-8?q?alice=40good.example?= eve@evil.example>", "from_grammar"),
        (b"A\0 <eve@evil.example>", "from_grammar"),
        (b"eve@evil.example\0", "from_grammar"),
        (b"A\rFrom: x <eve@evil.example>", "from_grammar"),
        (b"A\nFrom: x <eve@evil.example>", "from_grammar"),
        (b"eve@evil.example\r\nBcc: x", "from_grammar"),
        (b"\xc3\x84 <eve@evil.example>", "from_grammar"),
        (b"\xe9ve@evil.example", "from_grammar"),
        (b"<\xe9ve@evil.example>", "from_address"),
        # domains that no DNS holds
        (b"eve@localhost", "from_address"),
        (b"eve@evil.example.", "from_address"),
        (b"eve@[192.0.2.1]", "from_address"),
        (b"eve@192.0.2.1", "from_address"),
        (b"eve@-evil.example", "from_address"),
        (b"eve@ev_il.example", "from_address"),
        (b"eve@evil..example", "from_address"),
        (b"eve@ab--cd.example", "from_address"),
        (b"eve@xn--a.example", "from_address"),
        (b"eve@xn--abc-.example", "from_address"),
        (b"eve@\xe9vil.example", "from_address"),
        ("eve@e\u200dvil.example".encode(), "from_address"),
        ("eve@evil。example.com".encode(), "from_address"),
        ("eve@ｅvil.example".encode(), "from_address"),
        (b"eve@" + b"a" * 64 + b".example", "from_address"),
        (b"e" * 65 + b"@evil.example", "from_address"),
        (b".eve@evil.example", "from_address"),
        (b"e" * 3000 + b"@evil.example", "from_too_long"),
    ],
)
def test_every_other_shape_names_nobody(value: bytes, word: str) -> None:
    found = read(named(value))
    assert found.author is None
    assert [reason for reason, _ in found.reasons] == [word]
    assert found.shown.isprintable()


def test_one_from_field_it_must_be() -> None:
    assert read(Mail(fields=())).reasons[0][0] == "from_missing"
    twice = read(named(ATTACKER, VICTIM))
    assert twice.author is None
    assert twice.reasons[0][0] == "from_repeated"
    assert "alice" in twice.shown
    assert "eve" in twice.shown
    blank = Mail(fields=(Field("from", VICTIM, 0), Field("from ", ATTACKER, 1)))
    assert read(blank).reasons[0][0] == "from_repeated"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (b'"alice@good.example" <eve@evil.example>', "display_is_address"),
        (b'"Alice <alice@good.example>" <eve@evil.example>', "display_is_address"),
        (b"=?utf-8?q?alice=40good.example?= <eve@evil.example>", "display_is_address"),
        (
            b"=?utf-8?q?alice=EF=BC=A0good.example?= <eve@evil.example>",
            "display_is_address",
        ),
        ("eve@evіl.example".encode(), "mixed_script"),
    ],
)
def test_names_made_to_be_mistaken_are_flagged(value: bytes, word: str) -> None:
    found = read(named(value))
    assert found.author is not None
    assert [reason for reason, _ in found.reasons] == [word]


def test_a_display_name_may_repeat_the_address() -> None:
    assert read(named(b'"Eve@evil.example" <eve@evil.example>')).reasons == ()


# -- against another reading ------------------------------------------------------------------------------
_ATEXT = r"[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]"
_FWS = r"(?:(?:\r?\n)?[ \t])*"
_PHRASE = rf"(?:(?:(?:{_ATEXT}|\.)+|\"(?:[^\"\\\0-\x08\x0a-\x1f\x7f]|\\[^\0-\x08\x0a-\x1f\x7f]|(?:\r?\n)(?=[ \t]))*\")(?:{_FWS}(?=<)|(?:(?:\r?\n)?[ \t])+))*"
_ADDRESS = rf"({_ATEXT}+(?:\.{_ATEXT}+)*)@([A-Za-z0-9.\-\x80-\xff]+)"
_REFERENCE = re.compile(rf"{_FWS}(?:{_PHRASE}<{_ADDRESS}>|{_ADDRESS}){_FWS}(?:\r?\n)?")

_PIECES = st.sampled_from(
    [b"ada", b"customer.example", b"xn--bcher-kva", "bücher".encode(), b"=?utf-8?q?a?=", b"\r\n ", b"\n"]
    + [bytes([code]) for code in b'@<>.,:;()[]"\\ \t\r\0\x0b\x7f-_'],
)  # fmt: skip
_VALID = st.sampled_from(
    [b" Ada <ada@customer.example>", b"ada@customer.example", b'"A" B <a@xn--bcher-kva.example>']
)


@st.composite
def _changed(draw: st.DrawFn) -> bytes:
    value = draw(_VALID)
    at = draw(st.integers(0, len(value)))
    return value[:at] + draw(_PIECES) + value[at + draw(st.integers(0, 2)) :]


@settings(max_examples=60)
@given(_changed() | st.lists(_PIECES, max_size=9).map(b"".join) | st.binary(max_size=30))
def test_an_author_is_named_only_where_a_second_grammar_agrees(value: bytes) -> None:
    found = read(named(value))
    assert found.shown.isprintable()
    if found.author is None:
        return
    matched = _REFERENCE.fullmatch(value.decode("latin-1"))
    assert matched is not None
    local, domain = (part for part in matched.groups() if part is not None)
    assert found.author.address == f"{local.lower()}@{found.author.domain}"
    plain = domain.encode("latin-1").decode().lower()
    for wanted, label in zip(plain.split("."), found.author.domain.split("."), strict=True):
        spelt = label.removeprefix("xn--").encode()
        assert wanted == label or (spelt != label.encode() and wanted == spelt.decode("punycode"))
    assert re.fullmatch(r"(?!-)[a-z0-9-]+(\.(?!-)[a-z0-9-]+)+", found.author.domain)


# -- domains and lists -------------------------------------------------------------------------------------
def test_domains_have_one_spelling() -> None:
    assert a_label("Customer.EXAMPLE") == "customer.example"
    assert a_label("аpple.example") != a_label("apple.example")
    assert a_label("") is None


def test_an_owner_is_one_label_below_a_public_suffix() -> None:
    assert organisation("a.b.customer.example") == "customer.example"
    assert organisation("example") is None
    assert aligned("mail.customer.example", "customer.example", relaxed=True)
    assert not aligned("mail.customer.example", "customer.example", relaxed=False)
    # Each a site of somebody else's below one provider; a last label that no list knows; a hyphen.
    assert not aligned("a.github.io", "b.github.io", relaxed=True)
    assert not aligned("cust.example", "evil.example", relaxed=True)
    assert not aligned("x.internal", "y.internal", relaxed=True)
    assert not aligned("example.my", "example.my-bank.com", relaxed=True)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (b" a@b.example, C <d@e.example> (x), ", ("a@b.example", "d@e.example")),
        (b'Group: "x, y" <A@b.example>, c@d.example;', ("a@b.example", "c@d.example")),
        (b'"support@shop.example" <x@evil.example>', ("x@evil.example",)),
        (b"(support@shop.example) x@evil.example", ("x@evil.example",)),
        (b"support@shop.example x@evil.example", ()),
        (b"<a@b.example> <c@d.example>", ()),
        (b'"a@b.example', ()),
        (b"a@b.example\0", ()),
        (b"", ()),
    ],
)
def test_lists_give_their_plain_addresses(value: bytes, found: tuple[str, ...]) -> None:
    assert addresses(value) == found
