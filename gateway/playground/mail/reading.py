"""Mailboxes as a mail program shows them: threads of letters, each copy once, what is quoted folded away.
Reads the server's folders and changes nothing in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from channels.email.emulator.letters import parsed
from channels.email.identity.author import read as read_author
from channels.email.mime.headers import decoded
from channels.email.mime.read import read
from channels.email.reading.reply import extract
from channels.email.render import MARKER
from channels.email.threads.contents import content_id
from gateway.engine.kinds import Millis
from gateway.playground.mail.office import SUPPORT, Correspondent, MailOffice

MOST = 200
"""Letters of a mailbox that are looked at, the latest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One letter, however many copies of it came. ``id`` is the content's, ``ids`` are its own and those that
    it names, ``new`` what was written and ``rest`` what is quoted below it."""

    id: str
    raw: bytes
    at: Millis
    shown: str
    author: str
    to: str
    cc: str
    subject: str
    new: str
    rest: str
    message_id: str
    ids: frozenset[str]
    html: bool
    machine: bool
    files: tuple[str, ...] = ()
    copies: int = 1

    @property
    def kind(self) -> str:
        if self.author == SUPPORT:
            return "app"
        return "off" if self.machine else "person"

    @property
    def when(self) -> str:
        return self._at.isoformat(timespec="seconds").replace("+00:00", "Z")

    @property
    def clock(self) -> str:
        return self._at.strftime("%H:%M")

    @property
    def _at(self) -> datetime:
        return datetime.fromtimestamp(self.at / 1000, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    letters: Sequence[Letter]

    @property
    def id(self) -> str:
        return self.letters[0].id

    @property
    def subject(self) -> str:
        return self.letters[0].subject or "(no subject)"

    @property
    def latest(self) -> Letter:
        return self.letters[-1]

    @property
    def people(self) -> str:
        """Who writes in it, the first to write first."""
        named = {one.author or one.shown: one.shown for one in reversed(self.letters)}
        return ", ".join(reversed(named.values()))

    @property
    def ids(self) -> frozenset[str]:
        return frozenset[str]().union(*(one.ids for one in self.letters))


def letters(office: MailOffice, person: Correspondent) -> list[Letter]:
    """All that somebody sees: their own mailbox, and others that they look into; the oldest first."""
    found: dict[str, Letter] = {}
    counted: dict[tuple[str, str], int] = {}
    for address in (person.address, *person.reads):
        for raw, at, folder in _stored(office, address):
            one = _read(raw, at)
            earlier = found.setdefault(one.id, one)
            counted[one.id, folder] = counted.get((one.id, folder), 0) + 1
            if one.at < earlier.at:
                found[one.id] = one
    for (name, _), count in counted.items():
        if count > found[name].copies:
            found[name] = replace(found[name], copies=count)
    return sorted(found.values(), key=lambda one: (one.at, one.id))[-MOST:]


def _stored(office: MailOffice, address: str) -> Iterator[tuple[bytes, Millis, str]]:
    for folder in office.folders(address):
        for mail in folder.mails.values():
            yield mail.raw, mail.at, f"{address}/{folder.name}"
    if address == SUPPORT:  # the gateway keeps no copies of its letters with the server
        seen = {one.message_id: one for one in office.server.journal.kept() if one.user == SUPPORT}
        for handed in seen.values():
            yield handed.raw, handed.at, f"{address}/handed"


@lru_cache(maxsize=2 * MOST)
def _read(raw: bytes, at: Millis) -> Letter:
    mail = read(raw)
    author = read_author(mail)
    parts = extract(mail.text, mail.quote_at, MARKER, mail.subject)
    return Letter(
        id=content_id(raw),
        raw=raw,
        at=at,
        shown=_short(author.shown),
        author=author.author.address if author.author is not None else "",
        to=", ".join(decoded(one.value) for one in mail.all("to")),
        cc=", ".join(decoded(one.value) for one in mail.all("cc")),
        subject=" ".join(mail.subject.split()),
        new=parts.new.strip(),
        rest=parts.rest.strip(),
        message_id=mail.message_id,
        ids=frozenset(one for one in (mail.message_id, *mail.in_reply_to, *mail.references) if one),
        html=html_of(raw) != "",
        machine=any(one.value.strip().lower() != b"no" for one in mail.all("auto-submitted")),
        files=tuple(one.name or one.media_type for one in mail.attachments),
    )


def _short(shown: str) -> str:
    """``Ada <ada@cust.example>`` as ``Ada``."""
    return shown.partition("<")[0].strip().strip('"') or shown


def html_of(raw: bytes) -> str:
    """The version of a letter that is a page; empty where it has none that can be read."""
    try:
        body = parsed(raw).get_body(("html",))
        content: object = None if body is None else body.get_content()
    except Exception:  # noqa: BLE001 - the standard library raises much on what people send
        return ""
    return content if isinstance(content, str) else ""


# -- threads ---------------------------------------------------------------------------------------
def threads(found: Iterable[Letter]) -> list[Thread]:
    """Letters that name each other's ids belong together; a subject says nothing. The latest first."""
    groups: list[tuple[set[str], list[Letter]]] = []
    for one in found:
        ids, inside, others = set(one.ids), [one], list[tuple[set[str], list[Letter]]]()
        for group in groups:
            if group[0].isdisjoint(one.ids):
                others.append(group)
            else:
                ids |= group[0]
                inside += group[1]
        groups = [*others, (ids, inside)]
    made = [Thread(letters=sorted(group[1], key=lambda one: (one.at, one.id))) for group in groups]
    return sorted(made, key=lambda thread: thread.latest.at, reverse=True)


def find_letter(office: MailOffice, wanted: str) -> Letter | None:
    """A letter in any mailbox; as the support inbox has it, if it has it."""
    addresses = dict.fromkeys((SUPPORT, *(one.address for one in office.server.accounts)))
    for address in addresses:
        for raw, at, _ in _stored(office, address):
            if (one := _read(raw, at)).id == wanted:
                return one
    return None
