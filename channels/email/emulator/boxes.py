"""Mailboxes in memory, as IMAP sees them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from gateway.engine.kinds import Millis

INBOX = "INBOX"


@dataclass(slots=True)
class Stored:
    """A mail in a folder."""

    uid: int
    raw: bytes
    at: Millis
    flags: frozenset[str] = frozenset()


class Folder:
    """Mails in the order of their UIDs, which are never given twice under one ``validity``."""

    def __init__(self, name: str, validity: int) -> None:
        self.name = name
        self.validity = validity
        self.mails: dict[int, Stored] = {}
        self.watchers: set[Callable[[], None]] = set()
        self.next = 1

    def add(self, raw: bytes, at: Millis, flags: Iterable[str] = ()) -> int:
        uid, self.next = self.next, self.next + 1
        self.mails[uid] = Stored(uid, raw, at, frozenset(flags))
        self.changed()
        return uid

    def remove(self, uids: Iterable[int]) -> None:
        for uid in uids:
            self.mails.pop(uid, None)
        self.changed()

    def renew(self, validity: int, first: int) -> None:
        """All mails get new UIDs from ``first`` on, as after a restored backup."""
        mails = list(self.mails.values())
        self.mails = {}
        self.validity, self.next = validity, first
        for mail in mails:
            self.add(mail.raw, mail.at, mail.flags)

    def changed(self) -> None:
        for watcher in list(self.watchers):
            watcher()


@dataclass(slots=True)
class Account:
    """Somebody with a mailbox here."""

    address: str
    password: str = field(repr=False)
    validities: Iterator[int]
    folders: dict[str, Folder] = field(default_factory=dict[str, Folder])

    def __post_init__(self) -> None:
        self.create(INBOX)

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]

    @property
    def inbox(self) -> Folder:
        return self.folders[INBOX]

    def folder(self, name: str) -> Folder | None:
        return self.folders.get(INBOX if name.upper() == INBOX else name)

    def create(self, name: str) -> Folder:
        self.folders[name] = folder = Folder(name, next(self.validities))
        return folder


class Accounts:
    """Who has a mailbox. Addresses are one whatever their case and plus part."""

    def __init__(self, first_validity: int) -> None:
        self.validities = itertools.count(first_validity)
        self._accounts: dict[str, Account] = {}

    def add(self, address: str, password: str) -> Account:
        account = Account(address.lower(), password, self.validities)
        self._accounts[account.address] = account
        return account

    def find(self, address: str) -> Account | None:
        local, _, domain = address.lower().rpartition("@")
        return self._accounts.get(f"{local.partition('+')[0]}@{domain}")

    def login(self, address: str, password: str) -> Account | None:
        account = self._accounts.get(address.lower())
        return account if account is not None and account.password == password else None

    def __iter__(self) -> Iterator[Account]:
        return iter(list(self._accounts.values()))
