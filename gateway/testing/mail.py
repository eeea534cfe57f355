"""Mail for tests of agents and apps: a server on this machine, no account, no network.

The settings of a gateway that is to use one of its mailboxes are ``settings_for(server, address)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from channels.email.emulator.faults import Fault
from channels.email.emulator.letters import Draft, File, reply
from channels.email.emulator.notices import Away, Bounce
from channels.email.emulator.server import MailServer

__all__ = ["Away", "Bounce", "Draft", "Fault", "File", "MailServer", "reply", "settings_for"]


def settings_for(server: MailServer, address: str, *, imap: int = 0) -> Mapping[str, str]:
    """What a gateway is told to read and answer this mailbox. ``imap`` is the port of another server of this
    machine, where the mailbox has the same password. Raises ``KeyError`` for one that isn't there."""
    account = server.accounts.find(address)
    if account is None:
        raise KeyError(f"{address} has no mailbox here")
    login = f"{quote(account.address, safe='')}:{quote(account.password, safe='')}@{server.host}"
    return {
        "EMAIL_ADDRESS": account.address,
        "EMAIL_IMAP_URL": f"imap://{login}:{imap or server.ports.imap}/INBOX",
        "EMAIL_SMTP_URL": f"smtp://{login}:{server.ports.submission}",
        "EMAIL_AUTHSERV_ID": server.border.id,
        "EMAIL_BORDER_HOST": server.border.id,
    }
