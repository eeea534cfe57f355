"""What our border found out about the mail, as far as its lines say so without doubt."""

from __future__ import annotations

from typing import Final

from channels.email.identity.domains import a_label, aligned, below
from channels.email.identity.results import Result, results
from channels.email.identity.scan import Unreadable, unfolded
from channels.email.identity.signature import tags
from channels.email.identity.trust import Reason, Trust
from channels.email.identity.zone import Zone, named, zone
from channels.email.mail import Field
from gateway.engine.struct import struct

__all__ = ["Found", "border"]

_OPEN: Final = frozenset({"none", "temperror", "permerror"})
"""Results that say nothing about the mail: its signature may still be checked here."""


@struct(frozen=True, slots=True, kw_only=True)
class Found:
    """``holds``: the border says that ``From`` may be believed; ``sent``: also that a server of the author's
    domain handed the mail over. ``refused``: it says or shows that ``From`` may not be believed, and a
    signature that holds changes nothing."""

    holds: bool = False
    sent: bool = False
    refused: bool = False
    by: str = ""
    reasons: tuple[Reason, ...] = ()


def border(fields: tuple[Field, ...], trust: Trust, domain: str) -> Found:
    server = trust.authserv_id or trust.border_host or "our border"
    lines = zone(fields, trust.border_host, gmail=trust.gmail_profile, direct=trust.direct)
    if lines.why:
        return _not(lines.why, _WHY[lines.why].format(trust.border_host))
    try:
        read = [results(field.value) for field in lines.results]
    except Unreadable:
        return _not("results_unreadable", "An Authentication-Results field can't be read.", True)
    ours = [one for one in read if _is_ours(one.server, trust.authserv_id)]
    if not ours:
        return _not("results_missing", f"The mail's DMARC result wasn't written by {server}.")
    told = [result for one in ours for result in one.all]
    why = _dmarc(told, domain, server) or _forwarded(fields, lines, told, trust, domain)
    if why:
        return why
    sent = any(result.method == "spf" and _carries(result, domain) for result in told)
    return Found(holds=True, sent=sent, by=next((one.server for one in ours if one.server), server))


_WHY: Final = {
    "border_not_set": "No border is set for the way it came by, so nobody's DMARC result is believed.",
    "border_missing": "No Received line by {} was found, so its results can't be told from the sender's.",
    "border_unclear": "A Received line above that of {} can be read in two ways.",
}


def _not(word: str, why: str, refused: bool = False) -> Found:
    return Found(refused=refused, reasons=((word, why),))


def _is_ours(server: str | None, wanted: str | None) -> bool:
    if wanted is None or server is None:
        return wanted is server
    return below(server, wanted)


def _dmarc(told: list[Result], domain: str, server: str) -> Found | None:
    """Exactly one result, a pass, for the domain that ``From`` was read to name (RFC 7489 §11)."""
    found = [result for result in told if result.method == "dmarc"]
    if not found:
        return _not("dmarc_missing", f"{server} wrote no DMARC result.")
    if len(found) > 1:
        return _not("dmarc_repeated", f"{server} wrote {len(found)} DMARC results.", True)
    (result,) = found
    if result.word != "pass":
        why = f"The mail's DMARC result, by {server}, isn't a pass."
        return _not("dmarc_not_pass", why, result.word not in _OPEN)
    values = result.values("header.from")
    if len(values) != 1 or any(name.startswith("smtp.") for name, _ in result.of):
        return _not("dmarc_unclear", "The DMARC result doesn't name one domain of From.", True)
    if _domain(values[0]) != domain:
        why = f"The DMARC result is for another domain than {domain}, which From names."
        return _not("dmarc_other_domain", why, True)
    return None


def _domain(value: str) -> str | None:
    try:
        return a_label(value.encode("latin-1").decode())
    except UnicodeError:
        return None


def _forwarded(
    fields: tuple[Field, ...], lines: Zone, told: list[Result], trust: Trust, domain: str
) -> Found | None:
    """Mail that others sent on, with their word that it was good when it came to them (RFC 8617)."""
    seals = [field for field in named(fields, "arc-seal") if field.at > lines.ends]
    by_chain = any(result.method == "arc" and result.word == "pass" for result in told)
    if not seals and not by_chain:
        return None
    known = {name.lower() for name in trust.sealers}
    if seals and all(_sealer(field) in known for field in seals):
        return None
    if not by_chain and any(_carries(result, domain) for result in told):
        return None
    return _not("forwarded", "The mail was forwarded by a server that isn't listed as a sealer.")


def _sealer(field: Field) -> str | None:
    try:
        return a_label(tags(unfolded(field.value)).get("d", ""))
    except Unreadable:
        return None


def _carries(result: Result, domain: str) -> bool:
    """Whether a result is what DMARC's pass rests on, without anybody's chain."""
    names = {"dkim": ("header.d", "header.i"), "spf": ("smtp.mailfrom",)}.get(result.method, ())
    if result.word != "pass":
        return False
    values = [value.rpartition("@")[2] for name in names for value in result.values(name)]
    return any(
        (found := _domain(value)) is not None and aligned(found, domain, relaxed=True)
        for value in values
    )
