"""Domains that send mail: their keys, what they publish about themselves, and how they sign."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import dkim  # type: ignore[import-untyped]
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

SELECTOR = "k1"
SIGNED = (b"from", b"to", b"subject", b"date", b"message-id", b"mime-version", b"content-type")


@dataclass(kw_only=True)
class Domain:
    """``addresses`` are the hosts that may send for it, by SPF. ``dmarc`` is its record; empty: it has
    none."""

    name: str
    addresses: tuple[str, ...] = ()
    dmarc: str = "v=DMARC1; p=reject"
    signs: bool = True
    _key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
        repr=False,
    )

    @cached_property
    def _private(self) -> bytes:
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )

    @cached_property
    def _public(self) -> bytes:
        return self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def records(self) -> Iterator[tuple[str, str]]:
        """Its TXT records: name and text."""
        yield self.name, f"v=spf1 {' '.join(f'ip4:{a}' for a in self.addresses)} -all"
        if self.signs:
            key = base64.b64encode(self._public).decode("ascii")
            yield f"{SELECTOR}._domainkey.{self.name}", f"v=DKIM1; k=rsa; p={key}"
        if self.dmarc:
            yield f"_dmarc.{self.name}", self.dmarc

    def signed(
        self, raw: bytes, *, length: bool = False, covers: Sequence[bytes] = SIGNED
    ) -> bytes:
        """The mail with this domain's signature on top. ``length``: with ``l=``, so that text added
        behind the signed part doesn't break it."""
        signature = dkim.sign(
            raw,
            SELECTOR.encode("ascii"),
            self.name.encode("ascii"),
            self._private,
            canonicalize=(b"relaxed", b"relaxed"),
            include_headers=list(covers),
            length=length,
        )
        assert isinstance(signature, bytes)
        return signature + raw
