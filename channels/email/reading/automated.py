"""Whether a program sent a mail, or we did. One judgement before every path, so that none answers a machine.

A mark decides alone; words only together. A mail that two programs send each other without any mark looks
like two people: that loop ends by the budgets of ``policy.py``. What asks for no automatic answers
(``X-Auto-Response-Suppress``) says nothing about who wrote, as people's mail programs send it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Literal

from channels.email.identity.recipients import bare
from channels.email.mail import Mail, RawMail
from channels.email.mime import headers, params
from channels.email.reading.senders import (
    addresses,
    is_nobody,
    is_role,
    returns_nowhere,
    senders,
)
from gateway.engine.struct import struct
from gateway.intake.rules import MEANING

__all__ = ["LOOP_FIELD", "Noise", "Own", "classify"]

LOOP_FIELD = "x-june-loop"
"""The field of ours that says by a signature that we wrote a mail."""
MOST = 10
"""Of what each costs a signature's check."""

Word = Literal["automated_mail", "own_echo", "loop"]


@struct(frozen=True, slots=True)
class Noise:
    """A mail that is not to be answered, ever. ``reads``: the operator wants it read all the same."""

    word: Word
    rule: str
    why: str
    reads: bool = False


def _never(_: str) -> bool:
    return False


@struct(frozen=True, slots=True, kw_only=True)
class Own:
    """What is ours, for recognising it.

    - ``addresses``: those that we write from and are written to at.
    - ``is_ours``: whether a Message-ID is one that we made.
    - ``marked``: whether a ``LOOP_FIELD`` is one that we signed.
    - ``machines``: addresses, or domains as ``@shop.example``, whose automated mail is read and never
      answered. ``From`` proves nothing: who relies on it looks at the attestation, too.
    - ``lists``: ids of lists (RFC 2919) that only hand the inbox's mail on, such as a group's address.
    """

    addresses: frozenset[str]
    domain: str
    is_ours: Callable[[str], bool]
    marked: Callable[[str], bool] = _never
    machines: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()


def classify(mail: Mail, handed: RawMail, own: Own) -> Noise | None:
    """The first rule that fits; ``None`` for what looks like a person's."""
    by = senders(mail)
    found = _ours(mail, own, by)
    if found is not None:
        return found
    for rule, fits in (
        ("auto-submitted", _auto_submitted(mail)),
        ("report", _report(mail)),
        ("null-return-path", returns_nowhere(mail.fields, handed.envelope_from)),
        ("precedence", _precedence(mail, own)),
        ("list", _list(mail, own)),
        ("auto-reply-field", _field(mail)),
        ("campaign", _campaign(mail)),
        ("no-reply-sender", _nobody(mail, by)),
        ("auto-reply-words", _words(mail, handed, own)),
    ):
        if fits:
            return Noise("automated_mail", rule, MEANING[rule], _read(by, own))
    return None


# -- ours ------------------------------------------------------------------------------------------
def _ours(mail: Mail, own: Own, by: tuple[str, ...]) -> Noise | None:
    if any(own.marked(_value(one)) for one in islice(_values(mail, LOOP_FIELD), MOST)):
        return Noise("own_echo", "own-mail", MEANING["own-mail"])
    if _our_id(mail, own):
        return Noise("own_echo", "own-id", MEANING["own-id"])
    addresses = frozenset(bare(one) for one in own.addresses)
    if any(bare(one) in addresses for one in by):
        return Noise("own_echo", "own-address", MEANING["own-address"])
    marks = {bare(_value(one).strip("<> ")) for one in _values(mail, "x-loop")}
    if marks & {*addresses, own.domain.lower()} - {""}:
        return Noise("loop", "own-loop-mark", MEANING["own-loop-mark"])
    return None


def _our_id(mail: Mail, own: Own) -> bool:
    """A relay may have changed its case or put something behind a plus."""
    fields = islice(_values(mail, "message-id"), MOST)
    given = [mail.message_id, *(one for value in fields for one in headers.ids(value)[:MOST])]
    return any(
        own.is_ours(form)
        for one in dict.fromkeys(given)
        if one
        for form in dict.fromkeys((one, one.lower(), f"<{bare(one.strip('<>'))}>"))
    )


# -- a program's -----------------------------------------------------------------------------------
def _auto_submitted(mail: Mail) -> bool:
    """RFC 3834 §5: anything but ``no``. Parameters and comments don't count; nothing said is nothing."""
    return any(_token(one) not in {"", "no"} for one in _values(mail, "auto-submitted"))


def _report(mail: Mail) -> bool:
    """RFC 6522, and the reports themselves without their cover."""
    kinds = (params.media_type(params.read(one)) for one in _values(mail, "content-type"))
    return any(kind in _REPORTS for kind in kinds)


_REPORTS = frozenset(
    {
        *("multipart/report", "message/delivery-status", "message/global-delivery-status"),
        *("message/disposition-notification", "message/global-disposition-notification"),
        "message/feedback-report",
    }
)


def _precedence(mail: Mail, own: Own) -> bool:
    said = {_token(one).replace("-", "_") for one in _values(mail, "precedence")}
    automatic = {"bulk", "junk", "auto_reply", *(() if _through_own_list(mail, own) else ("list",))}
    return bool(said & automatic)


