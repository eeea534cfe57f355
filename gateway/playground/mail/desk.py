"""What somebody does with their mail: each form becomes what a mail program and its server would do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from html import escape
from typing import cast

from channels.email.emulator.letters import Draft, File, address_of, one_line, parsed, reply
from channels.email.emulator.process import ServerUnavailableError
from channels.email.threads.contents import content_id
from channels.slack.emulator import Impossible
from gateway.engine.struct import replace
from gateway.playground.faults import chosen
from gateway.playground.guard import Form, first
from gateway.playground.mail.menu import MENU
from gateway.playground.mail.office import MODES, SHOP, SUPPORT, Correspondent, MailOffice, Mode
from gateway.playground.mail.place import MailPlace
from gateway.playground.mail.reading import Letter

LONGEST = 20_000
SUBJECT = 200

_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63b871f9000004f2026cac973e7c0000000049454e44ae426082"
)
SAMPLES: Mapping[str, tuple[str, File]] = {
    "photo": ("a photo", File("kettle.png", "image/png", _PIXEL)),
    "text": (
        "a text file",
        File(
            "receipt.txt", "text/plain", b"Order 1042\r\n1 glass kettle\r\n$42.50, paid by card\r\n"
        ),
    ),
    "winmail": (
        "a winmail.dat, which can't be read",
        File("winmail.dat", "application/ms-tnef", b"\x78\x9f\x3e\x22\x01\x00"),
    ),
}
"""What can be attached: each with how it is called."""


class MailDesk:
    """Acts return where they lead. What isn't possible is ``Impossible``, in words for the person."""

    def __init__(self, office: MailOffice) -> None:
        self.office = office

    async def act(self, name: str, at: MailPlace, form: Form) -> MailPlace | None:
        """``None``: there is no such act."""
        acts: Mapping[str, Callable[[MailPlace, Form], Awaitable[MailPlace]]] = {
            "write": self.write,
            "reply": self.reply,
            "mode": self.mode,
            "fault": self.fault,
            "down": self.down,
            "repair": self.repair,
        }
        return await acts[name](at, form) if name in acts else None

    # -- writing -----------------------------------------------------------------------------------
    async def write(self, at: MailPlace, form: Form) -> MailPlace:
        """A new mail. It leads into its thread."""
        text, subject = _text(form), " ".join(first(form, "subject").split())
        if len(subject) > SUBJECT:
            raise Impossible(f"a subject holds {SUBJECT} characters; this has {len(subject)}")
        page = bool(first(form, "page"))
        draft = Draft(
            sender=at.person.sender,
            to=[first(form, "to").strip() or SUPPORT],
            subject=subject or "(no subject)",
            text="" if page else text,
            html=_page(text) if page else "",
            files=_files(form),
        )
        return at.at(await self._send(at.person, draft))

    async def reply(self, at: MailPlace, form: Form) -> MailPlace:
        """Below the latest letter of the thread, which is quoted."""
        thread, text = at.thread, _text(form)
        if thread is None:
            raise Impossible("the thread isn't there any more")
        below = thread.latest
        draft = reply(below.raw, at.person.sender, text, html=bool(first(form, "page")))
        to, cc = _goes_to(at.person, draft, below, thread.letters)
        draft = replace(draft, files=_files(form), to=to, cc=cc)
        await self._send(at.person, draft)
        return at

    async def _send(self, person: Correspondent, draft: Draft) -> str:
        """The letter's id."""
        if person.kind == "app":
            raise Impossible("the gateway answers from this mailbox; be somebody else to write")
        to = [address_of(one) or one for one in (*draft.to, *draft.cc)]
        for one in to:
            if self.office.server.accounts.find(one) is None:
                raise Impossible(f"nobody here has the address {one[:80]}")
        try:
            raw = draft.raw()
        except (ValueError, UnicodeError) as error:
            raise Impossible("this can't be written as a mail") from error
        self.office.file_sent(person, raw)
        for one in to:
            await self.office.server.deliver(raw, one, person.address, dmarc=person.dmarc)
        return content_id(raw)

    # -- the mailbox -------------------------------------------------------------------------------
    async def mode(self, at: MailPlace, form: Form) -> MailPlace:
        chosen = first(form, "mode")
        if chosen not in MODES or not at.person.has_modes:
            raise Impossible("this mailbox has no such setting")
        self.office.set_mode(at.person, cast("Mode", chosen))
        self.office.server.journal.changed()
        return at

    # -- what may go wrong -------------------------------------------------------------------------
    async def fault(self, at: MailPlace, form: Form) -> MailPlace:
        entry = chosen(MENU, first(form, "fault"))
        if entry.embedded and self.office.dovecot is not None:
            raise Impossible(
                "the support inbox lies in Dovecot, which makes no mistakes on demand; for this one start"
                " gateway dev --mail embedded"
            )
        self.office.server.faults.add(entry.fault())
        self.office.server.journal.changed()
        return at

    async def down(self, at: MailPlace, _: Form) -> MailPlace:
        await self.office.take_down()
        self.office.server.journal.changed()
        return at

    async def repair(self, at: MailPlace, _: Form) -> MailPlace:
        self.office.server.faults.repair()
        try:
            await self.office.bring_back()
        except ServerUnavailableError as error:
            raise Impossible(f"the support inbox isn't back: {error}") from error
        finally:
            self.office.server.journal.changed()
        return at


def _goes_to(
    person: Correspondent, draft: Draft, below: Letter, letters: Sequence[Letter]
) -> tuple[Sequence[str], Sequence[str]]:
    """To whom a reply goes, and who gets a copy."""
    own = address_of(person.sender)
    if own.endswith(f"@{SHOP}"):  # answers the customer, and the inbox gets a copy
        others = [one.author for one in letters if one.author not in {SUPPORT, own, ""}]
        return [others[-1] if others else one_line(parsed(below.raw), "To")], [SUPPORT]
    if below.author == own:  # one's own: it goes where that went
        return [one_line(parsed(below.raw), "To")], ()
    # "Reply to all", where somebody else is in copy.
    return draft.to, [below.cc] if below.cc else ()


def _text(form: Form) -> str:
    text = first(form, "text").replace("\r\n", "\n").strip()
    if not text:
        raise Impossible("write something first")
    if len(text) > LONGEST:
        raise Impossible(f"a mail from here holds {LONGEST:,} characters; this has {len(text):,}")
    return text


def _page(text: str) -> str:
    return "".join(f"<p>{escape(part).replace(chr(10), '<br>')}</p>" for part in text.split("\n\n"))


def _files(form: Form) -> tuple[File, ...]:
    chosen = first(form, "file")
    if not chosen:
        return ()
    if chosen not in SAMPLES:
        raise Impossible("there is no such file to attach")
    return (SAMPLES[chosen][1],)
