"""``EMAIL_SMTP_URL``: which server sends for us, and how it is reached.

``/ ? # @ :`` in a user's name or password are spelled in percent.

- ``smtps://user:password@smtp.shop.example``: TLS from the first byte, port 465 (RFC 8314, section 3.3);
- ``smtps://user:password@smtp.shop.example:587?tls=starttls``: begun in the clear, and TLS before anything
  is said; a server that doesn't offer it gets nothing;
- ``smtp://127.0.0.1:1025``: in the clear, on this machine only.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct
from gateway.values import is_loopback

_FIX = "write it as smtps://user:password@host, with ?tls=starttls behind the port where TLS begins later"


@struct(frozen=True, slots=True)
class Route:
    host: str
    port: int
    tls: Literal["never", "first", "later"]
    user: str = ""
    password: str = ""


def route(url: str) -> Route:
    """Raises ``ConfigError``, which repeats nothing of the setting."""
    parts = _parts(url)
    tls: Literal["never", "first", "later"] = "first" if parts.scheme == "smtps" else "never"
    asked = parse_qsl(parts.query, keep_blank_values=True)
    if asked:
        if asked != [("tls", "starttls")] or tls == "never":
            raise ConfigError(
                "EMAIL_SMTP_URL may only ask for ?tls=starttls, of smtps://", fix=_FIX
            )
        tls = "later"
    port = parts.port or {"never": 25, "first": 465, "later": 587}[tls]
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Route(parts.hostname or "", port, tls, user, password)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ConfigError("EMAIL_SMTP_URL is no URL", fix=_FIX) from None
    if parts.scheme not in {"smtps", "smtp"} or not parts.hostname:
        raise ConfigError("EMAIL_SMTP_URL must be an smtps:// URL with a host", fix=_FIX)
    if parts.scheme == "smtp" and not is_loopback(parts.hostname):
        raise ConfigError(
            "EMAIL_SMTP_URL sends a password and other people's mail in the clear: smtp:// is for this"
            " machine only",
            fix=_FIX,
        )
    if parts.path.strip("/") or parts.fragment:
        raise ConfigError("EMAIL_SMTP_URL has a path, which means nothing", fix=_FIX)
    return parts
