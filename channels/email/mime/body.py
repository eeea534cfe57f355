"""Which parts of a mail are what was written, in which order, and what becomes of the others: each kind of
part has an outcome that somebody is told of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from channels.email.mail import Attachment
from channels.email.mime import headers, invitation
from channels.email.mime.limits import TEXT, OverLimitError
from channels.email.mime.parts import Part, leaves
from channels.email.mime.texts import HTML, PLAIN, Text, read

_SIGNATURES: Final = frozenset(
    {
        *("application/pgp-signature", "application/pkcs7-signature"),
        "application/x-pkcs7-signature",
    }
)
_SEALED: Final = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_TNEF: Final = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_FOR_MACHINES: Final = frozenset(
    {
        *("message/delivery-status", "message/disposition-notification", "message/feedback-report"),
        *("message/global-delivery-status", "text/rfc822-headers", "text/x-amp-html"),
        *("text/watch-html", "application/pgp-encrypted"),
    }
)
_CALENDAR: Final = "text/calendar"
_FILES: Final = frozenset(
    {
        *("text/css", "text/csv", "text/directory", "text/javascript", "text/rtf"),
        *("text/tab-separated-values", "text/vcard", "text/x-vcard", "text/xml"),
    }
)
_ENDINGS: Final = {
    "application/pdf": ".pdf",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "text/calendar": ".ics",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/plain": ".txt",
}
_HEADLINE: Final = ("From", "Date", "Subject", "To")
_LONG: Final = 500
_READ: Final = 4 * _LONG
_FEW: Final = 5
"""Plain text that is shorter than the HTML's by more than this factor isn't the message."""

ENCRYPTED: Final = (
    "The message is encrypted; I can't read it. Please send it again without encryption."
)
SEALED: Final = (
    "The message is wrapped in an S/MIME signature that I can't open. Please send it as plain mail."
)
TNEF: Final = (
    "A part of the message came in Outlook's own format (winmail.dat); I can't read what is in it."
)
PIECES: Final = "The message was cut into several mails; I can't put them together."
EMPTY: Final = "The message is empty."


@dataclass(slots=True)
class Body:
    """What was found so far."""

    texts: list[Text] = field(default_factory=list[Text])
    attachments: list[Attachment] = field(default_factory=list[Attachment])
    notes: dict[str, None] = field(default_factory=dict[str, None])
    forwarded: bool = False
    invitations: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def blank(self) -> bool:
        return not any(text.text for text in self.texts)


def compose(root: Part) -> Body:
    """Raises ``OverLimitError``."""
    body = Body()
    reader = _Reader(body)
    pending = [(root, True)]
    while pending:
        part, reading = pending.pop()
        pending.extend(reversed(reader.visit(part, reading=reading)))
    if body.blank:
        reader.rescue(root)
    if body.blank and not body.attachments and not body.notes:
        body.notes[EMPTY] = None
    return body


class _Reader:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.cache: dict[int, Text] = {}
        self.length = 0

    def visit(self, part: Part, *, reading: bool) -> Sequence[tuple[Part, bool]]:
        """Takes what a part says; its parts come next, each to be read or only searched for files."""
        if part.kind == "leaf":
            self._leaf(part, reading=reading)
            return ()
        if part.kind == "mail":
            if reading:
                self.body.forwarded = True
                self._say(Text(_headline(part) if part.parts else ""))
            return [(each, reading) for each in part.parts]
        kind = part.media_type.partition("/")[2]
        if kind == "alternative" and reading:
            chosen = self._choose(part.parts)
            return [(each, each in chosen) for each in part.parts]
        if kind == "report":  # its other parts are for machines
            return [(each, reading) for each in part.parts[:1]]
        if kind == "encrypted":
            self.body.notes[ENCRYPTED] = None
            return ()
        if kind == "related" and (root := _root(part)) is not None:
            return [
                (each, reading and (each is root or not each.content_id)) for each in part.parts
            ]
        return [(each, reading) for each in part.parts]

    # -- one part --------------------------------------------------------------------------------
    def _leaf(self, part: Part, *, reading: bool) -> None:
        if part.media_type in _FOR_MACHINES or self._told(part):
            return
        if part.media_type == _CALENDAR and self._invitation(part):
            if _is_named(part):
                self._attach(part)
        elif _is_text(part):
            if reading:
                self._say(self._read(part))
            elif part.content_id:
                self._attach(part)
        else:
            self._attach(part)

    def _told(self, part: Part) -> bool:
        """Whether all that there is to a part is a word about it."""
        kind, name = part.media_type, part.file_name.casefold()
        if kind in _SIGNATURES or name == "smime.p7s":
            return True
        if kind in _SEALED or name == "smime.p7m":
            signed = part.type.get("smime-type").casefold() == "signed-data"
            self.body.notes[SEALED if signed else ENCRYPTED] = None
            self._attach(part, "It is sealed with S/MIME.")
        elif kind in _TNEF or name == "winmail.dat":
            self.body.notes[TNEF] = None
            self._attach(part, "It is in Outlook's own format.")
        elif kind == "message/partial":
            self.body.notes[PIECES] = None
        elif kind == "message/external-body":
            self._attach(part, "It is kept elsewhere and didn't come with the message.")
        else:
            return False
        return True

    def _invitation(self, part: Part) -> bool:
        if part.size > 4 * TEXT:
            return False
        said = invitation.told(self._read(part).text)
        if said and said not in self.body.invitations:
            self.body.invitations[said] = None
            self._say(Text(said))
        return bool(said)

    def _say(self, text: Text) -> None:
        if text.encrypted:
            self.body.notes[ENCRYPTED] = None
        self.body.texts.append(text)
        self.length += len(text.text)
        if self.length > TEXT:
            raise OverLimitError(f"more than {TEXT} bytes of text")

    def _attach(self, part: Part, unread: str = "") -> None:
        inline = part.disposition.word == "inline" or bool(
            part.content_id and part.disposition.word != "attachment"
        )
        name = part.file_name or f"part-{part.path}{_ENDINGS.get(part.media_type, '')}"
        size = len(part.content())
        self.body.attachments.append(
            Attachment(
                path=part.path,
                name=name,
                media_type=part.media_type,
                size=size,
                inline=inline,
                unread=unread,
            )
        )

    def _read(self, part: Part) -> Text:
        if id(part) not in self.cache:
            self.cache[id(part)] = read(part)
        return self.cache[id(part)]

    # -- alternatives ----------------------------------------------------------------------------
    def _choose(self, parts: Sequence[Part]) -> list[Part]:
        """Of several versions of one text: the plain one, unless it only says that there is another. An
        invitation stands beside either."""
        said = [each for each in parts if each.media_type == _CALENDAR]
        plain = [each for each in parts if _leads_with(each, PLAIN)]
        rich = [each for each in parts if _leads_with(each, HTML)]
        if not plain and not rich:
            return [each for each in parts if each not in said][-1:] + said
        best = plain[:1] or rich[-1:]
        if plain and rich and self._is_poor(plain[0], rich[-1]):
            best = rich[-1:]
        return best + said

    def _is_poor(self, plain: Part, rich: Part) -> bool:
        short = "".join("".join(self._said(plain)).split())
        excuse = len(short) < _LONG and "html" in short.casefold()
        source = sum(part.size for part in _texts(rich))
        if short and len(short) * _FEW >= source and not excuse:
            return False
        try:
            full = "".join("".join(self._said(rich)).split())
        except OverLimitError:
            return not short
        return bool(full) and (len(short) * _FEW < len(full) or (excuse and short not in full))

    def _said(self, part: Part) -> list[str]:
        return [self._read(each).text for each in _texts(part)]

    # -- nothing to read -------------------------------------------------------------------------
    def rescue(self, root: Part) -> None:
        """Text where none belongs: before the first boundary, or in a body that is marked as a file."""
        if root.kind == "multipart" and root.preamble > root.start:
            self._say(read(root, root.start, root.preamble))
        for part in leaves(root):
            if not self.body.blank:
                return
            bare = id(part) not in self.cache and (part is root or not part.file_name)
            if bare and part.media_type in {*PLAIN, *HTML} and part.size <= 4 * TEXT:
                self._say(self._read(part))


def _is_named(part: Part) -> bool:
    return part.disposition.word == "attachment" or bool(part.disposition.word and part.file_name)


def _is_text(part: Part) -> bool:
    kind = part.media_type
    return kind.startswith("text/") and kind not in _FILES | {_CALENDAR} and not _is_named(part)


def _texts(part: Part) -> list[Part]:
    return [each for each in leaves(part) if _is_text(each)]


def _leads_with(part: Part, kinds: frozenset[str]) -> bool:
    """Whether the first text in it is of such a kind."""
    first = next(iter(_texts(part)), None)
    return first is not None and first.media_type in kinds


def _root(part: Part) -> Part | None:
    """The part of a ``multipart/related`` that the others belong to (RFC 2387 §3.2)."""
    named = part.type.get("start").strip("<>")
    first = next(iter(part.parts), None)
    return next((each for each in part.parts if named and each.content_id == named), first)


def _headline(part: Part) -> str:
    head = part.parts[0].header
    said = {name: headers.decoded(head.first(name.lower())[:_READ]) for name in _HEADLINE}
    lines = [f"{name}: {value[:_LONG]}" for name, value in said.items() if value]
    return "\n".join(["---------- Forwarded message ----------", *lines])
