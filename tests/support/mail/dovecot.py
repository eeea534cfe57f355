"""Debian's Dovecot on loopback: IMAP and LMTP, a folder of Maildirs, two users.

::

    async with dovecot(tmp_path) as box:
        await box.deliver(raw, "support@shop.example")
        ...  # an IMAP client at box.host, box.imap_port with box.user and box.password
        await box.stop()
        await box.start()  # same ports, same mails

The accounts it changes to are ones that every Debian has, so none need be added to the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import imaplib
import shutil
import signal
import smtplib
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.support.mail import process
from tests.support.mail.process import HOST

USER = "support@shop.example"
OTHER = "customer@cust.example"
PASSWORD = "made-up"

CONFIGURATION = """\
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {log}
protocols = imap lmtp
listen = {host}
ssl = no
disable_plaintext_auth = no
auth_username_chars =
default_internal_user = mail
default_internal_group = mail
default_login_user = nobody
first_valid_uid = 1
mail_uid = mail
mail_gid = mail
mail_location = maildir:{folder}/mail/%u
mail_fsync = never
recipient_delimiter = +
lda_mailbox_autocreate = yes
mailbox_idle_check_interval = 1s
shutdown_clients = yes
passdb {{
  driver = passwd-file
  args = username_format=%u {folder}/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%u {folder}/users
}}
service imap-login {{
  inet_listener imap {{
    address = {host}
    port = {imap}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    address = {host}
    port = {lmtp}
  }}
}}
namespace inbox {{
  inbox = yes
  separator = /
}}
"""


class Dovecot:
    """One server. ``stop`` and ``start`` keep ports and mails."""

    host = HOST
    user = USER
    password = PASSWORD
    users = (USER, OTHER)
    """Each with the same password."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.log = log
        self.imap_port = process.free_port()
        self.lmtp_port = process.free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("run", "state", "mail"):
            (folder / name).mkdir()
        shutil.chown(folder / "mail", "mail", "mail")
        self._write("users", "".join(f"{user}:{{PLAIN}}{PASSWORD}::::\n" for user in self.users))
        self._write(
            "dovecot.conf",
            CONFIGURATION.format(
                folder=folder, log=log, host=HOST, imap=self.imap_port, lmtp=self.lmtp_port
            ),
        )

    # -- life --------------------------------------------------------------------------------------
    async def start(self) -> None:
        command = [process.program("dovecot"), "-F", "-c", str(self._folder / "dovecot.conf")]
        self._process = process.start(command, self.log)
        for port in (self.lmtp_port, self.imap_port):
            await process.until(partial(process.answers, port), self._process, self.log)

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Everybody's connection ends; SIGKILL is the crash."""
        if self._process is not None:
            await process.stop(self._process, how)
            self._process = None

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

    def _place(self, address: str, mailbox: str) -> Path:
        home = self._folder / "mail" / address
        return home if mailbox == "INBOX" else home / f".{mailbox.replace('/', '.')}"

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="utf-8")


def why_not() -> str:
    """Why there can be no Dovecot here; empty if there can."""
    return process.lacking("dovecot")


needs_dovecot = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is one")


@contextlib.asynccontextmanager
async def dovecot(tmp_path: Path) -> AsyncIterator[Dovecot]:
    """A server that has started. Its log stays in ``tmp_path``."""
    if why := why_not():
        raise process.MailServerUnavailableError(why)
    with process.folder() as place:
        box = Dovecot(place, tmp_path / "dovecot.log")
        try:
            await box.start()
            yield box
        finally:
            await box.stop(
                signal.SIGKILL
            )  # nobody reads its mails again, and politeness takes a second
