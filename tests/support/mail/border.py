"""A mail border as many sites run it: Postfix with OpenDKIM and OpenDMARC in front of Dovecot, and a name
server that knows the test's domains. All on loopback, from what .ci/setup-mail unpacked.

::

    async with border(tmp_path) as mx:
        await mx.inject(mx.customer.signed(raw), client="192.0.2.10")
        [mail] = await mx.arrived(1)

The accounts it changes to are ones that every Debian has. OpenDMARC asks whatever name server
/etc/resolv.conf names, so it gets a file of its own there, in a mount namespace (``unshare``).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import secrets
import shutil
import signal
import smtplib
import subprocess
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from channels.email.emulator import process
from channels.email.emulator.process import HOST
from tests.support.mail.domains import Domain
from tests.support.mail.dovecot import Dovecot

PROGRAMS = Path(__file__).parents[3] / "build" / "mail"
"""What .ci/setup-mail unpacked."""

SITE = "shop.example"
AUTHSERV_ID = f"mx.{SITE}"
"""Also what the border calls itself in ``Received``."""
SUPPORT = f"support@{SITE}"
CUSTOMER, EVIL, DIRECT, PLAIN = "192.0.2.10", "198.51.100.66", "192.0.2.20", "192.0.2.30"
ARRIVES_WITHIN = 10.0

FILTER_SETTINGS = """\
AuthservID {id}
Socket inet:{port}@{host}
UserID mail
Background no
Syslog no
"""
OPENDKIM = """\
Mode v
Nameservers {names}
InternalHosts {folder}/nobody
ExternalIgnoreList {folder}/nobody
AlwaysAddARHeader yes
RemoveARFrom {id}
"""
OPENDMARC = """\
TrustedAuthservIDs {id}
IgnoreHosts {folder}/nobody
SPFSelfValidate true
SPFIgnoreResults true
RejectFailures false
"""
NAMES = """\
no-resolv
no-hosts
no-daemon
bind-interfaces
user=nobody
pid-file=
listen-address={names}
local=/#/
"""
POSTFIX = """\
compatibility_level = 3.6
mail_owner = news
setgid_group = irc
default_privs = nobody
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = {programs}/usr/sbin
daemon_directory = {programs}/usr/lib/postfix/sbin
shlib_directory = {programs}/usr/lib/postfix
meta_directory = {folder}/postfix
maillog_file = {log}
maillog_file_prefixes = {log}
import_environment = MAIL_CONFIG LD_LIBRARY_PATH PATH
export_environment = MAIL_CONFIG LD_LIBRARY_PATH PATH
inet_interfaces = {host}
inet_protocols = ipv4
mynetworks = 127.0.0.2/32
myhostname = {id}
mydestination =
alias_maps =
local_recipient_maps =
virtual_mailbox_domains = {site}
virtual_mailbox_maps = static:ok
virtual_transport = lmtp:inet:{host}:{lmtp}
default_transport = error:only local mail
recipient_delimiter = +
smtpd_milters = inet:{host}:{opendkim}, inet:{host}:{opendmarc}
milter_default_action = tempfail
smtpd_authorized_xclient_hosts = {host}
smtpd_recipient_restrictions = reject_unauth_destination
local_header_rewrite_clients =
smtpd_peername_lookup = no
smtpd_client_connection_rate_limit = 0
disable_dns_lookups = yes
lmtp_destination_concurrency_limit = 5
"""
SERVICES = """\
{host}:{smtp} inet n - n - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
error unix - - n - - error
lmtp unix - - n - - lmtp
proxymap unix - - n - - proxymap
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
"""
QUEUES = (
    *("active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming"),
    *("private", "saved", "trace"),
)


class Border:
    """The stack, and the domains that it knows.

    ``customer`` signs and says who may send for it; ``plain`` only says who may; ``direct`` and ``hyphen``
    only sign. ``evil`` does all of it right, for itself.
    """

    def __init__(self, folder: Path, logs: Path) -> None:
        self.logs = logs
        self.smtp_port = process.free_port()
        place = folder / "box"
        place.mkdir()
        self.box = Dovecot(place, logs / "dovecot.log")
        self.customer = Domain(name="cust.example", addresses=(CUSTOMER,))
        self.direct = Domain(name="direct.example")
        self.plain = Domain(name="plain.example", addresses=(PLAIN,), signs=False)
        self.evil = Domain(name="evil.example", addresses=(EVIL,), dmarc="v=DMARC1; p=none")
        self.hyphen = Domain(name="pay-cust.example")
        self.domains = [self.customer, self.direct, self.plain, self.evil, self.hyphen]
        self._folder = folder
        self._processes: list[Process] = []
        # Any 127.x is this machine, so that each stack may have a port 53: the filters know no other.
        self._names = f"127.{'.'.join(str(2 + secrets.randbelow(250)) for _ in range(3))}"

    # -- life --------------------------------------------------------------------------------------
    async def start(self) -> None:
        ports = {name: process.free_port() for name in ("opendkim", "opendmarc")}
        self._configure(ports)
        names = await self._start(
            "names", "usr/sbin/dnsmasq", f"--conf-file={self._folder}/names.conf"
        )
        await self._until(partial(_takes, self._names, 53), names, "names")
        dkim = await self._start(
            "opendkim", "usr/sbin/opendkim", "-f", "-x", str(self._folder / "opendkim.conf")
        )
        resolv = self._folder / "resolv.conf"
        dmarc = await self._start(
            "opendmarc", "usr/sbin/opendmarc", "-f", "-c", str(self._folder / "opendmarc.conf"),
            before=("unshare", "-m", "sh", "-c", f'mount --bind {resolv} /etc/resolv.conf && exec "$@"', "sh"),
        )  # fmt: skip
        await self.box.start()
        for name, running in (("opendkim", dkim), ("opendmarc", dmarc)):
            await self._until(partial(_takes, HOST, ports[name]), running, name)
        postfix = await self._start(
            "postfix", "usr/lib/postfix/sbin/master", "-c", str(self._folder / "postfix"), "-d"
        )
        await self._until(partial(process.answers, self.smtp_port), postfix, "postfix")

    async def stop(self) -> None:
        for running in reversed(self._processes):
            await process.stop(running, signal.SIGKILL)
        self._processes.clear()
        await self.box.stop(signal.SIGKILL)

    # -- mail --------------------------------------------------------------------------------------
    async def inject(
        self,
        raw: bytes,
        *,
        to: str = SUPPORT,
        sender: str = "ada@cust.example",
        client: str = CUSTOMER,
        name: str = "out.cust.example",
    ) -> None:
        """Hand a mail over as the host with this address would."""
        await asyncio.to_thread(self._inject, raw, to, sender, (client, name))

    async def arrived(self, count: int) -> list[bytes]:
        """What lies in the inbox as a client gets it, when there are as many."""
        async with asyncio.timeout(ARRIVES_WITHIN):
            while len(self.box.mails()) < count:
                await asyncio.sleep(process.POLL)
        return await self.box.fetched()

    def _inject(self, raw: bytes, to: str, sender: str, client: tuple[str, str]) -> None:
        address, name = client
        with smtplib.SMTP(HOST, self.smtp_port, "localhost", timeout=10) as line:
            line.ehlo()
            line.docmd("XCLIENT", f"ADDR={address} NAME={name} HELO={name}")
            line.ehlo(name)
            line.sendmail(sender, [to], raw)

    # -- how it is set up --------------------------------------------------------------------------
    def _configure(self, ports: Mapping[str, int]) -> None:
        words: dict[str, object] = {
            **ports,
            "folder": self._folder,
            "programs": PROGRAMS,
            "host": HOST,
            "id": AUTHSERV_ID,
            "site": SITE,
            "names": self._names,
            "log": self._log("postfix"),
            "lmtp": self.box.lmtp_port,
            "smtp": self.smtp_port,
        }
        records = [record for domain in self.domains for record in domain.records()]
        known = "".join(f"txt-record={name},{_chunks(text)}\n" for name, text in records)
        self._write("names.conf", NAMES.format(**words) + known)
        self._write("resolv.conf", f"nameserver {self._names}\noptions timeout:2 attempts:2\n")
        # Without it the filters take loopback, where XCLIENT comes from, for their own house.
        self._write("nobody", "203.0.113.254\n")
        for name, rules in (("opendkim", OPENDKIM), ("opendmarc", OPENDMARC)):
            both = FILTER_SETTINGS + rules
            self._write(f"{name}.conf", both.format(**words, port=ports[name]))
        (self._folder / "postfix").mkdir()
        self._write("postfix/main.cf", POSTFIX.format(**words))
        self._write("postfix/master.cf", SERVICES.format(**words))
        for queue in QUEUES:
            self._owned(f"queue/{queue}", 0o700, "news")
        self._owned("queue/public", 0o710, "news", "irc")
        self._owned("queue/maildrop", 0o730, "news", "irc")
        self._owned("queue/pid", 0o755, "root")
        self._owned("data", 0o700, "news")

    def _write(self, name: str, text: str) -> None:
        (self._folder / name).write_text(text, encoding="ascii")

    def _owned(self, name: str, mode: int, user: str, group: str | None = None) -> None:
        path = self._folder / name
        path.mkdir(parents=True)
        path.chmod(mode)
        shutil.chown(path, user, group)

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    async def _start(
        self, name: str, path: str, *arguments: str, before: Sequence[str] = ()
    ) -> Process:
        command = [*before, str(PROGRAMS / path), *arguments]
        running = await process.start(command, self._log(name), env=_environment())
        self._processes.append(running)
        return running

    async def _until(
        self, ready: Callable[[], Awaitable[bool]], running: Process, name: str
    ) -> None:
        await process.until(ready, running, name, self._log(name))


@functools.cache
def _environment() -> dict[str, str]:
    """The libraries lie beside the programs."""
    places = [
        *PROGRAMS.glob("usr/lib/*-linux-gnu"),
        PROGRAMS / "usr/lib",
        PROGRAMS / "usr/lib/postfix",
    ]
    return {"PATH": os.defpath + ":/usr/sbin:/sbin", "LD_LIBRARY_PATH": ":".join(map(str, places))}


async def _takes(host: str, port: int) -> bool:
    """Whether somebody listens there who waits to be spoken to."""
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()
        return True
    return False


def _chunks(text: str) -> str:
    """A TXT record is made of strings of at most 255 characters."""
    return ",".join(f'"{text[at : at + 255]}"' for at in range(0, len(text), 255))


@functools.cache
def why_not() -> str:
    """Why there can be no border here; empty if there can."""
    if os.geteuid() != 0:
        return "the servers change users when they start, so they need root"
    if why := process.lacking("dovecot", "unshare", "mount"):
        return f"{why}. fix: sudo bash .ci/setup-mail"
    if not (PROGRAMS / ".ready").exists():
        return "Postfix and its filters aren't there. fix: sudo bash .ci/setup-mail"
    tried = subprocess.run(
        [
            process.program("unshare"),
            "-m",
            "mount",
            "--bind",
            "/etc/resolv.conf",
            "/etc/resolv.conf",
        ],
        capture_output=True,
        check=False,
    )
    return "" if tried.returncode == 0 else "no mount namespaces here, and OpenDMARC needs one"


needs_border = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is one")


@contextlib.asynccontextmanager
async def border(tmp_path: Path) -> AsyncIterator[Border]:
    """The whole stack, started. The logs stay in ``tmp_path``."""
    if why := why_not():
        raise process.ServerUnavailableError(why)
    async with process.folder() as place:
        stack = Border(place, tmp_path)
        try:
            await stack.start()
            yield stack
        finally:
            await stack.stop()
