"""Random words that open something: 256 bits each, and only their digest is kept."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def new_token() -> str:
    return secrets.token_urlsafe(32)


def is_token(text: str) -> bool:
    """Whether it looks like one of ours."""
    return _TOKEN.fullmatch(text) is not None


def digest(token: str) -> str:
    """Under which a token is kept. It needs no salt: nobody guesses 256 random bits."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def derived(token: str, purpose: str) -> str:
    """A word that only the holder of the token can have, and that doesn't lead back to it."""
    key = token.encode("utf-8", "surrogatepass")
    return hmac.new(key, purpose.encode(), hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Compares in a time that tells nothing; nothing equals an empty word."""
    return bool(one) and hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )
