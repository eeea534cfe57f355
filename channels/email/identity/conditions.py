"""The conditions that a mail meets by itself, whoever vouches for it."""

from __future__ import annotations

from typing import Final

from channels.email.identity.domains import a_label, aligned
from channels.email.identity.recipients import addresses
from channels.email.identity.scan import Unreadable, unfolded
from channels.email.identity.signature import tags
from channels.email.identity.trust import Reason
from channels.email.identity.zone import named
from channels.email.mail import Field
from gateway.engine.kinds import Millis

__all__ = ["WINDOW", "carries_length", "leaves_out", "noise", "role", "senders", "shape", "timely"]

WINDOW: Final = Millis(3 * 24 * 3600 * 1000)
"""How far a mail's date may lie from now, either way."""

_ONE: Final = ("Date", "Message-ID", "Subject")
_AT_MOST: Final = ("Sender", "Reply-To", "To", "Cc")
"""A signature covers the last of several; a program may show the first."""
_MASS: Final = frozenset({"bulk", "junk", "list", "auto_reply"})
_MACHINE: Final = ("x-autoreply", "x-autorespond", "feedback-id")
_ROLES: Final = frozenset({"mailer-daemon", "postmaster", "no-reply", "noreply"})


def shape(fields: tuple[Field, ...]) -> list[Reason]:
    out: list[Reason] = []
    for name in (*_ONE, *_AT_MOST):
        count = len(named(fields, name.lower()))
        if count > 1:
            out.append(("field_repeated", f"The mail has {count} {name} fields."))
        elif not count and name in _ONE:
            out.append(("field_missing", f"The mail has no {name} field."))
    return out


def timely(date: Millis | None, now: Millis) -> list[Reason]:
    if date is None:
        return [("date_unreadable", "The mail's date can't be read.")]
    if abs(now - date) > WINDOW:
        return [("date_off", "The mail's date is over three days from now.")]
    return []


def noise(fields: tuple[Field, ...], envelope_from: str | None) -> list[Reason]:
    """Mail that no person sent to us just now (RFC 3834, RFC 2919, RFC 2369)."""
    if any(_token(field) != "no" for field in named(fields, "auto-submitted")):
        return [("automated", "A program sent the mail (Auto-Submitted).")]
    if envelope_from == "" or any(
        field.value.strip() == b"<>" for field in named(fields, "return-path")[:1]
    ):
        return [("automated", "The mail has an empty return path, as only programs send it.")]
    if any(_token(field) in _MASS for field in named(fields, "precedence")):
        return [("automated", "The mail is bulk mail (Precedence).")]
    if any(named(fields, name) for name in _MACHINE) or any(
        _token(field) == "multipart/report" for field in named(fields, "content-type")
    ):
        return [("automated", "The mail bears the marks of a program that sends mail.")]
    names = [field.name.strip().lower() for field in fields]
    if any(name.startswith("list-") for name in names):
        return [("list", "The mail came through a mailing list.")]
    if any(name.startswith("resent-") for name in names):
        return [("resent", "Somebody else sent the mail on (Resent fields).")]
    return []


def role(address: str) -> list[Reason]:
    """Addresses that programs write from (RFC 2142, RFC 5230 §4.6)."""
    local = address.partition("@")[0]
    if local in _ROLES or local.startswith(("bounce", "owner-")) or local.endswith("-request"):
        return [("automated", "From is an address that only programs write from.")]
    return []


def _token(field: Field) -> str:
    """The first word of a value, without comments and parameters behind it."""
    text = field.value.decode("latin-1").replace("(", ";").replace(",", ";")
    return text.partition(";")[0].strip().lower()


def senders(fields: tuple[Field, ...]) -> list[str | None]:
    """The address in ``Sender``; ``None`` for one that can't be read."""
    read = [addresses(field.value) for field in named(fields, "sender")]
    return [one[0] if len(one) == 1 else None for one in read]


def leaves_out(fields: tuple[Field, ...], domain: str, name: str) -> list[Reason]:
    """A signature of the author's domain doesn't cover the field that names us: whoever was sent the mail, or
    came by it, may have written us into it and sent it on (Microsoft 365 signs neither ``To`` nor ``Cc``)."""
    for field in named(fields, "dkim-signature"):
        try:
            found = tags(unfolded(field.value))
        except Unreadable:
            continue
        signer = a_label(found.get("d", ""))
        covers = {one.strip(" \t").lower() for one in found.get("h", "").split(":")}
        if signer is not None and aligned(signer, domain, relaxed=True) and name not in covers:
            why = f"The mail's signature doesn't cover {name.capitalize()}, and it came by another server."
            return [("recipient_unsigned", why)]
    return []


def carries_length(fields: tuple[Field, ...], domain: str) -> list[Reason]:
    """A signature of the author's domain with ``l=`` lets anybody append to the mail, and DMARC pass."""
    for field in named(fields, "dkim-signature"):
        try:
            found = tags(unfolded(field.value))
        except Unreadable:
            found = {}
        signer = a_label(found.get("d", ""))
        if signer is None:
            return [("signature_unreadable", "A DKIM-Signature of the mail can't be read.")]
        if "l" in found and aligned(signer, domain, relaxed=True):
            return [("length_tag", "The mail's signature covers only the beginning of it (l=).")]
    return []
