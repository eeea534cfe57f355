"""The support inbox in a real mail server: Dovecot, where there is one.

All else stays the embedded server's: people's mailboxes, the border, the way out. What comes to its support
inbox is put into Dovecot's to the last byte, and Dovecot's is the one that the gateway reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Literal, TypeAlias

from channels.email.emulator.boxes import Account
from channels.email.emulator.dovecot import Dovecot, why_not
from channels.email.emulator.process import ServerUnavailableError, folder
from channels.email.emulator.server import MailServer
from gateway.engine.errors import ConfigError
from gateway.engine.steps.tasks import Tasks

Choice: TypeAlias = Literal["auto", "embedded", "dovecot"]
"""Who has the support inbox. ``auto``: Dovecot, where it is installed and starts."""

PATIENCE = 5.0
"""Seconds for what is being put into it, at the end."""

log = logging.getLogger("gateway.playground")


@asynccontextmanager
async def inbox_as_chosen(
    server: MailServer, address: str, choice: Choice
) -> AsyncGenerator[Dovecot | None]:
    """The Dovecot that has this inbox of the server's. Raises ``ConfigError`` where one is asked for and can't
    be had; ``auto`` does without, and says so if it is installed. Raises ``KeyError`` for an inbox that isn't
    there."""
    account = server.accounts.find(address)
    if account is None:
        raise KeyError(address)
    async with AsyncExitStack() as stack:
        box = None if choice == "embedded" else await _start(stack, choice, account)
        if box is not None:
            log.info("the support inbox lies in Dovecot, on port %d", box.imap_port)
            tasks = Tasks()
            stack.push_async_callback(tasks.close, PATIENCE)
            tasks.run(_fill(box, account), "playground:dovecot")
        yield box


async def _start(stack: AsyncExitStack, choice: Choice, account: Account) -> Dovecot | None:
    why = await asyncio.to_thread(why_not)
    if why and choice == "auto":
        return None
    if not why:
        try:
            place = await stack.enter_async_context(folder())
            box = Dovecot(place, place / "log", {account.address: account.password})
            return await stack.enter_async_context(box)
        except (OSError, ServerUnavailableError) as error:
            why = str(error).splitlines()[-1]
    if choice == "dovecot":
        raise ConfigError(
            f"Dovecot can't have the support inbox: {why}",
            fix="install Debian's dovecot-imapd 2.3, or leave --mail dovecot out",
        )
    log.warning("Dovecot can't have the support inbox, so the embedded server has it: %s", why)
    return None


async def _fill(box: Dovecot, account: Account) -> None:
    """Put what comes into the embedded inbox into Dovecot's, in order."""
    last, more = 0, asyncio.Event()
    account.inbox.watchers.add(more.set)
    try:
        while True:
            more.clear()
            for mail in [one for one in account.inbox.mails.values() if one.uid > last]:
                await box.put(mail.raw, account.address, mail.at)
                last = mail.uid
            await more.wait()
    finally:
        account.inbox.watchers.discard(more.set)
