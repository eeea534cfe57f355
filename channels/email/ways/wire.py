r"""One connection to an IMAP server (RFC 3501), as the thread that owns it sees it: every call may wait.

It reads with ``BODY.PEEK``, which leaves ``\Seen`` to people, and lists the whole folder each time, since it
keeps nothing there: a range such as ``n:*`` always names the newest mail, also when that is older than n
(section 6.4.8 with 9, "seq-range").
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from imapclient import (  # type: ignore[import-untyped]
    IMAPClient,
    SocketTimeout,
)
from imapclient.exceptions import (  # type: ignore[import-untyped]
    IMAPClientAbortError,
    IMAPClientError,
    LoginError,
)

from channels.email.ways.account import Account
from channels.email.ways.taking import MAX_HEADER, MAX_MAIL, capped, plain
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

__all__ = ["BrokenError", "DeniedError", "Found", "RefusedError", "Wire"]

Heard = Literal["new", "quiet", "odd"]
"""Of an idle connection: mail came, nothing came, or it woke up for nothing and may be dead."""

EARLY = 0.5
"""Waking up before so much of the time is over, and with nothing to tell, is odd."""


class BrokenError(Exception):
    """The connection is over. The words are for the operator."""


class RefusedError(BrokenError):
    """The same, and trying again at once won't help: a password, a folder."""


class DeniedError(Exception):
    """The server said no to one thing, and the connection goes on."""


@struct(frozen=True, slots=True, kw_only=True)
class Found:
    raw: bytes
    at: Millis | None
    whole: int | None = None


