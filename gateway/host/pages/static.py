"""The kit's static files over HTTP."""

from __future__ import annotations

from aiohttp import web

from gateway.host.pages.shelf import STATIC, asset

_HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    # An SVG that is opened by its own address is a document: it may do nothing there.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
}


def add_static(app: web.Application) -> None:
    """Serve the files of every room, to anybody: they say nothing of what runs here."""
    app.router.add_get(f"{STATIC}/{{name}}", _serve)


async def _serve(request: web.Request) -> web.StreamResponse:
    found = asset(request.match_info["name"])
    if found is None:
        # A page of an earlier release asks for what isn't there any more; it will be loaded anew.
        return web.Response(status=404, headers={"Cache-Control": "no-store"})
    return web.Response(
        body=found.body, headers=_HEADERS, content_type=found.media, charset=_charset(found.media)
    )


def _charset(media: str) -> str | None:
    return "utf-8" if media.startswith("text/") or media.endswith("javascript") else None
