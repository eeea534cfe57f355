"""Posts: whether one is said to us, and by somebody who may.

Wire (docs.slack.dev "message event", "app_mention event"; @slack/types ``events/message.d.ts``). A
person's post comes without a subtype, or as ``file_share``, ``thread_broadcast`` or ``me_message``;
a bot's as ``bot_message`` or plainly; all other subtypes are notices of Slack's own. A post that
mentions us comes twice, as ``message`` and as ``app_mention``, in any order.
"""

from __future__ import annotations

from channels.contract import Parsed
from channels.slack.parsing import keys
from channels.slack.parsing.envelope import Envelope, ignored, kind_of, obj, slack_id, text
from channels.slack.parsing.identity import Installed, Person, author
from channels.slack.parsing.opening import Spot, addressed, inbound, spot
from channels.slack.parsing.voices import bot_ids, is_ours, mentions_us, signed
from channels.slack.policy import SlackRules, may_talk
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace

__all__ = ["HEARD", "OUTSIDER", "message"]

HEARD = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
"""The subtypes that are somebody's words."""

OUTSIDER = (
    "I can't answer people of other organisations in this channel. Whoever runs me can allow it by"
    " adding the channel to `external`."
)


def message(envelope: Envelope, me: Installed, rules: SlackRules) -> Parsed:
    """A post as ``message`` or ``app_mention`` tells it; edits and removals go elsewhere."""
    event = obj(envelope.payload.get("event"))
    at = spot(me, event, event)
    if at is None:
        return ignored(
            envelope, "unsupported", "no-post", "the message has no channel or timestamp"
        )
    place = at.place.key
    if is_ours(envelope, me, event):
        return ignored(envelope, "own_echo", "own-post", "we wrote it", place=place)
    subtype = kind_of(event, "subtype")
    if event.get("hidden") is True or subtype not in HEARD:
        why = f"messages of subtype {subtype or 'hidden'} aren't said to anybody"
        return ignored(envelope, "not_addressed", "subtype", why, place=place)
    if bot_ids(event):
        return _by_bot(envelope, me, rules, at)
    if not slack_id(event, "user"):
        return ignored(envelope, "unsupported", "no-author", "nobody wrote it", place=place)
    return _by_person(envelope, me, rules, at)


def _by_person(envelope: Envelope, me: Installed, rules: SlackRules, at: Spot) -> Parsed:
    event = obj(envelope.payload.get("event"))
    person = author(envelope, me, event)
    how = addressed(envelope, me, rules, event, at)
    found = inbound(envelope, me, rules, at, event)
    known = {"place": at.place.key, "speaker": person.speaker.id}
    if found.author == "external" and not may_talk(rules, *at.names):
        why = f"the author is of another organisation, and {at.channel} isn't opened to those"
        said = ignored(envelope, "policy", "external", why, **known)
        if how in ("none", "thread") or (how == "mention" and text(event, "type") == "message"):
            return said  # a mention comes a second time, as one, and is answered then
        return replace(said, say=OUTSIDER, reply=_reply(at, person))
    if how == "none":
        why = "it doesn't mention us and replies to nothing"
        return ignored(envelope, "not_addressed", "not-mentioned", why, **known)
    if event.get("edited") is not None and text(event, "type") == "app_mention":
        why = "the mention was put in by an edit"
        return ignored(envelope, "not_addressed", "edited-later", why, **known)
    return found


def _by_bot(envelope: Envelope, me: Installed, rules: SlackRules, at: Spot) -> Parsed:
    event = obj(envelope.payload.get("event"))
    known = {"place": at.place.key, "speaker": author(envelope, me, signed(event)).speaker.id}
    if not bot_ids(event) & rules.bots:
        why = "a bot wrote it that isn't listed in `bots`"
        return ignored(envelope, "other_bot", "not-listed", why, **known)
    if not mentions_us(envelope, me, event):
        why = "bots are heard when they mention us in that very message"
        return ignored(envelope, "other_bot", "unmentioned", why, **known)
    return inbound(envelope, me, rules, at, event)


def _reply(at: Spot, person: Person) -> JsonObject:
    return keys.reply(
        at.installation,
        channel=at.channel,
        user=person.user,
        user_team=person.team,
        thread_ts=at.root,
    )
