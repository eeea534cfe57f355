"""What a bounce says: which mail of ours didn't arrive, where, and whether that is final.

Delivery reports (RFC 3464) are read as they are meant; of what other programs write instead, as much as is
needed once the envelope's token has told which mail it is about. Nothing here proves anything: anybody may
send a bounce, so only ids that we signed ourselves count with whoever asks.
"""

from __future__ import annotations

import re
from typing import Literal

from channels.email.identity.recipients import bare
from channels.email.mail import Field, Mail
from channels.email.mime import clean, headers, params, transfer
from channels.email.mime.limits import OverLimitError
from channels.email.mime.parts import Part, walk
from channels.email.reading.automated import LOOP_FIELD
from channels.email.reading.senders import addresses, is_mailer, senders
from gateway.engine.struct import struct

__all__ = ["Action", "Bounce", "Refusal", "bounce"]

Action = Literal["failed", "delayed", "delivered", "relayed", "expanded"]

MOST_IDS = 20
MOST_RECIPIENTS = 50
MOST_REPORT = 64 << 10
MOST_RETURNED = 1 << 20
"""Bytes of a bounce without a report in which the returned header is looked for."""
MOST_TEXT = 20_000
MOST_SAID = 300


@struct(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What became of it at one recipient. ``status`` as in RFC 3463, empty where nothing says."""

    recipient: str
    action: Action
    status: str = ""
    diagnostic: str = ""


@struct(frozen=True, slots=True, kw_only=True)
class Bounce:
    """``message_ids``: the mails it may be about, the likeliest first, as they came. ``marks``: the values of
    ``LOOP_FIELD`` in the header that it returns."""

    message_ids: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    marks: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return any(one.action == "failed" for one in self.refusals)

    @property
    def _first(self) -> Refusal | None:
        chosen = [one for one in self.refusals if one.action == "failed"] or self.refusals
        return chosen[0] if chosen else None

    @property
    def recipient(self) -> str:
        return "" if self._first is None else self._first.recipient

    @property
    def status(self) -> str:
        return "" if self._first is None else self._first.status

    @property
    def action(self) -> Action:
        return "failed" if self._first is None else self._first.action

    @property
    def rule(self) -> Literal["bounce", "delayed", "receipt"]:
        """What a mail is that tells this: ours was refused, is late, or arrived."""
        if self.action not in {"failed", "delayed"}:
            return "receipt"
        return "bounce" if self.failed else "delayed"

    @property
    def said(self) -> str:
        """Status and reason in one line."""
        first = self._first
        return "" if first is None else f"{first.status} {first.diagnostic}".strip()


def bounce(raw: bytes, mail: Mail) -> Bounce | None:
    """``None`` for what is none. Never raises, whatever the bytes."""
    top = headers.header(raw)
    mailer = _by_mailer(mail)
    if not mailer and not _is_report(top):
        return None
    parts = _parts(raw)
    report = next((part for part in parts if part.media_type in _REPORTS), None)
    if report is not None:
        refusals = _refusals(report.content()[:MOST_REPORT]) or (_told(mail),)
        heads = _returned(parts)
        ids = _about(heads) or _named(raw[top.body : top.body + MOST_RETURNED])
        marks = [clean.line(_text(head.first(LOOP_FIELD))) for head in heads]
        told = tuple(one for one in marks if one)
        return Bounce(message_ids=_ids(ids, mail), refusals=refusals, marks=told)
    if not mailer or not _sounds(mail) or any(part.media_type in _RECEIPTS for part in parts):
        return None
    ids = _named(_body(raw, top)) or _named(mail.text[:MOST_RETURNED].encode("utf-8", "replace"))
    return Bounce(message_ids=_ids(ids, mail), refusals=_all_told(mail))


# -- the mail's parts ------------------------------------------------------------------------------
_REPORTS = frozenset({"message/delivery-status", "message/global-delivery-status"})
_RECEIPTS = frozenset(
    {"message/disposition-notification", "message/global-disposition-notification"}
)
_RETURNED = frozenset(
    {
        *("message/rfc822", "text/rfc822-headers", "message/rfc822-headers"),
        *("message/global", "message/global-headers"),
    }
)


def _is_report(top: headers.Header) -> bool:
    return params.media_type(params.read(top.first("content-type"))) == "multipart/report"


def _parts(raw: bytes) -> list[Part]:
    """The outermost parts: what a forwarded mail says in its own is its business."""
    try:
        root = walk(raw)
    except OverLimitError:
        return []
    return root.parts or [root]


# -- the report ------------------------------------------------------------------------------------
def _refusals(data: bytes) -> tuple[Refusal, ...]:
    """One for each group of fields that names a recipient (RFC 3464 §2.3)."""
    found: list[Refusal] = []
    at, empty = 0, 0
    while at < len(data) and len(found) < MOST_RECIPIENTS and empty < 100:
        group = headers.header(data, at)
        junk = group.body <= at  # a line that is no field
        at = (data.find(b"\n", at) + 1 or len(data)) if junk else group.body
        one = _refusal(group.fields)
        if one is not None:
            found.append(one)
        empty += one is None
    return tuple(found)


def _refusal(fields: tuple[Field, ...]) -> Refusal | None:
    said = {field.name: clean.line(_text(field.value)) for field in reversed(fields)}
    recipient = said.get("final-recipient") or said.get("original-recipient", "")
    action = said.get("action", "").partition("(")[0].strip().lower()
    if not recipient and not action:
        return None
    diagnostic = _behind_type(said.get("diagnostic-code", ""))
    status = _status(said.get("status", "")) or _status(diagnostic)
    return Refusal(
        recipient=_behind_type(recipient).strip("<>").lower()[:MOST_SAID],
        action=_action(action, status),
        status=status,
        diagnostic=diagnostic[:MOST_SAID],
    )


def _action(given: str, status: str) -> Action:
    match given:
        case "failed" | "delayed" | "delivered" | "relayed" | "expanded":
            return given
        case _:
            kinds: dict[str, Action] = {"2": "delivered", "4": "delayed"}
            return kinds.get(status[:1], "failed")


def _behind_type(value: str) -> str:
    """``rfc822; ada@shop.example`` without its first half."""
    kind, semicolon, rest = value.partition(";")
    return rest.strip() if semicolon and kind.strip().replace("-", "").isalnum() else value.strip()


# -- the returned mail -----------------------------------------------------------------------------
def _returned(parts: list[Part]) -> list[headers.Header]:
    return [
        part.parts[0].header
        if part.kind == "mail" and part.parts
        else headers.header(part.content())
        for part in [one for one in parts if one.media_type in _RETURNED][:MOST_IDS]
    ]


def _about(heads: list[headers.Header]) -> tuple[str, ...]:
    return tuple(one for head in heads for one in headers.ids(head.first("message-id")))


def _named(data: bytes) -> tuple[str, ...]:
    """The ids that lines of a text call a Message-ID."""
    low = data.lower()
    found: list[str] = []
    at = 0
    while len(found) < MOST_IDS and (at := low.find(b"message-id:", at)) >= 0:
        line = data.rfind(b"\n", max(0, at - 40), at) + 1
        before = data[line:at].strip(b" \t>|") if line or at <= 40 else b"far"
        at += len(b"message-id:")
        end = data.find(b"\n", at)
        value = data[at : len(data) if end < 0 else end]
        if not value.strip() and end >= 0:  # folded at once
            after = data.find(b"\n", end + 1)
            value = data[end + 1 : len(data) if after < 0 else after]
        if before.lower() in {b"", b"original-", b"x-original-"}:
            found += headers.ids(value[:1_000])
    return tuple(found)


def _body(raw: bytes, top: headers.Header) -> bytes:
    data = raw[top.body : top.body + MOST_RETURNED]
    return transfer.undone(data, transfer.encoding(top.first("content-transfer-encoding")))


def _ids(found: tuple[str, ...], mail: Mail) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*found, *mail.in_reply_to, *reversed(mail.references)]))[:MOST_IDS]


# -- only words ------------------------------------------------------------------------------------
# Bounded repeats only: nothing here can be tried twice.
_ENHANCED = re.compile(r"(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\.?\d)")
_REPLY_CODE = re.compile(r"(?<![\d.])(4[25][0-4]|5[05][0-4])[ -]")

_FAILED = (
    *("undeliver", "not be delivered", "not delivered", "delivery failed", "delivery failure"),
    *("delivery status", "delivery has failed", "returned mail", "failure notice", "did not reach"),
    *("mail delivery", "unable to deliver", "wasn't delivered", "non remis", "unzustellbar"),
    *("nicht zugestellt", "no se ha podido entregar", "no entregado", "mancato recapito"),
    *("permanent error", "permanent failure", "não entregue", "niet bezorgd", "onbestelbaar"),
)
_LATE = (
    *(
        "delayed",
        "delay notification",
        "will retry",
        "keep trying",
        "still trying",
        "try again later",
    ),
    *(
        "not yet been delivered",
        "not been delivered yet",
        "will be retried",
        "warning: could not send",
    ),
    *("warning: message", "no action is required", "verzögert", "wird weiter versucht", "retardé"),
    *("retrasad", "ritardat", "atrasad", "vertraagd"),
)
_GIVEN_UP = (
    *("giving up", "given up", "gave up", "timeout exceeded", "time exceeded", "permanent"),
    *("retry limit", "could not be delivered for", "will not be retried"),
)


def _by_mailer(mail: Mail) -> bool:
    """Whether a mail server speaks: by its name, or by a field that no other writes."""
    return bool(mail.all("x-failed-recipients")) or any(
        is_mailer(one) or one.startswith(("postmaster@", "microsoftexchange"))
        for one in senders(mail)
    )


def _words(mail: Mail) -> str:
    return f"{mail.subject[:500]}\n{mail.text[:MOST_TEXT]}"


def _sounds(mail: Mail) -> bool:
    """Whether it speaks of delivery: a postmaster may be a person."""
    words = _words(mail)
    low = words.lower()
    return (
        bool(mail.all("x-failed-recipients"))
        or any(word in low for word in (*_FAILED, *_LATE))
        or bool(_status(words))
    )


def _all_told(mail: Mail) -> tuple[Refusal, ...]:
    named = [
        one for field in mail.all("x-failed-recipients") for one in addresses(field.value)
    ]  # fmt: skip
    return tuple(_told(mail, one) for one in named[:MOST_RECIPIENTS]) or (_told(mail),)


def _told(mail: Mail, recipient: str = "") -> Refusal:
    words = _words(mail)
    status = _status(words)
    return Refusal(
        recipient=recipient or _addressed(mail),
        action=_by_words(words.lower(), status),
        status=status,
        diagnostic=_reason(words, status),
    )


def _by_words(low: str, status: str) -> Action:
    if status.startswith("5") or any(word in low for word in _GIVEN_UP):
        return "failed"
    if status.startswith("4") or any(word in low for word in _LATE):
        return "delayed"
    return "failed"


def _status(text: str) -> str:
    """The first code of RFC 3463, or the class of the first reply of RFC 5321."""
    text = text[:MOST_TEXT]
    found = _ENHANCED.search(text)
    if found is not None:
        return found[0]
    code = _REPLY_CODE.search(text)
    return "" if code is None else f"{code[0][0]}.0.0"


def _reason(words: str, status: str) -> str:
    """The line that holds the code, or the first one of the text."""
    lines = words.split("\n")[:400]
    held = next((one for one in lines[1:] if status and _status(one) == status), None)
    if held is None:
        held = next((one for one in lines[1:] if one.strip()), lines[0])
    return clean.line(held[: 2 * MOST_SAID])[:MOST_SAID]


def _addressed(mail: Mail) -> str:
    """The first address in the text that stands in a line by itself, as mail servers write it."""
    by = {bare(one) for one in senders(mail)}
    for line in mail.text[:MOST_TEXT].split("\n")[:400]:
        word = line[:320].strip().rstrip(":").strip("<>")
        if "@" in word[1:-1] and not any(letter.isspace() for letter in word):
            address = clean.line(word.lower())
            if bare(address) not in by:
                return address
    return ""


def _text(value: bytes) -> str:
    value = value[:2_000]
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
