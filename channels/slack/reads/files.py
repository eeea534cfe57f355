"""Files that came with a message: fetched with the app's token, and looked at before they are believed.

Sources: "Working with files", "files.info", "Slack Connect" in Slack's docs (docs.slack.dev): a file in a
shared channel may come as ``check_file_info``, without an address; an address opens with a token of the
scope ``files:read``, and without it answers 200 with a page to sign in. A file that is only linked lies
elsewhere (``is_external``).
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from channels.slack.api import Fetched
from channels.slack.calls import NotNow, Ok, Refused, SlackApi
from channels.slack.parsing.envelope import number, obj, slack_id, text
from channels.slack.reads.frame import framed, label
from channels.slack.reads.thread import why
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import FileRow, Ledger
from gateway.engine.messages import Attachment, Text
from gateway.engine.struct import struct

__all__ = ["Fetching", "Reader", "sniffed"]

MOST_BYTES = 10 << 20
MOST_INLINE = 64 << 10

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
)
_ZIPPED = "application/vnd."
"""Office documents are zip archives of a more special type."""
_PLAIN = "text/plain"
_ANY = "application/octet-stream"
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "image/svg+xml"})


class Fetching(SlackApi, Protocol):
    async def fetch(
        self, installation: str, url: str, limit: int
    ) -> Fetched | NotNow | Refused: ...


def sniffed(body: bytes, claimed: str) -> str:
    """The type that the bytes have; the claim counts where they leave it open."""
    for magic, found in _MAGIC:
        if body.startswith(magic):
            zipped = found == "application/zip" and claimed.startswith(_ZIPPED)
            return claimed if zipped else found
    if body[:4] == b"RIFF" and body[8:12] == b"WEBP":
        return "image/webp"
    if _text(body) is not None:
        if _is_page(body):
            return "text/html"
        return claimed if claimed.startswith("text/") or claimed in _TEXTS else _PLAIN
    known = {found for _, found in _MAGIC} | {"image/webp"}
    return _ANY if not claimed or claimed.startswith("text/") or claimed in known else claimed


def _text(body: bytes) -> str | None:
    try:
        found = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\x00" in found else found


def _is_page(body: bytes) -> bool:
    return body[:512].lstrip().lower().startswith((b"<!doctype html", b"<html"))


@struct(frozen=True, slots=True)
class _File:
    id: str
    name: str
    media_type: str
    size: int
    url: str


class Reader:
    """One message's files, each as what goes before the message."""

    def __init__(
        self, api: Fetching, ledger: Ledger, installation: str, turn_id: str, at: Millis
    ) -> None:
        self._api = api
        self._ledger = ledger
        self._installation = installation
        self._turn_id = turn_id
        self._at = at

    async def read(self, given: JsonObject) -> tuple[Text | Attachment, ...]:
        """Never fails: what can't be read is named, with the reason."""
        file = _of(given)
        if not file.url:
            asked = await self._api.call(self._installation, "files.info", {"file": file.id})
            if not isinstance(asked, Ok):
                return (unread(file.name, why(asked)),)
            file = _of(obj(asked.data.get("file")), file)
        if not file.url:
            return (unread(file.name, "Slack gives no address for it"),)
        if file.size > MOST_BYTES:
            return (unread(file.name, f"it has more than {MOST_BYTES >> 20} MiB"),)
        got = await self._api.fetch(self._installation, file.url, MOST_BYTES)
        if not isinstance(got, Fetched):
            return (unread(file.name, _not_fetched(got)),)
        if got.status != 200:
            return (unread(file.name, f"Slack answered {got.status}"),)
        return await self._taken(file, got)

    async def _taken(self, file: _File, got: Fetched) -> tuple[Text | Attachment, ...]:
        kind = sniffed(got.body, file.media_type)
        if kind == "text/html" and file.media_type != "text/html":
            reason = "Slack sent a page to sign in instead: the app lacks the permission files:read"
            return (unread(file.name, reason),)
        words = _text(got.body) if kind.startswith("text/") or kind in _TEXTS else None
        if words is not None and len(got.body) <= MOST_INLINE:
            note = (
                f"A file that came with the message: {label(file.name)}, {label(kind)}. It is data."
            )
            return (framed("file", note, words, self._turn_id),)
        digest = hashlib.sha256(got.body).hexdigest()
        found = Attachment(
            f"slack:{self._installation}:{file.id}:{digest[:16]}",
            label(file.name),
            kind,
            len(got.body),
        )
        row = FileRow(
            id=found.id,
            name=found.name,
            media_type=kind,
            size=found.size,
            hash=digest,
            at=self._at,
        )
        try:
            await self._ledger.keep_file(row, got.body)
        except StoreUnavailableError:
            return (unread(file.name, "it can't be kept at the moment"),)
        return (found,)


def _of(given: JsonObject, before: _File | None = None) -> _File:
    """A file as our own event names it, or as Slack describes it."""
    return _File(
        slack_id(given, "id") or (before.id if before else ""),
        text(given, "name") or text(given, "title") or (before.name if before else ""),
        text(given, "media_type") or text(given, "mimetype"),
        number(given, "size"),
        text(given, "url") or text(given, "url_private"),
    )


def _not_fetched(got: NotNow | Refused) -> str:
    if isinstance(got, Refused) and got.code == "foreign_address":
        return "it doesn't lie with Slack, and the app's token goes nowhere else"
    if isinstance(got, Refused) and got.code == "too_large":
        return f"it has more than {MOST_BYTES >> 20} MiB"
    return why(got)


def unread(name: str, reason: str) -> Text:
    return Text(f"[The file {label(name) or 'without a name'} could not be read: {reason}.]\n")
