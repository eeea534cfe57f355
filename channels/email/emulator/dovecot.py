"""Debian's Dovecot (2.3) on loopback: a real IMAP server over a folder of Maildirs, which ends with us.

It needs no account of its own on the machine: started by root it changes to accounts that every Debian has,
and by anybody else it runs as that person.
"""

from __future__ import annotations

import asyncio
import grp
import itertools
import os
import pwd
import shutil
import signal
import time
from asyncio.subprocess import Process
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from channels.email.emulator import process
from channels.email.emulator.process import HOST, ServerUnavailableError
from gateway.engine.kinds import Millis

INBOX = "INBOX"
CONFIGURATION = """\
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {log}
protocols = {protocols}
listen = {host}
ssl = no
disable_plaintext_auth = no
auth_username_chars =
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {login}
first_valid_uid = 1
mail_uid = {user}
mail_gid = {group}
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
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
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


def why_not() -> str:
    """Why there can be no Dovecot here; empty if it can be tried."""
    return process.lacking("dovecot", "setpriv")


class Dovecot:
    """One server for these users, each an address with a password; ``folder`` as ``process.folder`` makes
    one. With ``lmtp`` it takes mail by that, too, from whoever comes: Debian's dovecot-lmtpd.

    ``stop`` and ``start`` keep ports and mails.
    """

    host = HOST

    def __init__(
        self, folder: Path, log: Path, users: Mapping[str, str], *, lmtp: bool = False
    ) -> None:
        self.log = log
        self.imap_port = process.free_port()
        self.lmtp_port = process.free_port() if lmtp else 0
        self._folder = folder
        self._users = users
        self._process: Process | None = None
        self._names = itertools.count(1)

    # -- life --------------------------------------------------------------------------------------
    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop(signal.SIGKILL)  # nobody reads its mails again; a polite end takes a second

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Raises ``ServerUnavailableError``; nothing is left of it then."""
        await self.stop()  # where it died, its children may be about
        try:
            command = await asyncio.to_thread(self._furnish)
            self._process = await process.start(command, self.log)
            for port in filter(None, (self.lmtp_port, self.imap_port)):
                ready = partial(process.answers, port)
                await process.until(ready, self._process, "dovecot", self.log)
        except BaseException as error:
            await self.stop(signal.SIGKILL)
            if isinstance(error, OSError | LookupError):
                raise ServerUnavailableError(f"dovecot can't be set up: {error}") from error
            raise

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Everybody's connection ends; SIGKILL is the crash."""
        if self._process is not None:
            await process.stop(self._process, how)
            self._process = None

    # -- mail --------------------------------------------------------------------------------------
    async def put(self, raw: bytes, address: str, at: Millis) -> None:
        """A mail comes to lie in somebody's inbox to its last byte, as an MTA that knows Maildirs puts it
        there; whether or not the server runs. ``at`` is when it came, its INTERNALDATE."""
        await asyncio.to_thread(self._put, raw, address, at)

    def _put(self, raw: bytes, address: str, at: Millis) -> None:
        name = f"{time.time_ns()}.{next(self._names)}.{os.getpid()}"
        written = self._place(address) / "tmp" / name
        written.write_bytes(raw)
        os.utime(written, (at / 1000, at / 1000))
        self._hand_over(written)
        written.rename(self._place(address) / "new" / name)

    def _place(self, address: str, mailbox: str = INBOX) -> Path:
        home = self._folder / "mail" / address
        return home if mailbox == INBOX else home / f".{mailbox.replace('/', '.')}"

    # -- how it is set up --------------------------------------------------------------------------
    def _furnish(self) -> list[str]:
        """Its folder, where what is there already stays; the command that starts it."""
        for name in ("run", "state", "mail"):
            (self._folder / name).mkdir(exist_ok=True)
        self._hand_over(self._folder / "mail")
        for address in self._users:
            for place in (self._place(address), *map(self._place(address).joinpath, _PARTS)):
                place.mkdir(mode=0o700, exist_ok=True)
                self._hand_over(place)
        user, group, login = _accounts()
        lines = [f"{address}:{{PLAIN}}{word}::::\n" for address, word in self._users.items()]
        users = self._folder / "users"
        users.touch(0o600)
        users.write_text("".join(lines), encoding="utf-8")
        self._hand_over(users)
        told = CONFIGURATION.format(
            folder=self._folder,
            log=self.log,
            host=HOST,
            protocols="imap lmtp" if self.lmtp_port else "imap",
            imap=self.imap_port,
            lmtp=self.lmtp_port,
            user=user,
            group=group,
            login=login,
        )
        configuration = self._folder / "dovecot.conf"
        configuration.write_text(told, encoding="utf-8")
        return [process.program("dovecot"), "-F", "-c", str(configuration)]

    def _hand_over(self, path: Path) -> None:
        """To the account that serves the mail, where that is another than ours."""
        if os.geteuid() == 0:
            user, group, _ = _accounts()
            shutil.chown(path, user, group)


_PARTS = ("cur", "new", "tmp")


def _accounts() -> tuple[str, str, str]:
    """The user and group that serve mail, and the user that strangers talk to before they sign in."""
    if os.geteuid() == 0:
        return "mail", "mail", "nobody"
    user = pwd.getpwuid(os.geteuid()).pw_name
    return user, grp.getgrgid(os.getegid()).gr_name, user
