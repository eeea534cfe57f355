"""Debian's Dovecot on loopback for tests: IMAP and LMTP, a folder of Maildirs, two users.

::

    async with dovecot(tmp_path) as box:
        await box.deliver(raw, "support@shop.example")
        ...  # an IMAP client at box.host, box.imap_port with box.user and box.password
        await box.stop()
        await box.start()  # same ports, same mails
"""

from __future__ import annotations

import asyncio
import contextlib
import imaplib
import signal
import smtplib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from channels.email.emulator import dovecot as product
from channels.email.emulator import process
from channels.email.emulator.process import HOST

USER = "support@shop.example"
OTHER = "customer@cust.example"
PASSWORD = "made-up"


class Dovecot(product.Dovecot):
    """One server. ``stop`` and ``start`` keep ports and mails."""

    user = USER
    password = PASSWORD
    """Everybody's."""

    def __init__(self, folder: Path, log: Path) -> None:
        super().__init__(folder, log, dict.fromkeys((USER, OTHER), PASSWORD), lmtp=True)

    # -- mail --------------------------------------------------------------------------------------
    async def deliver(self, raw: bytes, to: str, sender: str = "customer@cust.example") -> None:
        """Hand a mail over by LMTP, as a border's MTA does. Returns when it lies in the mailbox."""
        await asyncio.to_thread(self._deliver, raw, to, sender)

    def mails(self, address: str = USER, mailbox: str = "INBOX") -> list[bytes]:
        """What lies in a mailbox, oldest first, past any protocol."""
        place = self._place(address, mailbox)
        files = [file for part in ("new", "cur") for file in (place / part).glob("*")]
        return [file.read_bytes() for file in sorted(files, key=lambda file: file.name)]

    async def fetched(self) -> list[bytes]:
        """What lies in the inbox as a client gets it, oldest first."""
        return await asyncio.to_thread(self._fetch)

    async def renew(self, address: str = USER, mailbox: str = "INBOX") -> None:
        """A mailbox gets a new UIDVALIDITY and all its mails new UIDs, as after a restored backup. The
        server is restarted meanwhile."""
        await self.stop(signal.SIGKILL)
        place = self._place(address, mailbox)
        for file in [*place.glob("dovecot.index*"), *place.glob("dovecot-uidlist*")]:
            file.unlink()
        await self.start()

    def _deliver(self, raw: bytes, to: str, sender: str) -> None:
        with smtplib.LMTP(HOST, self.lmtp_port, "relay.example", timeout=10) as line:
            line.sendmail(sender, [to], raw)

    def _fetch(self) -> list[bytes]:
        with imaplib.IMAP4(HOST, self.imap_port, timeout=10) as line:
            line.login(USER, PASSWORD)
            line.select("INBOX", readonly=True)
            _, found = line.fetch("1:*", "(BODY.PEEK[])")
        return [part[1] for part in found if isinstance(part, tuple)]


WHY_NOT = product.why_not() and f"{product.why_not()}. fix: sudo bash .ci/setup-mail"
"""Why there can be no Dovecot here; empty if there can."""

needs_dovecot = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "there is one")


@contextlib.asynccontextmanager
async def dovecot(tmp_path: Path) -> AsyncIterator[Dovecot]:
    """A server that has started. Its log stays in ``tmp_path``."""
    if WHY_NOT:
        raise process.ServerUnavailableError(WHY_NOT)
    async with process.folder() as place, Dovecot(place, tmp_path / "dovecot.log") as box:
        yield box
