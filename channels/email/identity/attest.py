"""Whether a mail's ``From`` may be believed: eight conditions, and what is missing where one isn't met.

Only the domain's word is ever had, by DMARC: from the results that our own border wrote, or by a signature
checked here. It is the person's where the operator says that the domain vouches for its people, and nobody
but the sender is named. All of it is read from a header that the sender wrote most of, so what is doubtful
counts as missing.
"""

from __future__ import annotations

from typing import Final

from channels.email.identity import author, looks
from channels.email.identity.conditions import (
    carries_length,
    leaves_out,
    noise,
    role,
    senders,
    shape,
    timely,
)
from channels.email.identity.domains import aligned
from channels.email.identity.recipients import bare, elsewhere, naming
from channels.email.identity.signature import Signed
from channels.email.identity.trust import Reason, Trust
from channels.email.identity.verdict import border
from channels.email.mail import Attestation, Author, Mail, RawMail
from gateway.engine.kinds import Level, Millis

__all__ = ["Trust", "attest"]

_SIGNATURE: Final = {
    "partial": "signs only the beginning of the mail (l=)",
    "algorithm": "isn't RSA with SHA-256",
    "unsigned_field": "leaves out From, To, Subject, Date or Message-ID",
    "unsigned_type": "leaves open how the text is to be read (Content-Type)",
    "unreadable": "can't be read",
    "unreachable": "has a key that couldn't be looked up",
    "no_key": "has no key in DNS",
    "key": "has a key that isn't good enough",
    "testing": "has a key under test (t=y)",
    "body_changed": "doesn't fit the text",
    "header_changed": "doesn't fit the header",
    "expired": "is past its own deadline (x=)",
    "recipient_unsigned": "doesn't cover the field that names us",
    "not_aligned": "is of another domain than From",
}


def attest(
    mail: Mail, handed: RawMail, trust: Trust, now: Millis, dkim: tuple[Signed, ...] = ()
) -> Attestation:
    """Pure. ``dkim`` are the mail's signatures, where they were checked."""
    read = author.read(mail)
    who = read.author
    ours = frozenset(bare(one) for one in trust.own)
    named_in = naming(mail.fields, ours)
    reasons = [*read.reasons, *_came(mail, handed), *shape(mail.fields), *timely(mail.date, now)]
    reasons += noise(mail.fields, handed.envelope_from)
    reasons += _meant(mail, handed, ours, named_in)
    if who is None:
        return Attestation(level="none", author=None, shown=read.shown, reasons=tuple(reasons))
    reasons += [*_itself(mail, who, trust, ours), *carries_length(mail.fields, who.domain)]
    found = border(mail.fields, trust, who.domain)
    signature = _signature(dkim, who, trust, now, named_in)
    by_key = bool(dkim) and not signature and not found.refused
    if found.holds and named_in and not (found.sent or by_key):
        reasons += leaves_out(mail.fields, who.domain, named_in)
    if not (found.holds or by_key):
        reasons += found.reasons
        if signature:
            reasons.append((f"dkim_{signature}", f"The mail's signature {_SIGNATURE[signature]}."))
    if reasons:
        return Attestation(
            level="none",
            author=who,
            shown=read.shown,
            disowned=found.refused,
            reasons=tuple(reasons),
        )
    level, short = _level(mail, who, trust)
    return Attestation(
        level=level,
        author=who,
        shown=read.shown,
        method="dmarc" if found.holds else "dkim",
        by=found.by if found.holds else "dkim",
        reasons=short,
    )


def _came(mail: Mail, handed: RawMail) -> list[Reason]:
    out: list[Reason] = []
    if not handed.covered:
        why = "What vouches for the way the mail came by doesn't cover its content."
        out.append(("way_not_covered", why))
    if mail.over:
        out.append(("too_big", f"The mail goes beyond a limit ({mail.over}), so it wasn't read."))
    return out


def _meant(mail: Mail, handed: RawMail, ours: frozenset[str], named_in: str) -> list[Reason]:
    """Whether it was written to us. The envelope can't tell: whoever sends an old mail on writes it."""
    if not named_in:
        why = "None of our addresses is in To or Cc: it may be a mail to somebody else, sent on."
        return [("not_named", why)]
    if elsewhere(mail.fields, handed.envelope_to, ours):
        why = "It came to an address with a token that its To and Cc don't name."
        return [("other_token", why)]
    return []


def _itself(mail: Mail, who: Author, trust: Trust, ours: frozenset[str]) -> list[Reason]:
    """What speaks against an author, whoever vouches."""
    out = role(who.address)
    if bare(who.address) in ours:
        out.append(("own_address", "From is an address of ours."))
    known = trust.vouching | {one.rpartition("@")[2] for one in ours}
    if twin := looks.double(who.domain, known):
        out.append(("look_alike", f"The domain {who.domain} looks like {twin}."))
    if any(one is None or one.rpartition("@")[2] != who.domain for one in senders(mail.fields)):
        why = "Sender names somebody outside the domain in From: it was sent for another."
        out.append(("sent_for_another", why))
    return out


def _signature(
    dkim: tuple[Signed, ...], who: Author, trust: Trust, now: Millis, named_in: str
) -> str:
    """Empty if a signature holds; else what is wrong with the one that comes nearest."""
    wrong = ""
    for one in dkim:
        if not aligned(one.domain, who.domain, relaxed=trust.relaxed):
            wrong = wrong or one.why or "not_aligned"
            continue
        if one.why:
            wrong = one.why
        elif one.expires is not None and one.expires < now:
            wrong = "expired"
        elif named_in not in one.covers:
            wrong = "recipient_unsigned"
        else:
            return ""
    return wrong


def _level(mail: Mail, who: Author, trust: Trust) -> tuple[Level, tuple[Reason, ...]]:
    if who.domain not in trust.vouching:
        why = f"{who.domain} isn't listed as a domain that vouches for its people."
        return "domain", (("not_vouching", why),)
    if any(one != who.address for one in senders(mail.fields)):
        why = "Sender names another person of the domain, who wrote in this one's name."
        return "domain", (("sent_for_another", why),)
    return "sender", ()
