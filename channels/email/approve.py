"""What a link in a letter may decide, and what has to come with an answer. Pure.

Whoever has the letter has the link: the person it was written to, whoever reads their mail, whoever it was
forwarded to, and the scanners on its way, which open every link and some of which press what they find. So a
link decides little, shows before it decides, and what decides is a form that was opened by hand.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from channels.email.deciding.spelling import exact
from channels.email.writing.clean import block
from channels.email.writing.tokens import Keys
from gateway.engine.kinds import Effect, Json, JsonObject, Millis
from gateway.engine.struct import struct

__all__ = ["MOST_FORM", "Form", "barred", "choices", "foreign", "nonce", "nonce_holds", "read_form"]

MOST_SHOWN = 20_000
"""Characters of what runs, its question among them, that a letter and a page hold."""
MOST_CHOICES = 20
MOST_REASON = 1_000
MOST_FORM = 16_384
"""Bytes."""
OPEN_FOR = Millis(3_600_000)
"""How long a page may stay open before its form is sent."""

_PURPOSE = "decide"
_SIGNED = 26  # 130 bits
_FORM = "application/x-www-form-urlencoded"


class Asked(Protocol):
    """A request, as far as it matters here."""

    @property
    def prompt(self) -> str: ...
    @property
    def arguments(self) -> JsonObject: ...
    @property
    def schema(self) -> JsonObject: ...
    @property
    def answerers(self) -> JsonObject: ...


# -- what a link may decide --------------------------------------------------------------------------
def barred(card: Asked, effect: Effect | None, listed: Collection[str]) -> str:
    """Why a link may not decide about a request; empty if it may. ``effect`` is that of the tool that would
    run; one that isn't known may be anything."""
    policy = card.answerers.get("policy")
    if "user" in card.answerers or not isinstance(policy, str):
        return "It is for one person to decide, who has to sign in."
    if policy not in listed:
        return "Decisions of this kind aren't made by a link."
    if effect is None or effect == "money":
        return "What moves money isn't decided by a link."
    if not choices(card.schema):
        return "It takes more than a choice to answer this."
    if len(exact(card.arguments)) + len(card.prompt) > MOST_SHOWN:
        return "There is more to be seen of it than a letter holds."
    return ""


def choices(schema: JsonObject) -> tuple[tuple[str, Json], ...]:
    """The answers to choose from, by their labels; none where something has to be written."""
    if schema.get("type") == "boolean" and not {"enum", "const"} & set(schema):
        return (("Approve", True), ("Deny", False))
    given = schema.get("enum")
    if not isinstance(given, list) or not 1 < len(given) <= MOST_CHOICES:
        return ()
    made = tuple((_label(one), one) for one in given)
    return made if len({label for label, _ in made}) == len(made) else ()


def _label(value: Json) -> str:
    written = exact(value)
    plain = isinstance(value, str) and value.strip() == value != "" and written == f'"{value}"'
    return str(value) if plain else written


# -- what comes with an answer -----------------------------------------------------------------------
def nonce(keys: Keys, link: str, digest: str, now: Millis) -> str:
    """What a page's form carries: it was shown to whoever has the link, a short while ago. Nothing has to be
    kept for a page that scanners open a hundred times; that it decides once is for the link to see to."""
    until = str(now + OPEN_FOR)
    signed, key = keys.sign(_PURPOSE, _SIGNED, link, digest, until)
    return f"{until}.{signed}.{key}"


def nonce_holds(keys: Keys, given: str, link: str, digest: str, now: Millis) -> bool:
    until, _, rest = given.partition(".")
    signed, _, key = rest.partition(".")
    whole = given.isascii() and len(signed) == _SIGNED and until.isdigit() and len(until) <= 15
    if not whole:
        return False
    ours = keys.signer(signed, key, _PURPOSE, link, digest, until) is not None
    return ours and now < int(until)


def foreign(headers: Mapping[str, str], public_url: str) -> bool:
    """Whether a form was sent by another site's page. ``Sec-Fetch-Site`` is the browser's own word. ``Origin``
    is ``null`` where a page names no referrer, as ours does (Fetch, section 3.2), and proves nothing then."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site != "same-origin":
        return True
    if origin == "null":
        return site is None
    said = [one for one in (origin, headers.get("referer")) if one]
    return any(not hmac.compare_digest(_origin(one), _origin(public_url)) for one in said)


def _origin(url: str) -> bytes:
    try:
        parts = urlsplit(url)
    except ValueError:
        return b""
    return f"{parts.scheme}://{parts.netloc}".lower().encode(errors="replace")


@struct(frozen=True, slots=True)
class Form:
    """``answer`` is the number of a choice, ``None`` where none was made."""

    nonce: str
    answer: int | None
    reason: str | None


def read_form(body: bytes, media_type: str) -> Form | None:
    """``None`` for what our page doesn't send."""
    if media_type.partition(";")[0].strip().lower() != _FORM:
        return None
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=8
        )
    except ValueError:
        return None
    form = dict(fields)
    if len(form) < len(fields):
        return None
    answer, reason = form.get("answer", ""), block(form.get("reason", ""))[:MOST_REASON].strip()
    chosen = answer.isascii() and answer.isdigit() and len(answer) <= 3
    return Form(form.get("nonce", ""), int(answer) if chosen else None, reason or None)
