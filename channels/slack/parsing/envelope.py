"""The outside of what Slack sends: bytes become an envelope that says what is in it and for whom.

Wire (docs.slack.dev): "Events API" (JSON: ``event_callback`` around an ``event``,
``url_verification``, ``app_rate_limited``), "Handling user interaction" (a form whose ``payload`` is
JSON), "Slash commands" (a form of plain fields), "Socket Mode" (``events_api``, ``interactive`` and
``slash_commands`` around the same payloads). Whose installation it is: slack_bolt
``request/internals.py``, and for modals the ``view.app_installed_team_id`` of its view payloads.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Literal, cast
from urllib.parse import parse_qsl

from channels.contract import Ignored, Word
from channels.slack.verify import Refused, Verified
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct
from gateway.engine.wire.text import clean

__all__ = [
    "Envelope",
    "Handshake",
    "ignored",
    "items",
    "kind_of",
    "number",
    "obj",
    "read",
    "read_socket",
    "slack_id",
    "stamp",
    "text",
    "trigger",
]

Kind = Literal["event", "interactive", "command", "rate_limited"]

_DEEPEST = 100
"""Blocks quoted in attachments of attachments stay below 30."""
_MOST_FIELDS = 50
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_STAMP = re.compile(r"[0-9]{1,16}\.[0-9]{1,16}")
_TRIGGER = re.compile(r"[A-Za-z0-9._-]{1,128}")
_NAME = re.compile(r"[a-z][a-z_]{0,63}")
_EVENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


@struct(frozen=True, slots=True)
class Handshake:
    """Slack asks whether we are there; it wants this back as plain text."""

    answer: str


@struct(frozen=True, slots=True, kw_only=True)
class Envelope:
    """One payload and whom it is for. ``installation`` is the key of the installation it was sent to
    (a team, or the organisation of an org-wide installation), empty where it names none; ``team`` and
    ``enterprise`` are that installation's own. ``bot_user`` is us, where the payload says so."""

    kind: Kind
    payload: JsonObject
    event_id: str
    installation: str
    app: str
    org: bool
    team: str
    enterprise: str
    bot_user: str = ""


def ignored(
    envelope: Envelope, verdict: Word, rule: str, reason: str, *, place: str = "", speaker: str = ""
) -> Ignored:
    """The word for an event that starts nothing and about which nobody is told anything."""
    return Ignored(
        event_id=envelope.event_id,
        verdict=verdict,
        rule=rule,
        reason=reason,
        place=place or None,
        speaker=speaker or None,
    )


# -- looking into JSON without trusting it ---------------------------------------------------------
def obj(value: object) -> JsonObject:
    """The object, or an empty one."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def items(value: object) -> list[Json]:
    return cast("list[Json]", value) if isinstance(value, list) else []


def text(holder: Mapping[str, Json], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""


def number(holder: Mapping[str, Json], name: str) -> int:
    value = holder.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def slack_id(holder: Mapping[str, Json], name: str) -> str:
    """An id such as ``U1``, or nothing. Ids become parts of keys, so a stray colon is no id."""
    value = text(holder, name)
    return value if _ID.fullmatch(value) else ""


def stamp(holder: Mapping[str, Json], name: str) -> str:
    """A message's timestamp, which is its id within a channel."""
    value = text(holder, name)
    return value if _STAMP.fullmatch(value) else ""


def trigger(holder: Mapping[str, Json]) -> str:
    """What a modal may be opened with; no two interactions share one."""
    value = text(holder, "trigger_id")
    return value if _TRIGGER.fullmatch(value) else ""


def kind_of(holder: Mapping[str, Json], name: str = "type") -> str:
    """The name of a type or subtype, as it may be repeated in a reason."""
    value = text(holder, name)
    return value if _NAME.fullmatch(value) else "of no name" if value else ""


