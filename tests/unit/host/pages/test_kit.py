"""The page kit: templates that escape, files that are kept for ever, words for people."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from gateway.host.pages import STATIC, add_room, add_static, fragment, page
from gateway.host.pages.shelf import static
from gateway.host.pages.words import distance, full, one_line, plain, shown, span
from tests.support.http import connect, on_socket


async def test_a_file_is_served_under_its_digest_for_ever() -> None:
    app = web.Application()
    add_static(app)
    async with on_socket(app) as url, connect(url) as client:
        for name, media in {
            "style.css": "text/css; charset=utf-8",
            "live.js": "text/javascript; charset=utf-8",
            "icon.svg": "image/svg+xml",
        }.items():
            answer = await client.get(static(name))
            assert answer.status == 200
            assert answer.headers["Content-Type"] == media
            assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert len(answer.raw) < 15_000
        for other in ("style.css", "style.000000000000.css", "..%2Fstyle.css", ""):
            gone = await client.get(f"{STATIC}/{other}")
            assert gone.status == 404
            assert "immutable" not in gone.headers.get("Cache-Control", "")


def test_a_room_brings_its_own_and_takes_nobodys_name(tmp_path: Path) -> None:
    for kind in ("templates", "static"):
        (tmp_path / kind).mkdir()
    (tmp_path / "templates" / "hello.html").write_text(
        '{% extends "base.html" %}{% block main %}{{ name }}{% endblock %}'
    )
    (tmp_path / "templates" / "rows.html").write_text(
        '{% macro row(name) %}<li id="{{ name }}">{{ static("hello.css") }}</li>{% endmacro %}'
    )
    (tmp_path / "static" / "hello.css").write_text("p { color: red }")
    add_room("trial", tmp_path)
    add_room("trial", tmp_path)  # as a module that is imported anew does
    request = make_mocked_request("GET", "/")
    text = page(request, "trial/hello.html", name="<b>Jo & Lee</b>").text or ""
    assert "&lt;b&gt;Jo &amp; Lee&lt;/b&gt;" in text
    assert fragment("trial/rows.html", "row", name='"><i>').startswith(
        '<li id="&#34;&gt;&lt;i&gt;">'
    )
    (tmp_path / "static" / "style.css").write_text("p { color: red }")
    with pytest.raises(ValueError, match=r"two static files are called style\.css"):
        add_room("trial", tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("invoice\u202etxt.exe", "invoice\\u202etxt.exe"),
        ("a\u200bb\u00adc\ufeff", "a\\u200bb\\u00adc\\ufeff"),
        ("bell\x07 nul\x00", "bell\\u0007 nul\\u0000"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("Zoë 日本 🎉", "Zoë 日本 🎉"),
    ],
)
def test_what_could_deceive_is_made_visible(text: str, told: str) -> None:
    assert plain(text) == told
    assert shown(text) == told
    assert plain(shown({"key": text})) == shown({"key": text})


def test_words_for_moments_and_spans() -> None:
    now = 1_795_995_336_000
    assert distance(now, now) == "now"
    assert distance(now - 59_000, now) == "59 s ago"
    assert distance(now - 7_200_000, now) == "2 h ago"
    assert distance(now + 172_800_000, now) == "in 2 d"
    assert full(now) == "Sun 29 Nov 2026, 23:35:36 UTC"
    assert [span(n) for n in (12, 1400, 60_000, 185_000, 3_600_000, 7_800_000)] == [
        "12 ms",
        "1.4 s",
        "1 min",
        "3 min 5 s",
        "1 h",
        "2 h 10 min",
    ]
    assert one_line("  a\n\nb  ") == "a b"
    assert one_line("x" * 200, 10) == "x" * 9 + "…"
