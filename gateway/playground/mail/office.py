"""The mail that is played with: a server on this machine, and the people who have mailboxes there."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from channels.email.emulator.boxes import Folder
from channels.email.emulator.dovecot import Dovecot
from channels.email.emulator.server import MailServer
from gateway.testing.mail import Away, settings_for

SUPPORT = "support@shop.example"
SENT = "Sent"
SHOP = "shop.example"

Mode: TypeAlias = Literal["usual", "away", "unmarked", "bounce"]
MODES: Mapping[Mode, str] = {
    "usual": "Mail arrives, and nothing answers by itself",
    "away": "Out of office, marked as RFC 3834 asks for",
    "unmarked": "Out of office, with nothing that tells it from a person's mail",
    "bounce": "The mailbox is gone: mail comes back",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Correspondent:
    """Somebody to be. ``reads`` are the mailboxes that they look into, ``writes_as`` is what their mail says
    in ``From``, ``dmarc`` how the check of it ends where that isn't their domain's to say."""

    key: str
    name: str
    address: str
    about: str
    kind: str = "person"
    """``person``, ``guest`` (nobody vouches), ``stranger`` (a forger), or ``app`` for the support inbox."""
    reads: tuple[str, ...] = ()
    writes_as: str = ""
    dmarc: str = ""

    @property
    def sender(self) -> str:
        return self.writes_as or f"{self.name} <{self.address}>"

    @property
    def has_modes(self) -> bool:
        """Whether their mailbox may answer by itself, or be gone."""
        return self.kind in {"person", "guest"}


ADA = Correspondent(
    key="ada",
    name="Ada",
    address="ada@cust.example",
    about="is a customer. Her mail is DMARC-aligned: cust.example vouches for it, though not for her",
)
BO = Correspondent(
    key="bo",
    name="Bo",
    address="bo@quiet.example",
    about="is a customer whose domain says nothing about its mail: nobody vouches for him",
    kind="guest",
)
FORGER = Correspondent(
    key="forger",
    name="forger",
    address="mallory@evil.example",
    about="has got hold of Ada's mail, and writes with her address. cust.example disowns it",
    kind="stranger",
    reads=(ADA.address,),
    writes_as=f"Ada <{ADA.address}>",
    dmarc="fail",
)
COLLEAGUE = Correspondent(
    key="colleague",
    name="colleague",
    address=f"lead@{SHOP}",
    about="works at the shop and reads its support mail, too. An answer of theirs to a customer takes over",
    reads=(SUPPORT,),
)
INBOX = Correspondent(
    key="support",
    name="support inbox",
    address=SUPPORT,
    about="is what the gateway reads: everything that reached it, and how it was judged",
    kind="app",
)
PEOPLE: Mapping[str, Correspondent] = {one.key: one for one in (ADA, BO, FORGER, COLLEAGUE, INBOX)}


@dataclass(slots=True, kw_only=True)
class MailOffice:
    server: MailServer
    modes: dict[str, Mode] = field(default_factory=dict[str, Mode])
    dovecot: Dovecot | None = None
    """Has the support inbox that the gateway reads; ``None``: ``server`` has that, too."""
    _taken_down: bool = field(default=False, init=False)

    @property
    def settings(self) -> Mapping[str, str]:
        """What the gateway is told to use the support inbox."""
        port = 0 if self.dovecot is None else self.dovecot.imap_port
        return {**settings_for(self.server, SUPPORT, imap=port), "EMAIL_VOUCHING_DOMAINS": SHOP}

    # -- up and down -------------------------------------------------------------------------------
    @property
    def down(self) -> bool:
        """Somebody took the server down, or it went by itself."""
        return self._taken_down or (self.dovecot is not None and not self.dovecot.running)

    async def take_down(self) -> None:
        """What is written meanwhile lies in the inbox, and nobody can read it."""
        if not self._taken_down:
            self._taken_down = True
            await self.server.stop()
        if self.dovecot is not None:
            await self.dovecot.stop(signal.SIGKILL)  # a polite end takes a second

    async def bring_back(self) -> None:
        """Raises ``ServerUnavailableError``."""
        if self._taken_down:
            await self.server.start()
            self._taken_down = False
        if self.dovecot is not None and not self.dovecot.running:
            await self.dovecot.start()

    # -- people ------------------------------------------------------------------------------------
    def person(self, key: str | None) -> Correspondent:
        """The one of this name, or the customer."""
        return PEOPLE.get(key or "", ADA)

    def mode(self, person: Correspondent) -> Mode:
        return self.modes.get(person.address, "usual")

    def set_mode(self, person: Correspondent, mode: Mode) -> None:
        self.server.back(person.address)
        self.modes[person.address] = mode
        match mode:
            case "bounce":
                self.server.bounce(person.address)
            case "away" | "unmarked":
                self.server.away(person.address, Away(marked=mode == "away"))
            case "usual":
                pass

    def folders(self, address: str) -> Iterator[Folder]:
        account = self.server.accounts.find(address)
        if account is not None:
            yield from account.folders.values()

    def file_sent(self, person: Correspondent, raw: bytes) -> None:
        """As a mail program does with what it has sent."""
        account = self.server.accounts.find(person.address)
        if account is not None:
            folder = account.folder(SENT) or account.create(SENT)
            folder.add(raw, self.server.now())


def furnish_mail(server: MailServer) -> MailOffice:
    """Everybody's mailboxes, and what the border knows of their domains."""
    for person in PEOPLE.values():
        server.user(person.address)
    server.border.verdicts |= {"cust.example": "pass", SHOP: "pass", "quiet.example": "none"}
    return MailOffice(server=server)