# -- HTTP --------------------------------------------------------------------------------------------
def read(verified: Verified, content_type: str) -> Envelope | Handshake | Refused:
    """Never raises, whatever the bytes are."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        found = _json(verified.body)
        return found if isinstance(found, Refused) else _event(found, verified.body)
    if kind == "application/x-www-form-urlencoded":
        return _form(verified.body)
    return Refused(status=415, reason="content_type", why="neither JSON nor a form")


def _form(body: bytes) -> Envelope | Handshake | Refused:
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        return _bad("not_a_form", "the body is no form in UTF-8")
    fields: JsonObject = {}
    for name, value in pairs:
        if name in fields:
            return _bad("field_twice", "the form has a field twice")
        fields[name] = value
    if "payload" in fields:
        found = _json(text(fields, "payload").encode("utf-8", "replace"))
        return found if isinstance(found, Refused) else _interactive(found, body)
    if "command" in fields:
        return _command(fields, body)
    if fields.get("ssl_check") == "1":
        return Handshake("")
    return _bad("unknown_form", "the form is neither an interaction nor a command")


def _event(payload: JsonObject, raw: bytes) -> Envelope | Handshake | Refused:
    kind = text(payload, "type")
    if kind == "url_verification":
        return Handshake(text(payload, "challenge"))
    if kind == "app_rate_limited":
        minute = number(payload, "minute_rate_limited")
        team = slack_id(payload, "team_id")
        return Envelope(
            kind="rate_limited",
            payload=payload,
            event_id=f"rate:{team}:{minute}",
            installation=team,
            app=slack_id(payload, "api_app_id"),
            org=False,
            team=team,
            enterprise="",
        )
    if kind != "event_callback" or not obj(payload.get("event")):
        return _bad("unknown_payload", "the payload is no event")
    return _callback(payload, raw)


def _callback(payload: JsonObject, raw: bytes) -> Envelope:
    """``authorizations`` names the installation; the outer ids may be those of the sender's side of
    a shared channel. News of an installation that is gone has none, and there the outer ids are it."""
    granted = items(payload.get("authorizations"))
    ours = obj(granted[0]) if granted else payload
    org = _true(ours.get("is_enterprise_install"))
    team, enterprise = slack_id(ours, "team_id"), slack_id(ours, "enterprise_id")
    given = text(payload, "event_id")
    return Envelope(
        kind="event",
        payload=payload,
        event_id=given if _EVENT_ID.fullmatch(given) else _made_up("event", raw),
        installation=enterprise if org else team or enterprise,
        app=slack_id(payload, "api_app_id"),
        org=org,
        team=team,
        enterprise=enterprise,
        bot_user=slack_id(ours, "user_id") if granted and ours.get("is_bot") is True else "",
    )


def _interactive(payload: JsonObject, raw: bytes) -> Envelope | Refused:
    if not text(payload, "type"):
        return _bad("unknown_payload", "the payload has no type")
    home, owner = obj(payload.get("team")), obj(payload.get("enterprise"))
    enterprise = slack_id(owner, "id") or slack_id(home, "enterprise_id")
    org = _true(payload.get("is_enterprise_install"))
    team = slack_id(home, "id")
    # A modal opened across a shared channel is submitted from the other side's team.
    view = slack_id(obj(payload.get("view")), "app_installed_team_id")
    return Envelope(
        kind="interactive",
        payload=payload,
        event_id=_made_up("click", raw),
        installation=enterprise if org else view or team,
        app=slack_id(payload, "api_app_id"),
        org=org,
        team=team,
        enterprise=enterprise,
    )


def _command(fields: JsonObject, raw: bytes) -> Envelope:
    org = _true(fields.get("is_enterprise_install"))
    team, enterprise = slack_id(fields, "team_id"), slack_id(fields, "enterprise_id")
    return Envelope(
        kind="command",
        payload=fields,
        event_id=_made_up("command", raw),
        installation=enterprise if org else team,
        app=slack_id(fields, "api_app_id"),
        org=org,
        team=team,
        enterprise=enterprise,
    )


# -- Socket Mode -------------------------------------------------------------------------------------
def read_socket(kind: str, payload: object) -> Envelope | Handshake | Refused:
    """The ``payload`` of an envelope of this type. The socket is the authentication: there is no
    signature to look at."""
    found = _settle(payload)
    if isinstance(found, Refused):
        return found
    raw = json.dumps(found, sort_keys=True).encode()
    if kind == "events_api":
        return _event(found, raw)
    if kind == "interactive":
        return _interactive(found, raw)
    if kind == "slash_commands":
        return _command(found, raw)
    return _bad("unknown_payload", "the envelope is neither an event, a click nor a command")


# -- strict JSON ---------------------------------------------------------------------------------------
def _json(body: bytes) -> JsonObject | Refused:
    try:
        found: object = json.loads(body.decode())
    except (ValueError, RecursionError):
        return _bad("not_json", "the body is no JSON in UTF-8")
    return _settle(found)


def _settle(found: object) -> JsonObject | Refused:
    """Refuse what is nested too deeply to walk or isn't JSON after all (NaN), and mend what no store
    can write: half of a surrogate pair, which a text cut inside an emoji leaves behind."""
    if not isinstance(found, dict):
        return _bad("not_an_object", "the payload is no JSON object")
    try:
        return cast("JsonObject", _mended(cast("Json", found), 0))
    except RecursionError:
        return _bad("too_deep", f"the payload is nested deeper than {_DEEPEST} levels")
    except ValueError:
        return _bad("not_json", "the payload has a number that JSON doesn't know")


def _mended(value: Json, depth: int) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict | list):
        if depth >= _DEEPEST:
            raise RecursionError
        if isinstance(value, list):
            return [_mended(item, depth + 1) for item in value]
        return {clean(name): _mended(item, depth + 1) for name, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError
    return value


def _true(value: Json) -> bool:
    """Forms say it in words."""
    return value is True or value == "true"


def _made_up(kind: str, raw: bytes) -> str:
    """An id for what has none: the same bytes have the same id."""
    return f"{kind}:{hashlib.sha256(raw).hexdigest()[:24]}"


def _bad(reason: str, why: str) -> Refused:
    return Refused(status=400, reason=reason, why=why)
