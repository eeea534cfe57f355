"""Buttons and forms: what somebody decided, or wants to see before deciding.

Wire (docs.slack.dev "block_actions payload", "View interaction payloads"; @slack/types
``block-kit/block-elements.d.ts``): ``actions[0]`` is the element used, ``container`` the message or
view it stands in. A button has a ``value``; a select and an overflow menu a ``selected_option``.

Ours are told by ``action_id``: ``june.approve``, ``june.deny``, ``june.pick.<i>`` (one button for
each option) or ``june.pick`` (a select whose options' values are their numbers), ``june.form``,
``june.reason`` (deny, and say why), ``june.show`` or ``june.show.<page>``. In an overflow menu the
chosen option's value takes the place of the ``action_id``. The request's id is a button's ``value``
and stands in ``block_id``, ``june.<request>.<n>``; in a modal it is the ``private_metadata``, and
``callback_id`` says which form it was. These ids look a request up. They prove nothing: who may
decide, and whether this message shows that request, is looked at by whoever knows the request.
"""

from __future__ import annotations

import re

from channels.contract import MISSING, Answer, Control, Ignored, Parsed
from channels.slack.parsing import keys
from channels.slack.parsing.envelope import (
    Envelope,
    ignored,
    items,
    obj,
    slack_id,
    stamp,
    text,
    trigger,
)
from channels.slack.parsing.identity import Installed, Person, clicker
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace, struct

__all__ = [
    "ANSWER_FORM",
    "APPROVE",
    "DENY",
    "FORM",
    "PICK",
    "REASON",
    "REASON_FORM",
    "SHOW",
    "pressed",
    "submitted",
    "view_closed",
]

APPROVE, DENY, PICK, FORM = "june.approve", "june.deny", "june.pick", "june.form"
REASON, SHOW = "june.reason", "june.show"
ANSWER_FORM, REASON_FORM = "june.answer", "june.reason"
"""The ``callback_id`` of the form made from a request's schema, and of the one that asks why."""

NOT_NEEDED = "This decision is no longer needed."
UNKNOWN = "I don't know this button any more. Nothing was done."

_REQUEST = re.compile(r"[A-Za-z0-9_:-]{1,128}")
_BLOCK = re.compile(r"june\.([A-Za-z0-9_:-]{1,128})\.[0-9]{1,9}")
_NUMBERED = re.compile(r"(june\.[a-z]+)(?:\.([0-9]{1,4}))?")
_DIGITS = re.compile(r"[0-9]{1,4}")
_LONGEST_REASON = 3000


@struct(frozen=True, slots=True, kw_only=True)
class _Press:
    """An element used: which of ours, by its number if it has one, for which request."""

    name: str
    number: int | None
    request: str
    forged: bool


def pressed(envelope: Envelope, me: Installed) -> Parsed:
    """An element of a message, or of a view, was used."""
    payload = envelope.payload
    person = clicker(envelope, me)
    first = items(payload.get("actions"))[:1]
    if not person.user or not first:
        return ignored(envelope, "unsupported", "no-author", "it doesn't say who pressed what")
    press = _press(obj(first[0]))
    where = _Where.of(envelope, me, person)
    if press is None:
        why = "the button isn't one of ours"
        return where.told(envelope, "unknown-action", why, UNKNOWN)
    if press.forged or (where.shown == "" and press.name not in (SHOW, FORM, REASON)):
        why = "the button doesn't say one request, or stands on no message"
        return replace(where.told(envelope, "forged-answer", why, NOT_NEEDED), verdict="policy")
    at = stamp(obj(first[0]), "action_ts") or envelope.event_id
    claimed = (keys.act(me.key, where.container or "none", at, person.user),)
    if press.name in (SHOW, FORM, REASON):
        return _look(envelope, person, where, press, claimed)
    reply = dict(where.reply)
    if press.name == PICK:
        reply["choice"] = press.number
    return Answer(
        event_id=envelope.event_id,
        keys=claimed,
        request=press.request,
        shown=where.shown,
        digest="",
        by=person.speaker,
        value=MISSING if press.name == PICK else press.name == APPROVE,
        reason=None,
        reply=reply,
    )


def _look(
    envelope: Envelope, person: Person, where: _Where, press: _Press, claimed: tuple[str, ...]
) -> Control:
    """A modal is asked for: all arguments, the form, or why it is denied."""
    reply = dict(where.reply)
    reply["request"] = press.request
    if press.name == SHOW:
        reply["page"] = press.number or 0
    else:
        reply["form"] = ANSWER_FORM if press.name == FORM else REASON_FORM
    return Control(
        event_id=envelope.event_id,
        keys=claimed,
        kind="show" if press.name == SHOW else "form",
        by=person.speaker,
        post=where.shown or None,
        reply=reply,
    )


