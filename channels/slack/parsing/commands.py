"""Commands and shortcuts: ``/june reset <link>``, and "Start over" in a message's menu.

Wire (docs.slack.dev "Slash commands", "Shortcuts interaction payloads"). A command never says in
which thread it was typed, and Slack offers none in threads; so it names its thread by a link to any
message of it, as "Copy link" gives it:
``https://acme.slack.com/archives/<channel>/p<ts without its dot>?thread_ts=<root>``. A message
shortcut brings the message, a global one nothing but the person.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from channels.contract import Control, Parsed
from channels.slack.parsing import keys
from channels.slack.parsing.envelope import Envelope, ignored, obj, slack_id, stamp, text, trigger
from channels.slack.parsing.identity import Installed, Person, clicker, commander
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace

__all__ = ["RESET", "command", "message_shortcut", "shortcut"]

RESET = "june.reset"
"""The ``callback_id`` of the shortcuts."""

HOW = (
    "To start a conversation over, open the menu (⋮) of any message in its thread and choose"
    " Start over, or send this command with the word reset and a link to that message (Copy link)."
)
ELSEWHERE = "That link leads to another channel. Send the command in the channel of that thread."
UNKNOWN = "I don't know this shortcut any more. Nothing was done."

_PATH = re.compile(r"/archives/([A-Z0-9]{1,64})/p([0-9]{1,16})([0-9]{6})/?")
_ROOT = re.compile(r"[0-9]{1,16}\.[0-9]{1,16}")


def command(envelope: Envelope, me: Installed) -> Parsed:
    fields = envelope.payload
    person, channel = commander(envelope, me), slack_id(fields, "channel_id")
    if not person.user or not channel:
        return ignored(envelope, "unsupported", "no-author", "it doesn't say who typed it where")
    word, _, rest = text(fields, "text").strip().partition(" ")
    found = _thread(rest.strip()) if word.lower() == "reset" else None
    reply = _reply(envelope, me, person, channel)
    if found is None:
        return _told(envelope, person, reply, HOW)
    claim = keys.command(me.key, trigger(fields) or envelope.event_id, person.user)
    if found[0] not in me.names(channel):
        return _told(envelope, person, reply, ELSEWHERE)
    return _reset(envelope, me, person, found, claim)


def message_shortcut(envelope: Envelope, me: Installed) -> Parsed:
    payload = envelope.payload
    person, channel = clicker(envelope, me), slack_id(obj(payload.get("channel")), "id")
    message = obj(payload.get("message"))
    root = stamp(message, "thread_ts") or stamp(message, "ts") or stamp(payload, "message_ts")
    if not person.user or not channel or not root:
        return ignored(envelope, "unsupported", "no-author", "it doesn't say who chose it where")
    reply = _reply(envelope, me, person, channel)
    if text(payload, "callback_id") != RESET:
        return _told(envelope, person, reply, UNKNOWN)
    at = stamp(payload, "action_ts") or envelope.event_id
    return _reset(envelope, me, person, (channel, root), keys.act(me.key, root, at, person.user))


def shortcut(envelope: Envelope, me: Installed) -> Parsed:
    """A global shortcut can't say which conversation is meant."""
    person = clicker(envelope, me)
    if not person.user:
        return ignored(envelope, "unsupported", "no-author", "it doesn't say who chose it")
    ours = text(envelope.payload, "callback_id") == RESET
    return _told(envelope, person, _reply(envelope, me, person, ""), HOW if ours else UNKNOWN)


def _reset(
    envelope: Envelope, me: Installed, person: Person, thread: tuple[str, str], claim: str
) -> Control:
    channel, root = thread
    reply = _reply(envelope, me, person, channel)
    reply["thread_ts"] = root
    return Control(
        event_id=envelope.event_id,
        keys=(claim,),
        kind="reset",
        place=keys.place(me.key, me.then(channel, root), root),
        by=person.speaker,
        reply=reply,
    )


def _thread(link: str) -> tuple[str, str] | None:
    """The channel and the root that a link to a message leads to. Where the app has its commands'
    links marked, it comes as ``<https://…|…>``."""
    address = link.removeprefix("<").removesuffix(">").partition("|")[0].replace("&amp;", "&")
    try:
        parts = urlsplit(address)
        asked = parse_qs(parts.query, max_num_fields=10)
    except ValueError:
        return None
    found = _PATH.fullmatch(parts.path)
    if parts.scheme != "https" or found is None:
        return None
    root = asked.get("thread_ts", [""])[0]
    return found[1], root if _ROOT.fullmatch(root) else f"{found[2]}.{found[3]}"


def _told(envelope: Envelope, person: Person, reply: JsonObject, say: str) -> Parsed:
    why = "it asks for nothing that can be done here"
    said = ignored(envelope, "unsupported", "unknown-command", why, speaker=person.speaker.id)
    return replace(said, say=say, reply=reply)


def _reply(envelope: Envelope, me: Installed, person: Person, channel: str) -> JsonObject:
    return keys.reply(
        me.key,
        team=envelope.team,
        channel=channel,
        user=person.user,
        user_team=person.team,
        response_url=text(envelope.payload, "response_url"),
        trigger_id=trigger(envelope.payload),
    )
