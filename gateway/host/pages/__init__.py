"""The page kit: one look, one set of headers, one small script, for every page that the host serves.

A room adds its own templates and files once, when it is imported, and renders by name::

    add_room("console", Path(__file__).parent)  # templates/*.html, static/*
    return page(request, "console/home.html", visitor=visitor, waiting=3)

Templates extend ``base.html``. ``{{ static("console.css") }}`` is the address of a file; ``add_static(app)``
serves them all.
"""

from __future__ import annotations

from gateway.host.pages.forms import read_form
from gateway.host.pages.render import LINKS, Link, fragment, page
from gateway.host.pages.shelf import STATIC, add_room
from gateway.host.pages.static import add_static

__all__ = ["LINKS", "STATIC", "Link", "add_room", "add_static", "fragment", "page", "read_form"]
