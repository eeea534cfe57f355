"""Files that came with a message: fetched with the app's token, and looked at before they are believed.

Sources: "Working with files", "files.info", "Slack Connect" in Slack's docs (docs.slack.dev): a file in a
shared channel may come as ``check_file_info``, without an address; an address opens with a token of the
scope ``files:read``, and without it answers 200 with a page to sign in. A file that is only linked lies
elsewhere (``is_external``).
"""

from __future__ import annotations

from typing import Protocol

from channels.slack.api import Fetched
from channels.slack.calls import NotNow, Ok, Refused, SlackApi
from channels.slack.parsing.envelope import number, obj, slack_id, text
from channels.slack.reads.thread import why
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Ledger
from gateway.engine.messages import Attachment, Text
from gateway.engine.struct import struct
from gateway.intake.material.files import MOST_BYTES, File, sniffed, taken, unread

__all__ = ["Fetching", "Reader"]


class Fetching(SlackApi, Protocol):
    async def fetch(
        self, installation: str, url: str, limit: int
    ) -> Fetched | NotNow | Refused: ...


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
        if kind == "text/html" and not _is_it(file, got.body):
            reason = "Slack sent a page to sign in instead: the app lacks the permission files:read"
            return (unread(file.name, reason),)
        origin = f"slack:{self._installation}:{file.id}"
        given = File(origin=origin, name=file.name, media_type=file.media_type, body=got.body)
        return await taken(given, self._ledger, self._turn_id, self._at)


def _of(given: JsonObject, before: _File | None = None) -> _File:
    """A file as our own event names it, or as Slack describes it."""
    return _File(
        slack_id(given, "id") or (before.id if before else ""),
        text(given, "name") or text(given, "title") or (before.name if before else ""),
        text(given, "media_type") or text(given, "mimetype"),
        number(given, "size"),
        text(given, "url") or text(given, "url_private"),
    )


def _is_it(file: _File, page: bytes) -> bool:
    """Whether a page is the file itself: its size tells, and where that isn't known, its type."""
    return len(page) == file.size if file.size else file.media_type == "text/html"


def _not_fetched(got: NotNow | Refused) -> str:
    if isinstance(got, Refused) and got.code == "foreign_address":
        return "it doesn't lie with Slack, and the app's token goes nowhere else"
    if isinstance(got, Refused) and got.code == "too_large":
        return f"it has more than {MOST_BYTES >> 20} MiB"
    return why(got)
