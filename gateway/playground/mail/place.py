"""Where somebody is among the mail: whose mailbox, and which thread of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from gateway.playground.mail.office import Correspondent, MailOffice
from gateway.playground.mail.reading import Thread, letters, threads

MAIL = "/playground/mail"


@dataclass(frozen=True, kw_only=True)
class MailPlace:
    """``letter`` is any letter of the thread that is open. What is seen from here is looked up once."""

    office: MailOffice
    person: Correspondent
    letter: str = ""

    @property
    def query(self) -> dict[str, str]:
        found = {"as": self.person.key}
        return {**found, "letter": self.letter} if self.letter else found

    @cached_property
    def threads(self) -> Sequence[Thread]:
        return threads(letters(self.office, self.person))

    @cached_property
    def thread(self) -> Thread | None:
        if not self.letter:
            return None
        return next(
            (t for t in self.threads if any(one.id == self.letter for one in t.letters)), None
        )

    def again(self) -> MailPlace:
        """The same, as it is now."""
        return self.at(self.letter)

    def at(self, letter: str) -> MailPlace:
        return MailPlace(office=self.office, person=self.person, letter=letter)


def mail_place(office: MailOffice, asked: Mapping[str, str]) -> MailPlace:
    """Where an address leads. A thread that isn't there leads to the mailbox."""
    person = office.person(asked.get("as"))
    there = MailPlace(office=office, person=person, letter=asked.get("letter", ""))
    return there if there.thread is not None else there.at("")


def mail_door(
    at: MailPlace,
    *,
    person: Correspondent | None = None,
    letter: str | None = None,
    path: str = MAIL,
) -> str:
    """The address of a place, or of one that differs from it."""
    asked = dict(at.query)
    if person is not None:
        asked["as"] = person.key
    if letter is not None:
        asked = {"as": asked["as"], **({"letter": letter} if letter else {})}
    return f"{path}?{urlencode(asked)}"
