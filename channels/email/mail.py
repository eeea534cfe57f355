"""A mail at each stop of its way in: as it was handed over, as it was read, and who may be believed to
have written it. Records only."""

from __future__ import annotations

from typing import Literal

from gateway.engine.kinds import Level, Millis
from gateway.engine.struct import struct

Way = Literal["imap", "lmtp", "smtp", "webhook"]


@struct(frozen=True, slots=True, kw_only=True)
class RawMail:
    """A mail as it was handed over. ``raw`` is kept before anything looks into it.

    ``envelope_from`` is the return path: empty for mail that nobody wants an answer to, ``None`` where
    the way doesn't tell. ``covered``: what vouches for the way vouches for every byte of the mail.
    ``way_id`` is how the way itself names it (an UID, a provider's id).
    """

    raw: bytes
    way: Way
    way_id: str = ""
    envelope_from: str | None = None
    envelope_to: tuple[str, ...] = ()
    at: Millis
    covered: bool = True
    whole: int | None = None
    """How many bytes the mail has, where it has too many and ``raw`` is only its header; else ``None``."""


# -- as it was read --------------------------------------------------------------------------------
@struct(frozen=True, slots=True)
class Field:
    """One field of a header: ``name`` in lower case, ``value`` the bytes behind the colon as they came,
    folds and all. ``at`` is its place from the top, from 0."""

    name: str
    value: bytes
    at: int


@struct(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A part that isn't the text. ``path`` finds it again in the raw mail (``"2.1"``). ``unread`` says why
    its content can't be used, for the model and the operator; empty for a plain file."""

    path: str
    name: str
    media_type: str
    size: int
    inline: bool = False
    unread: str = ""


@struct(frozen=True, slots=True, kw_only=True)
class Mail:
    """A mail as it was read. All text is without control characters but tab and newline.

    - ``fields``: the whole header, byte-exact.
    - ``message_id``, ``in_reply_to``, ``references``: ids with their angle brackets, as they came.
    - ``date``: what the sender's clock said; ``None`` where it says nothing readable.
    - ``text``: what a person reads, of all text parts in order. ``quote_at``: where in it the HTML itself
      says that a quotation of an earlier mail begins.
    - ``hidden``: text that a person wouldn't see.
    - ``notes``: what can't be read and why, each a sentence that can be told to the sender
      ("The message is encrypted; I can't read it.").
    - ``over``: the limit that the mail goes beyond, in words; the rest is empty then.
    - ``decoded``: the character sets that were used where the label was wrong or missing.
    """

    fields: tuple[Field, ...]
    subject: str = ""
    message_id: str = ""
    in_reply_to: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    date: Millis | None = None
    text: str = ""
    quote_at: int | None = None
    hidden: str = ""
    html: bool = False
    """The text was made of HTML."""
    forwarded: bool = False
    """Somebody else's mail came along as a whole part, and its text stands in ``text``."""
    attachments: tuple[Attachment, ...] = ()
    notes: tuple[str, ...] = ()
    over: str = ""
    decoded: tuple[str, ...] = ()

    def all(self, name: str) -> tuple[Field, ...]:
        return tuple(field for field in self.fields if field.name == name)


# -- who wrote it ----------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class Author:
    """The one mailbox that ``From`` names by the strict grammar. ``address`` in lower case, its domain in
    A-labels; ``display`` is what stands beside it and proves nothing."""

    address: str
    domain: str
    display: str = ""


@struct(frozen=True, slots=True, kw_only=True)
class Attestation:
    """How well an author is known, and why not better.

    ``level`` is ``none``, ``domain`` or ``sender``. ``reasons`` say why it isn't more, each as one stable
    word and a sentence. ``by`` is what was believed (an authserv-id, or ``dkim``). ``disowned``: the border
    says or shows that the author isn't who ``From`` says.
    """

    level: Level
    author: Author | None
    shown: str
    """What ``From`` says, made harmless, for people; also where it names nobody."""
    method: Literal["", "dmarc", "dkim"] = ""
    by: str = ""
    disowned: bool = False
    reasons: tuple[tuple[str, str], ...] = ()
