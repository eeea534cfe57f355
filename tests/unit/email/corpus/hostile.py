"""Shapes that cost other parsers more than their size, at any size."""

from __future__ import annotations

from collections.abc import Callable

from tests.unit.email.corpus.build import HEAD, b64, typed


def _html(source: str) -> bytes:
    return typed("text/html; charset=utf-8", source)


def _nested(n: int) -> bytes:
    """Many siblings, ten deep each."""
    deep = b"".join(
        f"Content-Type: multipart/x; boundary=d{k}\n\n--d{k}\n".encode() for k in range(10)
    )
    return typed("multipart/mixed; boundary=b1", (b"--b1\n" + deep + b"\nx\n") * (n // 10))


def _forwards(n: int) -> bytes:
    head = b"--b1\nContent-Type: message/rfc822\n\nSubject: =?utf-8?q?a?= =?utf-8?q?b?=\n\nx\n"
    return typed("multipart/mixed; boundary=b1", head * n)


GROWING: dict[str, Callable[[int], bytes]] = {
    "words": lambda n: HEAD.replace(b"Order", b"=?utf-8?q?a?= " * n) + b"\r\nx",
    "half words": lambda n: HEAD.replace(b"Order", b"=?utf-8?q?a" * n) + b"\r\nx",
    "fields": lambda n: HEAD + b"X: y\r\n" * n + b"\r\nx",
    "folds": lambda n: HEAD + b"X: y\r\n" + b" z\r\n" * n + b"\r\nx",
    "ids": lambda n: HEAD + b"References:" + b" <a@b>" * n + b"\r\n\r\nx",
    "open ids": lambda n: HEAD + b"References:" + b" <" * n + b">" * n + b"\r\n\r\nx",
    "brackets": lambda n: typed("text/plain; a=" + "(" * n, "x"),
    "sections": lambda n: typed("text/plain" + "".join(f"; a*{k}*=%41" for k in range(n)), "x"),
    "parts": lambda n: typed("multipart/mixed; boundary=b1", b"--b1\n\nx\n" * n),
    "nested parts": _nested,
    "forwards": _forwards,
    "dashes": lambda n: typed("multipart/mixed; boundary=b1", b"--b1\n\n" + b"--\n" * n),
    "padding": lambda n: typed("text/plain", b"A=" * n, "base64"),
    "base64": lambda n: typed("text/plain", b64(b"x" * n * 40), "base64"),
    "flowed": lambda n: typed("text/plain; format=flowed", "a \n" * n),
    "quotes": lambda n: typed("text/plain; format=flowed", (">" * 30 + " a \n") * n),
    "elements": lambda n: _html("<div>" * n),
    "closed again": lambda n: _html("<div>" * n + "</div>" * n),
    "never opened": lambda n: _html("<div>" * n + "</span>" * n),
    "paragraphs": lambda n: _html("<div>" * n + "<p>x" * n),
    "formatting": lambda n: _html("<b><i><u>" * n + "<p>x</p>" * n),
    "attributes": lambda n: _html("<p " + "".join(f"a{k}=1 " for k in range(n)) + ">x"),
    "tables": lambda n: _html("<table><tr><td>x" * n),
    "items": lambda n: _html("<ul><li>x" * n),
    "blockquotes": lambda n: _html("<blockquote>x" * n),
    "signs": lambda n: _html("< " * n + ">"),
    "half comments": lambda n: _html("<!-" * n + ">"),
    "sheets": lambda n: _html("<style>.a{b:c} @media{</style>" * n + "x"),
    "links": lambda n: _html("<a href='https://a.example/'>b.example</a> " * n),
    "entities": lambda n: _html("&am" * n + "&#9999999999" * n),
    "invitation": lambda n: typed("text/calendar", "BEGIN:VEVENT\n" + 'A"":"\n' * n),
    "armour": lambda n: typed("text/plain", "-----BEGIN PGP MESSAGE-----\n" * n),
}
