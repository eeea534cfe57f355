"""A look at a mailbox that changes nothing in it, for whoever wants to know whether it can be looked after.

It opens each folder with EXAMINE (RFC 3501, section 6.3.2). Blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from typing_extensions import override

from channels.email.ways.imap import PROCESSED, QUARANTINE
from channels.email.ways.taking import plain
from channels.email.ways.wire import DeniedError, RefusedError, Wire
from gateway.engine.struct import struct

__all__ = ["Glance", "Glimpse", "Step"]

Step = Literal["connect", "login", "folder", "look"]
MOST_HEADER = 64 << 10


@struct(frozen=True, slots=True, kw_only=True)
class Glimpse:
    """``newest`` are the headers of the latest mails, the latest last, of those that wait and those that
    were processed. ``quarantined`` counts what a person should look at. ``moves``: the server can move mails."""

    moves: bool
    quarantined: int
    newest: tuple[bytes, ...]


class Glance(Wire):
    """``step`` is how far it came, for whoever is told why it came no further."""

    step: Step = "connect"

    def look(self, newest: int) -> Glimpse:
        """Raises ``BrokenError`` and its kind, and what ``open`` does."""
        self.open(())
        self.step = "look"
        inbox = self._account.folder
        _, headers = self._headers(inbox, newest)
        _, processed = self._headers(self._prefix + PROCESSED, newest)
        quarantined, _ = self._headers(self._prefix + QUARANTINE, 0)
        return Glimpse(
            moves=self._moves,
            quarantined=quarantined,
            newest=(*processed, *headers),
        )

    @override
    def _log_in(self) -> None:
        self.step = "login"
        super()._log_in()
        self.step = "folder"

    @override
    def select(self) -> None:
        try:
            self._examine(self._account.folder)
        except DeniedError as error:
            folder = plain(self._account.folder)
            raise RefusedError(f"the mailbox {folder} can't be opened: {error}") from None

    def _examine(self, folder: str) -> None:
        with self._speaking():
            self._imap.select_folder(folder, readonly=True)

    def _headers(self, folder: str, newest: int) -> tuple[int, list[bytes]]:
        """How many there are, and the headers of the latest; none where there is no such folder."""
        try:
            self._examine(folder)
        except DeniedError:
            return 0, []
        with self._speaking():
            uids = sorted(cast("Sequence[int]", self._imap.search("UNDELETED")))
            latest = uids[-newest:] if newest else []
            item = f"BODY.PEEK[HEADER]<0.{MOST_HEADER}>"
            told: Mapping[int, Mapping[bytes, object]] = {}
            if latest:
                told = cast(
                    "Mapping[int, Mapping[bytes, object]]", self._imap.fetch(latest, [item])
                )
        found = [told[uid].get(b"BODY[HEADER]<0>") for uid in latest if uid in told]
        return len(uids), [one for one in found if isinstance(one, bytes)]
