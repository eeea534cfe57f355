"""Templates and static files of every room, read when the room is imported: what serves a request never
touches the disk. A template is compiled when it is first shown, since a host that starts again after a crash
has turns to go on with before anybody looks at a page.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from jinja2 import DictLoader, Environment, StrictUndefined

from gateway.host.words import text

STATIC = "/console/static"
FILTERS: dict[str, Callable[..., str]] = {
    "plain": text.clean,
    "one_line": text.one_line,
    "shown": text.shown,
    "iso": text.iso,
    "full": text.full,
    "distance": text.distance,
    "span": text.span,
    "counted": text.count,
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is served. ``name`` holds a digest of ``body``: a changed file has another address,
    so that each may be kept for ever."""

    name: str
    media: str
    body: bytes


_sources: dict[str, str] = {}
_assets: dict[str, Asset] = {}
_addresses: dict[str, str] = {}


def static(name: str) -> str:
    """The address of a static file by its plain name. Raises ``KeyError`` for one that nobody added."""
    return _addresses[name]


def asset(name: str) -> Asset | None:
    """The file behind the last part of its address."""
    return _assets.get(name)


def _environment() -> Environment:
    made = Environment(
        loader=DictLoader(_sources),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(FILTERS)
    made.globals["static"] = static  # pyright: ignore[reportArgumentType]  # it takes anything
    return made


TEMPLATES = _environment()


def add_room(room: str, folder: Path) -> None:
    """Take what a room has in ``templates/`` and ``static/``. A template is known as
    ``<room>/<file>``, a static file by its name alone, which no other may have."""
    prefix = f"{room}/" if room else ""
    for path in sorted((folder / "templates").glob("*.html")):
        _sources[prefix + path.name] = path.read_text(encoding="utf-8")
    for path in sorted((folder / "static").glob("*")):
        _keep(path)


def _keep(path: Path) -> None:
    body = path.read_bytes()
    name = f"{path.stem}.{hashlib.sha256(body).hexdigest()[:12]}{path.suffix}"
    if _addresses.setdefault(path.name, f"{STATIC}/{name}") != f"{STATIC}/{name}":
        raise ValueError(f"two static files are called {path.name}")
    media = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    _assets[name] = Asset(name, media, body)


add_room("", Path(__file__).parent)