class Wire:
    """``validity`` is the folder's UIDVALIDITY, ``idles`` whether the server can tell of new mail. All but
    ``cut`` belongs to one thread."""

    def __init__(
        self, account: Account, connect: float, answer: float, tls: ssl.SSLContext | None
    ) -> None:
        self.validity = 0
        self.idles = False
        self._account = account
        self._silence: Any = SocketTimeout(connect=connect, read=answer)
        self._tls = tls
        self._imap: Any = None
        self._socket: socket.socket | None = None
        self._cut = False
        self._moves = self._expunges = False
        self._prefix = ""

    # -- life --------------------------------------------------------------------------------------
    def open(self, folders: Sequence[str]) -> None:
        """Connect, log in, make the folders that mails are moved to, and look into the mailbox."""
        mailbox = self._account
        with self._speaking():
            self._imap = imap = IMAPClient(
                mailbox.host,
                port=mailbox.port,
                ssl=mailbox.tls,
                ssl_context=self._tls,
                timeout=self._silence,
            )
            self._socket = imap.socket()
            if self._cut:
                imap.shutdown()
                raise BrokenError("the connection isn't wanted any more")
            imap.normalise_times = False
        self._log_in()
        with self._speaking():
            able = {name.upper() for name in cast("Sequence[bytes]", imap.capabilities())}
            self.idles, self._moves = b"IDLE" in able, b"MOVE" in able
            self._expunges = b"UIDPLUS" in able
            if b"NAMESPACE" in able:
                self._prefix = _prefix(imap.namespace())
        for folder in folders:
            self._make(folder)
        self.select()

    def select(self) -> None:
        """Look into the mailbox anew. Its UIDs mean other mails once ``validity`` has changed
        (RFC 3501, section 2.3.1.1)."""
        folder = self._account.folder
        try:
            with self._speaking():
                told = self._imap.select_folder(folder)
        except DeniedError as error:
            raise RefusedError(f"the mailbox {plain(folder)} can't be opened: {error}") from None
        self.validity = int(told.get(b"UIDVALIDITY", 0))

    def cut(self) -> None:
        """From any thread: whatever waits for the server waits no longer."""
        self._cut = True
        if self._socket is not None:
            try:
                # Not that of an SSLSocket, which takes the state away that the thread is using.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                return

    def close(self) -> None:
        if self._imap is not None:
            try:
                self._imap.shutdown()
            except (OSError, ValueError, IMAPClientError):
                return

    # -- mails -------------------------------------------------------------------------------------
    def listed(self, since: Millis) -> list[int]:
        """The UIDs of all that came since then and isn't marked to be deleted, in order. Servers look by
        the day, and by that of their own zone (RFC 3501, section 6.4.4)."""
        day = datetime.fromtimestamp(since / 1000, UTC).date() - timedelta(days=1)
        with self._speaking():
            self._untold()
            found = self._imap.search(["UNDELETED", "SINCE", day]) if since else None
            if found is None:
                return sorted(int(uid) for uid in self._imap.search("UNDELETED"))
            told: dict[int, object] = self._imap.fetch(found, ["INTERNALDATE"]) if found else {}
        return sorted(uid for uid in found if _came(told.get(uid)) >= since)

    def fetch(self, uid: int) -> Found | None:
        """``None``: it isn't there any more."""
        with self._speaking():
            told = self._of(uid, "RFC822.SIZE", "INTERNALDATE")
            if told is None:
                return None
            size, at = told.get(b"RFC822.SIZE"), _came(told) or None
            if isinstance(size, int) and size > MAX_MAIL:
                return self._header(uid, at, size)
            mail = self._of(uid, "BODY.PEEK[]")
            raw = None if mail is None else mail.get(b"BODY[]")
        if not isinstance(raw, bytes):
            return None
        raw, whole = capped(raw)
        return Found(raw=raw, at=at, whole=whole)

    def move(self, uid: int, folder: str) -> None:
        """One that is gone needs no moving."""
        try:
            self._move(uid, self._prefix + folder)
        except DeniedError:
            with self._speaking():
                there = self._imap.search(["UID", str(uid)])
            if uid not in there:
                return
            self._make(folder)
            self._move(uid, self._prefix + folder)

    def noop(self) -> None:
        with self._speaking():
            self._imap.noop()

    # -- waiting for mail (RFC 2177) -----------------------------------------------------------------
    def idle(self) -> Heard:
        """Begin to wait. Mail that came after ``listed`` may be told before waiting has begun, or in the same
        breath with that."""
        with self._speaking():
            self._imap.idle()
            return "new" if self._untold() or self._read_ahead() else "quiet"

    def listen(self, seconds: float) -> Heard:
        with self._speaking():
            began = time.monotonic()
            told = self._imap.idle_check(timeout=seconds)
            if _new(told):
                return "new"
            early = time.monotonic() - began < EARLY * seconds
            return "odd" if _over(told) or (not told and early) else "quiet"

    def wake(self) -> None:
        """End the waiting, and have the server answer: a dead connection looks like a quiet one."""
        with self._speaking():
            self._imap.idle_done()
            self._imap.noop()

    # -- how it is said ------------------------------------------------------------------------------
    def _log_in(self) -> None:
        user, password = self._account.user, self._account.password.value
        # The library quotes the password, and not the name.
        quoted = '"' + user.replace("\\", "\\\\").replace('"', '\\"') + '"'
        with self._speaking():
            try:
                self._imap.login(quoted, password)
            except LoginError as error:
                if isinstance(error.__context__, IMAPClientAbortError):
                    raise error.__context__ from None
                name = f"{plain(user)} on {self._account.host}"
                said = plain(error).removeprefix("b'").removesuffix("'")  # as the library prints it
                raise RefusedError(
                    f"the mail server refuses the password of {name}: {said}"
                ) from None

    def _of(self, uid: int, *items: str) -> dict[bytes, object] | None:
        found = self._imap.fetch([uid], list(items))
        return cast("dict[bytes, object] | None", found.get(uid))

    def _header(self, uid: int, at: Millis | None, size: int) -> Found | None:
        told = self._of(uid, f"BODY.PEEK[HEADER]<0.{MAX_HEADER}>")
        raw = None if told is None else told.get(b"BODY[HEADER]<0>")
        return Found(raw=raw, at=at, whole=size) if isinstance(raw, bytes) else None

    def _move(self, uid: int, name: str) -> None:
        """Without MOVE (RFC 6851) a copy is made and the mail marked; without UIDPLUS (RFC 4315) it is
        left so, since an expunge would take what others have marked."""
        with self._speaking():
            if self._moves:
                self._imap.move([uid], name)
                return
            self._imap.copy([uid], name)
            self._imap.add_flags([uid], [b"\\Deleted"], silent=True)
            if self._expunges:
                self._imap.uid_expunge([uid])

    def _make(self, folder: str) -> None:
        """Whether it could be made shows when something is moved there."""
        name = self._prefix + folder
        try:
            with self._speaking():
                if not self._imap.folder_exists(name):
                    self._imap.create_folder(name)
                    self._imap.subscribe_folder(name)
        except DeniedError:
            return

    def _untold(self) -> bool:
        """Whether new mail was told in passing, which the library keeps to itself."""
        imaplib = self._imap._imap  # noqa: SLF001 - its public name is no part of IMAPClient's
        return imaplib.untagged_responses.pop("EXISTS", None) is not None

    def _read_ahead(self) -> bool:
        """Whether more was read than was asked for. The library waits at the socket for what comes, and what
        came with the line before is no longer there."""
        line: socket.socket = self._imap.socket()
        patience = line.gettimeout()
        line.setblocking(False)
        try:
            return bool(self._imap._imap.file.peek(1))  # noqa: SLF001 - as above
        except OSError:
            return False  # nothing (TLS says so by an error), or the next question tells
        finally:
            line.settimeout(patience)

    @contextmanager
    def _speaking(self) -> Generator[None, None, None]:
        where = f"{self._account.host}:{self._account.port}"
        try:
            yield
        except ssl.SSLCertVerificationError as error:
            raise RefusedError(
                f"the certificate of {where} can't be believed: {plain(error.verify_message)}"
            ) from None
        except (BrokenError, DeniedError):
            raise
        except TimeoutError:
            raise BrokenError(f"{where} doesn't answer") from None
        except OSError as error:
            told = error.strerror or error
            raise BrokenError(f"{where} can't be reached: {plain(told)}") from None
        except IMAPClientAbortError as error:
            raise BrokenError(f"the connection to {where} was lost: {plain(error)}") from None
        except IMAPClientError as error:
            raise DeniedError(plain(error)) from None
        except Exception as error:
            # What can't be understood leaves the two sides at different places of the conversation.
            raise BrokenError(f"{where} speaks in riddles ({type(error).__name__})") from error


def _new(told: Sequence[Sequence[object]]) -> bool:
    return any(len(one) > 1 and one[1] == b"EXISTS" for one in told)


def _over(told: Sequence[Sequence[object]]) -> bool:
    return any(len(one) > 0 and one[0] == b"BYE" for one in told)


def _came(told: object) -> Millis:
    """When it came, 0 where the server doesn't say."""
    date = cast("dict[bytes, object]", told).get(b"INTERNALDATE") if told else None
    return Millis(int(date.timestamp() * 1000) if isinstance(date, datetime) else 0)


def _prefix(spaces: Sequence[Sequence[Sequence[object]] | None]) -> str:
    """What the names of one's own folders begin with (RFC 2342)."""
    personal = spaces[0] if spaces else None
    found = personal[0][0] if personal else ""
    return found.decode("ascii", "ignore") if isinstance(found, bytes) else str(found)
