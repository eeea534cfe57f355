"""A letter, written by us to the last byte and read again before it may leave.

The standard library's generator writes ids as encoded words and turns an encoded line break into a header
of its own, so fields are written in ``fields`` and parts in ``parts``. The same letter always has the same
bytes: what may have been sent before is sent again as it was.
"""

from __future__ import annotations

import string
from datetime import UTC, datetime, timedelta
from typing import Literal

from channels.email.writing import check
from channels.email.writing.addresses import problem
from channels.email.writing.clean import block, is_line
from channels.email.writing.fields import (
    LetterError,
    answering,
    echoed,
    field,
    mailbox,
    unstructured,
)
from channels.email.writing.flow import flowed
from channels.email.writing.parts import File, Part, file_name, file_part, multipart, text_part
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

__all__ = ["File", "Letter", "LetterError", "answering", "written"]

MOST_REFERENCES = 20
MOST_RECIPIENTS = 50
SUPPRESS = "OOF, AutoReply, DR, RN, NRN"
"""What is asked of Exchange; ``All`` would ask reports of failed delivery away as well ([MS-OXCMAIL])."""

_MOST_WORDS = 1_000
_LATEST = 253_402_300_800_000  # the year 10000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TOKEN = frozenset(string.ascii_letters + string.digits + "!#$&-^_.+")


@struct(frozen=True, slots=True, kw_only=True)
class Letter:
    """What is to be written. ``in_reply_to`` and ``references`` are theirs and repeated byte for byte;
    one that can't be is left out. ``twin`` is our id's second spelling (``tokens.twin``). ``auto`` follows
    RFC 3834, section 5: an answer, or written unasked. ``loop`` is our mark (``tokens.loop_mark``)."""

    from_address: str
    from_name: str = ""
    to: tuple[str, ...]
    cc: tuple[str, ...] = ()
    reply_to: str = ""
    subject: str
    message_id: str
    twin: str = ""
    in_reply_to: str = ""
    references: tuple[str, ...] = ()
    date: Millis
    text: str
    html: str = ""
    auto: Literal["auto-replied", "auto-generated"] = "auto-replied"
    loop: str = ""
    attachments: tuple[File, ...] = ()


def written(letter: Letter) -> bytes:
    """The letter's bytes. Raises ``LetterError`` where they would say anything else than the letter."""
    _allowed(letter)
    meant = _meant(letter)
    body = _body(letter)
    head = b"".join(
        [
            field("Date", [meant.date]),
            field("From", mailbox(letter.from_address, letter.from_name)),
            field("To", letter.to, ", "),
            field("Cc", letter.cc, ", ") if letter.cc else b"",
            field("Reply-To", [letter.reply_to]) if letter.reply_to else b"",
            field("Subject", unstructured(letter.subject)),
            field("Message-ID", [letter.message_id]),
            field("In-Reply-To", [meant.in_reply_to]) if meant.in_reply_to else b"",
            field("References", meant.references) if meant.references else b"",
            field("Auto-Submitted", [letter.auto]),
            field("X-Auto-Response-Suppress", [SUPPRESS]),
            field("X-June-Loop", [letter.loop]) if letter.loop else b"",
            b"MIME-Version: 1.0\r\n",
        ]
    )
    raw = head + body.written
    check.check(raw, meant)
    return raw


def _meant(letter: Letter) -> check.Meant:
    texts = [("text/plain", flowed(_told(letter.text)))]
    if letter.html:
        texts.append(("text/html", _told(letter.html)))
    return check.Meant(
        date=_date(letter.date),
        from_name=letter.from_name,
        from_address=letter.from_address,
        to=letter.to,
        cc=letter.cc,
        reply_to=letter.reply_to,
        subject=letter.subject,
        message_id=letter.message_id,
        in_reply_to=letter.in_reply_to if echoed(letter.in_reply_to) else "",
        references=_references(letter),
        auto=letter.auto,
        loop=letter.loop,
        suppress=SUPPRESS,
        texts=tuple((kind, text.replace("\n", "\r\n").encode()) for kind, text in texts),
        files=tuple(
            (file.media_type, file_name(file.name), file.content) for file in letter.attachments
        ),
    )


def _references(letter: Letter) -> tuple[str, ...]:
    """The thread so far, its root and its newest ids if it is long, behind our own second id.

    That goes first: readers make of the last one the parent (RFC 5256, section 3), and of the first the
    root.
    """
    theirs = dict.fromkeys(
        each for each in (*letter.references, letter.in_reply_to) if echoed(each)
    )
    if letter.in_reply_to in theirs:  # the last, wherever it stood
        del theirs[letter.in_reply_to]
        theirs[letter.in_reply_to] = None
    known = [each for each in theirs if each not in {letter.twin, letter.message_id}]
    if len(known) > MOST_REFERENCES:
        known = [known[0], *known[1 - MOST_REFERENCES :]]
    return (letter.twin, *known) if letter.twin else tuple(known)


def _body(letter: Letter) -> Part:
    said = text_part(flowed(_told(letter.text)), "plain", format="flowed")
    if letter.html:
        html = text_part(_told(letter.html), "html")
        said = multipart("alternative", [said, html], letter.message_id)
    if letter.attachments:
        files = [file_part(file) for file in letter.attachments]
        said = multipart("mixed", [said, *files], letter.message_id)
    return said


def _told(text: str) -> str:
    return block(text).rstrip("\n") + "\n"


# -- what may not be written -----------------------------------------------------------------------------
def _allowed(letter: Letter) -> None:
    _recipients(letter)
    for name, text in (("From", letter.from_name), ("Subject", letter.subject)):
        if not is_line(text):
            raise LetterError(name, "it holds a control or a line break, or turns letters around")
        if len(text) > _MOST_WORDS:
            raise LetterError(name, f"it has more than {_MOST_WORDS} characters")
    for name, given in (("Message-ID", letter.message_id), ("References", letter.twin)):
        if not (echoed(given) or (name == "References" and not given)):
            raise LetterError(name, "our own id isn't one that can be written")
    if not 0 <= letter.date < _LATEST:
        raise LetterError("Date", "it is no moment of this era")
    for file in letter.attachments:
        main, slash, sub = file.media_type.partition("/")
        tokens = main and sub and _TOKEN.issuperset(main + sub)
        if not slash or not tokens or main.lower() in {"multipart", "message"}:
            raise LetterError("Content-Type", "a file needs a media type of one part")


def _recipients(letter: Letter) -> None:
    if not 0 < len(letter.to) <= MOST_RECIPIENTS or len(letter.cc) > MOST_RECIPIENTS:
        raise LetterError("To", f"a letter has from 1 to {MOST_RECIPIENTS} recipients")
    given = [("From", letter.from_address), *(("To", each) for each in letter.to)]
    given += [("Cc", each) for each in letter.cc]
    given += [("Reply-To", letter.reply_to)] if letter.reply_to else []
    for name, address in given:
        if why := problem(address):
            raise LetterError(name, why)


def _date(at: Millis) -> str:
    """RFC 5322, section 3.3, in UTC: names of days and months are English, whatever the locale."""
    day = _EPOCH + timedelta(milliseconds=at)
    named = f"{_DAYS[day.weekday()]}, {day.day:02} {_MONTHS[day.month - 1]} {day.year:04}"
    return f"{named} {day:%H:%M:%S} +0000"