def submitted(envelope: Envelope, me: Installed) -> Parsed:
    """A form was sent. What was typed stands under ``state`` in ``reply``, by block and element: it
    becomes a value where the request's schema is known."""
    payload = envelope.payload
    view, person = obj(payload.get("view")), clicker(envelope, me)
    where = _Where.of(envelope, me, person)
    form, request = text(view, "callback_id"), text(view, "private_metadata")
    if not person.user:
        return ignored(envelope, "unsupported", "no-author", "it doesn't say who sent it")
    if form not in (ANSWER_FORM, REASON_FORM) or not _REQUEST.fullmatch(request):
        return where.told(envelope, "unknown-view", "the form isn't one of ours", UNKNOWN)
    once = trigger(payload) or envelope.event_id
    state = obj(obj(view.get("state")).get("values"))
    reply = dict(where.reply)
    if form == ANSWER_FORM:
        reply["state"] = state
    return Answer(
        event_id=envelope.event_id,
        keys=(keys.submitted(me.key, where.container or "none", once, person.user),),
        request=request,
        shown="",
        digest="",
        by=person.speaker,
        value=MISSING if form == ANSWER_FORM else False,
        reason=_reason(state) if form == REASON_FORM else None,
        reply=reply,
    )


def view_closed(envelope: Envelope, _me: Installed) -> Parsed:
    return ignored(envelope, "not_addressed", "view-closed", "a form was closed, nothing was sent")


# -- the parts ---------------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class _Where:
    """What was pressed on. ``shown`` is the message, empty in a modal."""

    container: str
    shown: str
    place: str
    speaker: str
    reply: JsonObject

    @classmethod
    def of(cls, envelope: Envelope, me: Installed, person: Person) -> _Where:
        payload = envelope.payload
        box, message = obj(payload.get("container")), obj(payload.get("message"))
        view = slack_id(box, "view_id") or slack_id(obj(payload.get("view")), "id")
        channel = slack_id(box, "channel_id") or slack_id(obj(payload.get("channel")), "id")
        ts = "" if view else stamp(box, "message_ts") or stamp(message, "ts")
        root = stamp(box, "thread_ts") or stamp(message, "thread_ts") or ts
        on = bool(channel and ts)
        return cls(
            container=view or ts,
            shown=keys.post(me.key, me.then(channel, ts), ts) if on else "",
            place=keys.place(me.key, me.then(channel, root), root).key if on else "",
            speaker=person.speaker.id,
            reply=keys.reply(
                me.key,
                team=envelope.team,
                channel=channel,
                user=person.user,
                user_team=person.team,
                thread_ts=root,
                response_url=text(payload, "response_url"),
                trigger_id=trigger(payload),
                view_id=view,
            ),
        )

    def told(self, envelope: Envelope, rule: str, why: str, say: str) -> Ignored:
        found = ignored(envelope, "unsupported", rule, why, place=self.place, speaker=self.speaker)
        return replace(found, say=say, reply=self.reply)


def _press(action: JsonObject) -> _Press | None:
    """``None`` for what isn't ours."""
    option = text(obj(action.get("selected_option")), "value")
    name = option if text(action, "type") == "overflow" else text(action, "action_id")
    found = _NUMBERED.fullmatch(name)
    if found is None or found[1] not in (APPROVE, DENY, PICK, FORM, REASON, SHOW):
        return None
    number = found[2]
    if number is not None and found[1] not in (PICK, SHOW):
        return None
    if found[1] == PICK and number is None:
        number = option if _DIGITS.fullmatch(option) else None
    block = _BLOCK.fullmatch(text(action, "block_id"))
    said = {one for one in (text(action, "value"), block[1] if block else "") if one}
    request = said.pop() if len(said) == 1 else ""
    return _Press(
        name=found[1],
        number=None if number is None else int(number),
        request=request,
        forged=not _REQUEST.fullmatch(request) or (found[1] == PICK and number is None),
    )


def _reason(state: JsonObject) -> str | None:
    """What was typed into the one field of the form that asks why."""
    for block in state.values():
        value: Json = obj(obj(block).get(REASON)).get("value")
        if isinstance(value, str) and value.strip():
            return value.strip()[:_LONGEST_REASON]
    return None
