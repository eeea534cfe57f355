"""A folder as one client knows it: numbers change for it only when it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from channels.email.emulator.boxes import Folder, Stored
from channels.email.emulator.imap.fetch import flags
from channels.email.emulator.imap.sets import spans, within


class View:
    """``validity`` is the folder's when it was selected; another one makes the view worthless."""

    def __init__(self, folder: Folder, *, read_only: bool, changed: Callable[[], None]) -> None:
        self.folder = folder
        self.read_only = read_only
        self.validity = folder.validity
        self._changed = changed
        self._known = {mail.uid: mail.flags for mail in folder.mails.values()}
        folder.watchers.add(changed)

    def close(self) -> None:
        self.folder.watchers.discard(self._changed)

    def __len__(self) -> int:
        return len(self._known)

    def mails(self) -> Iterator[tuple[int, Stored]]:
        """Number and mail of what the client knows and is still there."""
        for number, uid in enumerate(self._known, 1):
            if (mail := self.folder.mails.get(uid)) is not None:
                yield number, mail

    def chosen(self, text: str, *, by_uid: bool) -> list[tuple[int, Stored]]:
        """The mails of a set. Numbers that name none are nobody's business (RFC 3501 6.4.8)."""
        highest = max(self._known, default=0) if by_uid else len(self._known)
        ranges = spans(text, highest)
        return [
            (number, mail)
            for number, mail in self.mails()
            if within(mail.uid if by_uid else number, ranges)
        ]

    def seen(self, mail: Stored) -> None:
        """The client was told of this mail's flags."""
        if mail.uid in self._known:
            self._known[mail.uid] = mail.flags

    def news(self, *, removals: bool = True) -> list[str]:
        """What the client isn't told yet, and is now. ``removals=False`` keeps its numbers as they are."""
        lines: list[str] = []
        mails = self.folder.mails
        if removals:
            gone = [number for number, uid in enumerate(self._known, 1) if uid not in mails]
            lines += [f"* {number} EXPUNGE" for number in reversed(gone)]
            self._known = {uid: known for uid, known in self._known.items() if uid in mails}
        for number, mail in self.mails():
            if mail.flags != self._known[mail.uid]:
                lines.append(f"* {number} FETCH (UID {mail.uid} FLAGS {flags(mail)})")
                self._known[mail.uid] = mail.flags
        new = [uid for uid in mails if uid not in self._known]
        if new:
            self._known.update((uid, mails[uid].flags) for uid in new)
            lines += [f"* {len(self._known)} EXISTS", "* 0 RECENT"]
        return lines