def _list(mail: Mail, own: Own) -> bool:
    """RFC 2369 and RFC 2919."""
    named = any(field.name.startswith("list-") for field in mail.fields)
    return named and not _through_own_list(mail, own)


def _through_own_list(mail: Mail, own: Own) -> bool:
    """Whether every list it came through is one that only hands on."""
    ours = own.lists
    ids = [_value(one).lower() for one in _values(mail, "list-id")] if ours else []
    ids = [one.rpartition("<")[2].partition(">")[0].strip() for one in ids]
    return bool(ids) and ours.issuperset(ids)


_FIELDS = frozenset(
    {
        *("x-autoreply", "x-autorespond", "x-autoresponder", "x-auto-reply-from"),
        *("x-autoreply-from", "x-autorespond-from", "x-mail-autoreply", "x-autogenerated"),
        *("x-failed-recipients", "x-fc-machinegenerated", "x-cron-env"),
    }
)


def _field(mail: Mail) -> bool:
    return any(
        field.name in _FIELDS and _token(field.value) not in {"no", "false", "0"}
        for field in mail.fields
    )


def _nobody(mail: Mail, by: tuple[str, ...]) -> bool:
    """A web form that sends a person's words for them names them in ``From``, and itself, whom nobody can
    answer, in ``Sender``."""
    written = (one for field in mail.all("from")[:MOST] for one in addresses(field.value))
    return any(is_nobody(one) for one in written) or any(is_role(one) for one in by)


def _campaign(mail: Mail) -> bool:
    """Four parts, the first of which names the campaign. Relays that mark everything leave it empty."""
    for one in _values(mail, "feedback-id"):
        parts = _value(one).split(":", 4)
        if len(parts) >= 4 and parts[0].strip():
            return True
    return False


# -- words -----------------------------------------------------------------------------------------
_SUBJECTS = (
    *(
        "automatic reply",
        "auto reply",
        "auto-reply",
        "autoreply",
        "out of office",
        "out of the office",
    ),
    *("ooo:", "automatische antwort", "abwesenheit", "réponse automatique", "absence du bureau"),
    *("respuesta automática", "fuera de la oficina", "risposta automatica", "fuori ufficio"),
    *("resposta automática", "automatisch antwoord", "afwezig", "automatyczna odpowiedź"),
    *("autosvar", "automatiskt svar", "automatisk svar", "automatická odpověď"),
    *("автоматический ответ", "автоответ", "автоматична відповідь", "自动回复", "自動回覆"),
    *("自動返信", "自動応答", "不在", "자동 회신", "부재중", "תשובה אוטומטית", "מענה אוטומטי"),
)
_NOTES = (
    *(
        "out of office",
        "out of the office",
        "on vacation",
        "on leave",
        "away from my",
        "be back on",
    ),
    *("limited access to email", "limited access to e-mail", "automatic reply", "automated reply"),
    *(
        "automated response",
        "nicht im büro",
        "nicht im hause",
        "im urlaub",
        "abwesend",
        "außer haus",
    ),
    *(
        "absent du bureau",
        "absente du bureau",
        "en congé",
        "actuellement absent",
        "fuera de la oficina",
    ),
    *("de vacaciones", "fuori ufficio", "in ferie", "fora do escritório", "de férias", "afwezig"),
    *(
        "met vakantie",
        "op vakantie",
        "poza biurem",
        "na urlopie",
        "inte på kontoret",
        "på semester",
    ),
    *("ikke på kontoret", "på ferie", "mimo kancelář", "na dovolené", "в отпуске", "отсутствую"),
    *("у відпустці", "відсутн", "不在", "休假", "休暇", "부재", "휴가", "מחוץ למשרד", "בחופשה"),
)
_NOTE = 600


def _words(mail: Mail, handed: RawMail, own: Own) -> bool:
    """Subjects are weak, so they never count alone: the mail must answer one of ours as well, and either
    read like an absence note or come from a return path that nobody reads."""
    subject = mail.subject[:200].strip().lower()
    if not subject.startswith(_SUBJECTS):
        return False
    if not any(own.is_ours(one) for one in (*mail.in_reply_to[-5:], *mail.references[-5:])):
        return False
    text = " ".join(mail.text[:_NOTE].lower().split())
    return any(note in text for note in _NOTES) or is_nobody(handed.envelope_from or "")


# -- pieces ----------------------------------------------------------------------------------------
def _read(by: tuple[str, ...], own: Own) -> bool:
    """Whether the operator named everybody who is said to have sent it."""
    named = {one.lower() for one in own.machines}
    return bool(by) and all(
        one in named or bare(one) in named or f"@{one.rpartition('@')[2]}" in named for one in by
    )


def _values(mail: Mail, name: str) -> Iterator[bytes]:
    return (field.value for field in mail.fields if field.name == name)


def _value(value: bytes) -> str:
    return headers.decoded(value[:2_000])


def _token(value: bytes) -> str:
    """The word before parameters and comments, in lower case."""
    text = _value(value)
    for _ in range(2):
        if text.startswith("("):
            text = text.partition(")")[2].lstrip()
    return text.partition(";")[0].partition("(")[0].strip().strip("\"'").lower()
