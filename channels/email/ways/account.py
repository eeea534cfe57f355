"""The mailbox that a setting names: ``imaps://support%40shop.example:password@imap.shop.example/INBOX``."""

from __future__ import annotations

from urllib.parse import SplitResult, unquote, urlsplit

from gateway.engine.errors import ConfigError
from gateway.engine.struct import struct
from gateway.values import Secret, is_loopback

__all__ = ["Account", "account"]

FIX = "set EMAIL_IMAP_URL to imaps://user:password@host:993/INBOX"
PORTS = {"imaps": 993, "imap": 143}


@struct(frozen=True, slots=True, kw_only=True)
class Account:
    host: str
    port: int
    tls: bool
    user: str
    password: Secret
    folder: str = "INBOX"

    @property
    def name(self) -> str:
        """How it is told apart from others and shown to people. The port isn't part of it: it may change,
        and the mails are the same."""
        return f"{self.user}@{self.host}"


def account(url: str) -> Account:
    """Raises ``ConfigError``, which repeats nothing of the setting."""
    parts = _split(url)
    host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    folder = unquote(parts.path.removeprefix("/")) or "INBOX"
    if parts.scheme not in PORTS:
        raise _wrong("must begin with imaps://")
    if not host or not user or not password:
        raise _wrong("must name a host, a user and a password")
    if parts.scheme == "imap" and not is_loopback(host):
        raise _wrong(
            "may be imap:// on loopback only, since the password would be readable on its way"
        )
    # LOGIN takes quoted strings of printable ASCII (RFC 3501, section 9, "quoted").
    if not all(text.isascii() and text.isprintable() for text in (user, password)):
        raise _wrong("must have a user and a password of printable ASCII")
    if not folder.isprintable():
        raise _wrong("must name a folder without control characters")
    return Account(
        host=host,
        port=port,
        tls=parts.scheme == "imaps",
        user=user,
        password=Secret(password),
        folder=folder,
    )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # What Python says about it may quote the password.
        raise _wrong("is no URL; / ? # @ : in a password are %2F %3F %23 %40 %3A") from None
    return parts


def _wrong(what: str) -> ConfigError:
    return ConfigError(f"EMAIL_IMAP_URL {what}", fix=FIX)
