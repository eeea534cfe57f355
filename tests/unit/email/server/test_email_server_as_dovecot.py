"""What a client sees of the server for trying things out is what it sees of Dovecot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from imapclient import IMAPClient  # type: ignore[import-untyped]
from imapclient.exceptions import IMAPClientError  # type: ignore[import-untyped]

from channels.email.emulator.server import MailServer
from tests.support.mail.dovecot import OTHER, PASSWORD, USER, dovecot, needs_dovecot
from tests.unit.email.server.conftest import draft

pytestmark = [pytest.mark.mail, needs_dovecot]

RAW = draft(message_id="<d@cust.example>").raw()
TO = "support+tok.en@shop.example"


def story(client: IMAPClient) -> list[Any]:
    """What a client does that works off an inbox of two mails, and what it is told each time."""
    told: list[Any] = []
    client.login(USER, PASSWORD)
    told.append({b"IDLE", b"MOVE", b"UIDPLUS"} <= set(client.capabilities()))
    client.create_folder("Processed")
    told.append(sorted(name for _, _, name in client.list_folders()))
    selected = client.select_folder("INBOX")
    told.append([selected[key] for key in (b"EXISTS", b"UIDNEXT", b"READ-WRITE")])
    told += [client.search(what) for what in ("ALL", "UNSEEN", "UID 9:*", "UID 2:*", "UID 1")]
    got = client.fetch([1, 2, 7], ["BODY.PEEK[]", "RFC822.SIZE"])
    told.append({uid: got[uid][b"RFC822.SIZE"] == len(got[uid][b"BODY[]"]) for uid in got})
    told.append([got[uid][b"BODY[]"].endswith(RAW) for uid in got])
    told.append([_top(got[uid][b"BODY[]"]) for uid in got])
    client.add_flags([1], ["\\Seen"])
    told += [client.search("UNSEEN"), client.fetch([1], ["FLAGS"])[1][b"FLAGS"][0]]
    client.move([1], "Processed")
    told += [client.search(), client.folder_status("Processed", ["MESSAGES", "UNSEEN"])]
    client.copy([2], "Processed")
    client.delete_messages([2])
    client.expunge([2])
    told += [client.search(), client.folder_status("INBOX", ["MESSAGES", "UIDNEXT"])]
    client.append("INBOX", RAW)
    told.append(client.search())
    for wrong in (lambda: client.move([3], "Nowhere"), lambda: client.select_folder("Nowhere")):
        told.append(_refused(wrong))
    return told


def _refused(do: Callable[[], object]) -> bool:
    try:
        do()
    except IMAPClientError:
        return True
    return False


def _top(raw: bytes) -> list[bytes]:
    """The lines that say where a mail came from and to whom."""
    lines = raw.splitlines()
    return sorted(line for line in lines if line.startswith((b"Return-Path:", b"Delivered-To:")))


async def told(host: str, port: int) -> list[Any]:
    def work() -> list[Any]:
        with IMAPClient(host, port, ssl=False, timeout=5) as client:
            return story(client)

    return await asyncio.to_thread(work)


async def test_they_tell_the_same_story(tmp_path: Path) -> None:
    async with dovecot(tmp_path) as box:
        for to in (USER, TO):
            await box.deliver(RAW, to, OTHER)
        real = await told(box.host, box.imap_port)
    async with MailServer() as server:
        server.user(USER, PASSWORD)
        for to in (USER, TO):
            await server.deliver(RAW, to, OTHER)
        assert await told(server.host, server.ports.imap) == real


async def test_dovecot_keeps_its_mails_and_gives_them_new_numbers(tmp_path: Path) -> None:
    def look() -> tuple[int, int]:
        with IMAPClient(box.host, box.imap_port, ssl=False, timeout=5) as client:
            client.login(box.user, box.password)
            selected = client.select_folder("INBOX", readonly=True)
            return selected[b"EXISTS"], selected[b"UIDVALIDITY"]

    async with dovecot(tmp_path) as box:
        await box.deliver(RAW, TO)
        count, before = await asyncio.to_thread(look)
        await box.renew()
        again, after = await asyncio.to_thread(look)
        assert (count, again, len(box.mails())) == (1, 1, 1)
        assert after > before
