"""A template becomes a response, with the headers that every page has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aiohttp import web

from gateway.host.pages.shelf import TEMPLATES

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Nothing is loaded from elsewhere, nothing inline runs, nobody frames a page or learns where its reader
came from, and no cache keeps what only this reader may see."""


@dataclass(frozen=True, slots=True)
class Link:
    """A way that a room adds to every page's navigation."""

    href: str
    name: str


LINKS = web.AppKey[Iterable[Link]]("gateway_page_links")

_NO_LINKS: Iterable[Link] = ()


def see_other(where: str) -> web.Response:
    """Leads a browser on, by GET, from a form or an address that shows nothing itself."""
    return web.Response(status=303, headers={"Location": where, "Cache-Control": "no-store"})


def page(
    request: web.Request, template: str, /, *, status: int = 200, **context: object
) -> web.Response:
    """The page. Its templates also know ``path`` (where the reader is), ``links`` (what rooms added to
    the navigation) and, unless given, ``visitor`` as ``None``."""
    links: Iterable[Link] = request.app.get(LINKS, _NO_LINKS)
    known: dict[str, object] = {
        "path": request.path,
        "links": links,
        "visitor": None,
    }
    text = TEMPLATES.get_template(template).render(known | context)
    return web.Response(
        text=text, status=status, headers=HEADERS, content_type="text/html", charset="utf-8"
    )


def fragment(template: str, name: str, /, **context: object) -> str:
    """What the macro ``name`` of a template makes of ``context``: a piece to send to an open page."""
    module = TEMPLATES.get_template(template).module
    return str(getattr(module, name)(**context))
