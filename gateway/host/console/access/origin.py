"""Where a request comes from: which page sent it, and from which address."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import cast
from urllib.parse import urlsplit

from aiohttp import web

from gateway.host.auth import ForbiddenError


def check_own_page(request: web.Request, public_url: str | None) -> None:
    """Raises ``ForbiddenError`` for a form that another site's page sent.

    Browsers that say where it came from in ``Sec-Fetch-Site`` are believed. ``Origin`` is ``null``
    by our own wish, since our pages name no referrer; it alone proves nothing then. Whoever sends
    neither is no browser, and nobody's page made it send this.
    """
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    if site is not None:
        ours = site == "same-origin"
    elif origin is not None:
        known = {request.headers.get("Host", "").lower(), _netloc(public_url or "")} - {""}
        ours = _netloc(origin) in known
    else:
        ours = True
    if not ours:
        raise ForbiddenError(
            "this form was not sent by one of our own pages",
            fix="open the page itself, over https:// if the gateway isn't on this machine, and"
            " send the form again",
        )


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return ""


def address_of(request: web.BaseRequest, proxies: Sequence[str]) -> str:
    """The caller's address: the peer's, or what our own proxies say of whom they speak for. An IPv6
    network of 64 bits is one household, and counts as one."""
    hops = [
        hop for line in request.headers.getall("X-Forwarded-For", ()) for hop in line.split(",")
    ]
    networks = [ipaddress.ip_network(proxy) for proxy in proxies]
    found = _address(_peer(request))
    # From our own side outwards: what stands further left, anybody may have written.
    for hop in reversed(hops):
        if found is None or not any(found in network for network in networks):
            break
        if (said := _address(hop)) is None:
            # Our proxy doesn't know whom it speaks for: nor does it vouch for what stands further left.
            break
        found = said
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found or "unknown")


def _peer(request: web.BaseRequest) -> str:
    if request.transport is None:
        return ""
    peer: object = request.transport.get_extra_info("peername")
    return str(cast("tuple[object, ...]", peer)[0]) if isinstance(peer, tuple) and peer else ""


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Some proxies write the port, too: ``192.0.2.1:4711``, ``[2001:db8::1]:4711``."""
    plain = text.strip()
    if plain.startswith("["):
        plain = plain[1:].partition("]")[0]
    elif plain.count(":") == 1:
        plain = plain.partition(":")[0]
    try:
        found = ipaddress.ip_address(plain.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def safe_next(text: str | None) -> str:
    """Where somebody goes after signing in: a page of ours, whatever a link asked for."""
    if text is None or len(text) > 500 or not text.isascii() or not text.isprintable():
        return HOME
    path = text.partition("?")[0]
    inside = path == HOME or path.startswith(f"{HOME}/")
    odd = any(part in text for part in ("\\", "//", "..", "#", " "))
    # The ways in are no place to arrive at.
    if not inside or odd or path.startswith((f"{HOME}/sign", f"{HOME}/set-up")):
        return HOME
    return text


HOME = "/console"
