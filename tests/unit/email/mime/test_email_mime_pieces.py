from __future__ import annotations

import pytest

from channels.email.mime import charsets, clean, headers, params, transfer
from channels.email.mime.html.links import beside
from channels.email.mime.html.tokens import attributes, tokens


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.pdf", "a.pdf"),
        ("../../x/.bashrc", "bashrc"),
        ("C:\\dir\\a.txt", "a.txt"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("a\x00\nb?.txt", "a b_.txt"),
        ("aux.log", "_aux.log"),
        ("...", ""),
        ("/", ""),
        ("x" * 300, "x" * 120),
        ("x" * 300 + ".jpeg", "x" * 115 + ".jpeg"),
    ],
)
def test_a_file_name_only_names(name: str, expected: str) -> None:
    assert clean.filename(name) == expected


@pytest.mark.parametrize(
    ("value", "word", "name", "expected"),
    [
        (b' text/plain; charset="utf-8"', "text/plain", "charset", "utf-8"),
        (b"TEXT/HTML;Charset = utf-8 ;x", "text/html", "charset", "utf-8"),
        (b'a/b; name="q\\"uo;te"; x=y', "a/b", "name", 'q"uo;te'),
        (b"a/b; name=a b.pdf", "a/b", "name", "a b.pdf"),
        (b"a/b; name*=iso-8859-1'de'%E4", "a/b", "name", "ä"),
        (b"a/b; name*0=a; name*1*=%41; name*2=b", "a/b", "name", "aAb"),
        (b"a/b; name=x; name*=utf-8''%E2%82%AC", "a/b", "name", "€"),
        (b"a/b; name*=%zz", "a/b", "name", "%zz"),
        (b"a/b; name*99999=x; name*a=y", "a/b", "name", ""),
        (b"a/b; name=one; name=two", "a/b", "name", "one"),
        (b'a/b; name="never ends', "a/b", "name", "never ends"),
        (b"a/b; name", "a/b", "name", ""),
        (b"a/b; =x; ;;", "a/b", "name", ""),
        (b"a/b (c (d) ; name=no) ; name=yes", "a/b", "name", "yes"),
        (b"a/b; name=open(bracket", "a/b", "name", "open(bracket"),
        ("a/b; name=größe".encode(), "a/b", "name", "größe"),
    ],
)
def test_parameters_in_every_spelling(value: bytes, word: str, name: str, expected: str) -> None:
    read = params.read(value)
    assert (read.word, read.get(name)) == (word, expected)


def test_a_header_ends_where_a_part_does() -> None:
    head = headers.header(b"A: 1\r\n--b\r\nB: 2\r\n", 0, lambda line: line.startswith(b"--b"))
    assert [(each.name, each.value) for each in head.fields] == [("a", b" 1")]
    assert head.body == 6


def test_fields_are_byte_exact() -> None:
    raw = b"From mbox\nA:1\r\n  2\r\n\t3\nB :\xff\x00\rC: 4\n\nD: 5"
    found = [(each.name, each.value, each.at) for each in headers.fields(raw)]
    assert found == [("a", b"1\r\n  2\r\n\t3", 0), ("b", b"\xff\x00\rC: 4", 1)]


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"aGk=", "base64", b"hi"),
        (b"aGk=aGk", "base64", b"hihi"),
        (b"aGk\r\n-=-\r\n", "base64", b"hi"),
        (b"a", "base64", b""),
        (b"a=3Db=\r\nc", "quoted-printable", b"a=bc"),
        (b"as it is", "8bit", b"as it is"),
    ],
)
def test_transfer_encodings(data: bytes, name: str, expected: bytes) -> None:
    assert transfer.undone(data, name) == expected


def test_no_label_reaches_a_codec_that_unpacks() -> None:
    for label in (
        "zlib",
        "bz2",
        "hex",
        "rot13",
        "idna",
        "punycode",
        "unicode_escape",
        "utf-7",
        "mbcs",
    ):
        assert charsets.decode(b"+ADw- \\x41 789c", label).text == "+ADw- \\x41 789c"


@pytest.mark.parametrize(
    ("label", "href", "expected"),
    [
        ("bank.example", "https://www.bank.example/x", " (https://www.bank.example/x)"),
        ("report.pdf", "https://a.example/r", " (https://a.example/r)"),
        (
            "b\u0430nk.example",
            "https://bank.example/",
            " (leads elsewhere, to bank.example: https://bank.example/)",
        ),
        ("go", "https://a.example\\@b.example/", " (https://a.example\\@b.example/)"),
        ("go", "data:text/html,x", ""),
        ("go", "HTTPS://a.example/ x\n", " (HTTPS://a.example/%20x)"),
        ("call", "tel:+100", " (+100)"),
        ("x", "https://a.example/" + "y" * 900, " (https://a.example/" + "y" * 382 + "…)"),
    ],
)
def test_what_stands_beside_a_link(label: str, href: str, expected: str) -> None:
    assert beside(label, href) == expected


def test_tags_and_what_only_looks_like_one() -> None:
    found = [
        (each.kind, each.name, each.text) for each in tokens("a<B x='>' y>c</b ><!-- <i> --><3>")
    ]
    assert found == [
        ("text", "", "a"),
        ("start", "b", " x='>' y"),
        ("text", "", "c"),
        ("end", "b", ""),
        ("text", "", "<"),
        ("text", "", "3>"),
    ]
    assert attributes(" A=1 b='2' a=3 =c d = \"4\"/e") == {
        "a": "1",
        "b": "2",
        "=c": "",
        "d": "4",
        "e": "",
    }
