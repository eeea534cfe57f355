"""Links that decide, as they are kept: by the hash of what stands in the letter, and no longer than a week.

A letter comes back to us: quoted in an answer, whole in a report that it couldn't be delivered. Then its link
stands in mail that is kept as it came, and in what a model reads, so it decides nothing any more.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator

from channels.email.mime.limits import OverLimitError
from channels.email.mime.parts import leaves, walk
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.struct import struct

__all__ = ["PAGE", "Link", "Links", "brought_back", "hashed"]

PAGE = "/channels/email/decide/"
_PAGE = PAGE.encode()
KIND = "email-link"
KEPT = Millis(7 * 86_400_000)
_BYTES = 32
_LENGTH = 43  # of so many bytes in base64
_MOST_BACK = 50


@struct(frozen=True, slots=True, kw_only=True)
class Link:
    """One request, as one person was shown it. ``who`` asked for it, in words."""

    turn_id: str
    request: str
    digest: str
    address: str
    who: str

    @property
    def identity(self) -> str:
        return f"email:{self.address}"


class Links:
    """Everything raises ``StoreUnavailableError``."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def make(self, link: Link, now: Millis, expires: Millis | None) -> str:
        """The token, which is nowhere but in the letter."""
        token = secrets.token_urlsafe(_BYTES)
        end = Millis(now + KEPT)
        row = Document(
            kind=KIND,
            key=hashed(token),
            body=_body(link),
            expires=end if expires is None else min(end, expires),
        )
        await self._ledger.put_document(row, None)
        return token

    async def find(self, key: str) -> Link | None:
        """By the hash of its token."""
        row = await self._ledger.document(KIND, key)
        return None if row is None else _read(row.body)

    async def end(self, keys: Iterable[str]) -> None:
        for key in keys:
            await self._ledger.drop_document(KIND, key)


def brought_back(raw: bytes, text: str) -> tuple[str, ...]:
    """The hashes of links in a mail: in its text, and in its bytes, where a returned letter stands as we wrote
    it: in lines that end within a link (quoted-printable), or in base64."""
    unfolded = raw.replace(b"=\r\n", b"").replace(b"=\n", b"")
    found: dict[str, None] = {}
    for told in (unfolded, *_coded(raw), text.encode(errors="replace")):
        at = told.find(_PAGE)
        while at >= 0 and len(found) < _MOST_BACK:
            at += len(_PAGE)
            found[hashed(told[at : at + _LENGTH].decode("latin-1"))] = None
            at = told.find(_PAGE, at)
    return tuple(key for key in found if key)


def _coded(raw: bytes) -> Iterator[bytes]:
    """What stands in base64, each part by itself."""
    try:
        parts = leaves(walk(raw))
    except OverLimitError:
        return
    for part in parts:
        if part.encoding == "base64":
            yield part.content()


def hashed(token: str) -> str:
    """What a link is known by; empty for what can't be a token."""
    if len(token) != _LENGTH or not token.isascii():
        return ""
    return hashlib.sha256(token.encode()).hexdigest()


def _body(link: Link) -> JsonObject:
    return {
        "turn": link.turn_id,
        "request": link.request,
        "digest": link.digest,
        "address": link.address,
        "who": link.who,
    }


def _read(body: JsonObject) -> Link:
    return Link(
        turn_id=str(body["turn"]),
        request=str(body["request"]),
        digest=str(body["digest"]),
        address=str(body["address"]),
        who=str(body["who"]),
    )
