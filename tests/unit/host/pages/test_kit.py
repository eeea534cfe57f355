"""The page kit: templates that escape, files that are kept for ever."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from gateway import playground
from gateway.host import console
from gateway.host.pages import STATIC, add_room, add_static, fragment, page
from gateway.host.pages.shelf import TEMPLATES, static
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


def test_every_template_of_ours_can_be_compiled() -> None:
    """A host does that when a page is first shown, which is late to learn of a mistake."""
    for room in (console, playground):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(found.name)  # brings its templates, and what they use
    ours = [name for name in TEMPLATES.list_templates() if not name.startswith("trial/")]
    assert {"base.html", "console/home.html", "access/frame.html", "playground/page.html"} <= {
        *ours
    }
    for name in ours:
        TEMPLATES.get_template(name)
