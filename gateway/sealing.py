"""Encryption of what must not lie readable in a database: the tokens of installations.

AES-256-GCM under keys that are derived from ``GATEWAY_SECRET_KEYS``: the first of them seals, all open, so
that a key is changed by putting a new one in front and dropping the old one once everything was sealed
again. What is sealed is a version byte, a random nonce, and the ciphertext; what it belongs to is
authenticated with it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gateway.engine.errors import ConfigError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["Sealing", "make_sealer"]

SETTING = "GATEWAY_SECRET_KEYS"
SHORTEST = 32
"""Characters of a key; half as many bytes where it is written in hex."""

_VERSION = b"\x01"
_NONCE = 12
_PURPOSE = b"gateway/sealing/1"


class Sealing:
    """A ``Sealer`` for the channels."""

    def __init__(self, ciphers: Sequence[AESGCM]) -> None:
        self._ciphers = tuple(ciphers)

    def seal(self, plain: bytes, about: str) -> bytes:
        nonce = secrets.token_bytes(_NONCE)
        return _VERSION + nonce + self._ciphers[0].encrypt(nonce, plain, _bound_to(about))

    def open(self, sealed: bytes, about: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        if sealed[:1] != _VERSION:
            raise ConfigError(
                f"what is kept of {about} was sealed in a way that this release doesn't know",
                fix="run the release that wrote it, or set up again what it belongs to",
            )
        nonce, rest = sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
        if len(nonce) == _NONCE:
            for cipher in self._ciphers:
                try:
                    return cipher.decrypt(nonce, rest, _bound_to(about))
                except InvalidTag:
                    continue
        raise ConfigError(
            f"none of the {len(self._ciphers)} keys in {SETTING} opens what is kept of {about}",
            fix=f"put the key that sealed it back into {SETTING}, behind the one that seals now",
        )


def make_sealer(keys: Sequence[str]) -> Sealing:
    """``keys`` are those of ``GATEWAY_SECRET_KEYS``, in order. Raises ``ConfigError``."""
    if not keys:
        raise ConfigError(
            f"there is no key to encrypt with: {SETTING} isn't set",
            fix=f"set {SETTING} to the output of `openssl rand -hex 32`",
        )
    for n, key in enumerate(keys, 1):
        if len(key) < SHORTEST:
            raise ConfigError(
                f"key {n} of {SETTING} has {len(key)} characters; {SHORTEST} is the least",
                fix="make one with `openssl rand -hex 32`",
            )
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return Sealing([AESGCM(_derived(key)) for key in keys])


def _derived(key: str) -> bytes:
    """A key of its own for this purpose: the setting may serve others too."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key.encode())


def _bound_to(about: str) -> bytes:
    return _PURPOSE + b"\x00" + about.encode()
