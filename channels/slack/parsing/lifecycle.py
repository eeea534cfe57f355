"""What happens later: to a post (edited, removed), to a running answer (stopped), to our place in a
workspace (opened, revoked, uninstalled).

Wire (docs.slack.dev "message_changed", "message_deleted", "agent_session_stopped",
"app_home_opened", "app_context_changed", "tokens_revoked", "app_uninstalled"; @slack/types
``events/message.d.ts``, ``events/agent.d.ts``, ``events/app.d.ts``). ``message_changed`` comes for
more than edits: a link unfurled, a stream of ours that grew, a language detected. Only what a person
changed has ``edited``. A removed root that has replies changes into a ``tombstone``
(slack-edge/slack-edge #10).
"""

from __future__ import annotations

from channels.contract import Control, Inbound, Parsed
from channels.slack.parsing import keys, opening
from channels.slack.parsing.envelope import (
    Envelope,
    ignored,
    items,
    kind_of,
    obj,
    slack_id,
    stamp,
    text,
)
from channels.slack.parsing.identity import Installed, Person, Renamed, author
from channels.slack.parsing.messages import HEARD
from channels.slack.parsing.opening import Spot
from channels.slack.parsing.voices import bot_ids, is_ours
from channels.slack.policy import SlackRules, may_talk
from gateway.engine.kinds import JsonObject
from gateway.engine.struct import replace

__all__ = [
    "RENAMED",
    "changed",
    "deleted",
    "gone",
    "hint",
    "home",
    "renamed",
    "renaming",
    "stopped",
]

RENAMED = "channel-renamed"
"""The rule by which a channel's other id is taken note of."""


# -- posts -------------------------------------------------------------------------------------------
def changed(envelope: Envelope, me: Installed, rules: SlackRules) -> Parsed:
    """A post reads differently now."""
    event = obj(envelope.payload.get("event"))
    now, before = obj(event.get("message")), obj(event.get("previous_message"))
    if not stamp(now, "ts"):
        now = {**now, "ts": stamp(before, "ts")}
    at = opening.spot(me, event, now)
    if at is None:
        return ignored(envelope, "unsupported", "no-post", "it doesn't say which post changed")
    if text(now, "subtype") == "tombstone":
        return _removed(envelope, me, rules, at, before)
    place = at.place.key
    if is_ours(envelope, me, now) or is_ours(envelope, me, before):
        return ignored(envelope, "own_echo", "own-edit", "a post of ours changed", place=place)
    if bot_ids(now):
        return ignored(envelope, "other_bot", "edit", "a bot's post changed", place=place)
    edit = obj(now.get("edited"))
    when = stamp(edit, "ts")
    if not when or (before and text(now, "text") == text(before, "text")):
        why = "nobody changed its text: a preview, a file or a marking did"
        return ignored(envelope, "not_addressed", "no-text-change", why, place=place)
    if slack_id(edit, "user") != slack_id(now, "user"):
        why = "somebody else than its author changed it"
        return ignored(envelope, "policy", "edited-by-other", why, place=place)
    return _edited(envelope, me, rules, at, (now, before))


def _edited(
    envelope: Envelope,
    me: Installed,
    rules: SlackRules,
    at: Spot,
    versions: tuple[JsonObject, JsonObject],
) -> Parsed:
    now, before = versions
    place = at.place.key
    if (subtype := kind_of(now, "subtype")) not in HEARD:
        why = f"messages of subtype {subtype} aren't said to anybody"
        return ignored(envelope, "not_addressed", "subtype", why, place=place)
    found = opening.inbound(envelope, me, rules, at, now)
    known = {"place": place, "speaker": found.speaker.id}
    if found.author == "external" and not may_talk(rules, *at.names):
        why = f"the author is of another organisation, and {at.channel} isn't opened to those"
        return ignored(envelope, "policy", "external", why, **known)
    earlier = opening.addressed(envelope, me, rules, before, at) if before else found.addressed
    if earlier == "none":
        if found.addressed == "none":
            why = "it doesn't mention us and replies to nothing"
            return ignored(envelope, "not_addressed", "not-mentioned", why, **known)
        why = "the mention was put in by an edit"
        return ignored(envelope, "not_addressed", "edited-later", why, **known)
    # Who was spoken to at first stays spoken to, whatever the edit took out.
    how = "mention" if found.addressed == "mention" else earlier
    return _as_edit(
        envelope, at, replace(found, addressed=how), stamp(obj(now.get("edited")), "ts")
    )


def _as_edit(envelope: Envelope, at: Spot, found: Inbound, when: str) -> Control:
    """The edit claims itself; the message as it reads now claims that version, so that it can still
    open a turn after the edit was noted."""
    again = replace(
        found,
        keys=(keys.claim(f"{at.post}:e{when}"),),
        turn_id=f"{at.post}:e{when}",
    )
    return Control(
        event_id=envelope.event_id,
        keys=(keys.event(envelope.event_id), keys.changed("edit", at.post, when)),
        kind="edit",
        place=at.place,
        by=found.speaker,
        post=at.post,
        inbound=again,
        at=when,
        reply=keys.reply(
            at.installation,
            channel=at.channel,
            user=str(found.target["user"]),
            user_team=str(found.target["user_team"]),
            thread_ts=at.root,
        ),
    )


def deleted(envelope: Envelope, me: Installed, rules: SlackRules) -> Parsed:
    """A post is gone."""
    event = obj(envelope.payload.get("event"))
    before = obj(event.get("previous_message"))
    ts = stamp(event, "deleted_ts") or stamp(before, "ts")
    at = opening.spot(me, event, {**before, "ts": ts})
    if at is None:
        return ignored(envelope, "unsupported", "no-post", "it doesn't say which post is gone")
    return _removed(envelope, me, rules, at, before)


def _removed(
    envelope: Envelope, me: Installed, rules: SlackRules, at: Spot, before: JsonObject
) -> Parsed:
    """Slack doesn't say who removed it, only what was removed."""
    place = at.place.key
    if is_ours(envelope, me, before):
        return ignored(envelope, "own_echo", "own-delete", "a post of ours is gone", place=place)
    subtype = kind_of(before, "subtype")
    if subtype not in HEARD:
        why = f"messages of subtype {subtype} aren't said to anybody"
        return ignored(envelope, "not_addressed", "subtype", why, place=place)
    if bot_ids(before):
        return ignored(envelope, "other_bot", "delete", "a bot's post is gone", place=place)
    if before and opening.addressed(envelope, me, rules, before, at) == "none":
        why = "it didn't mention us and replied to nothing"
        return ignored(envelope, "not_addressed", "not-mentioned", why, place=place)
    return Control(
        event_id=envelope.event_id,
        keys=(keys.event(envelope.event_id), keys.changed("delete", at.post, "once")),
        kind="delete",
        place=at.place,
        post=at.post,
        at=stamp(obj(envelope.payload.get("event")), "event_ts") or None,
        reply=keys.reply(at.installation, channel=at.channel, thread_ts=at.root),
    )


# -- sessions and the agent's home -----------------------------------------------------------------
def stopped(envelope: Envelope, me: Installed, _rules: SlackRules) -> Parsed:
    """Somebody pressed Slack's own Stop. The streams named have ended already; the turn hasn't."""
    event = obj(envelope.payload.get("event"))
    at = opening.spot(me, event, {"ts": stamp(event, "thread_ts")})
    person = author(envelope, me, event)
    if at is None or not person.user:
        return ignored(envelope, "unsupported", "no-thread", "it doesn't say what to stop, or who")
    streams = [one for one in items(event.get("streaming_message_ts")) if isinstance(one, str)]
    reply = _reply(me, at.channel, person, at.root)
    reply["streams"] = [*streams]
    return Control(
        event_id=envelope.event_id,
        keys=(keys.event(envelope.event_id),),
        kind="stop",
        place=at.place,
        by=person.speaker,
        at=stamp(event, "event_ts") or None,
        reply=reply,
    )


def home(envelope: Envelope, me: Installed, rules: SlackRules) -> Parsed:
    """Somebody opened our conversation in the app's home."""
    event = obj(envelope.payload.get("event"))
    person, channel = author(envelope, me, event), slack_id(event, "channel")
    if not person.user or not channel:
        return ignored(envelope, "unsupported", "no-author", "it doesn't say who opened what")
    if text(event, "tab") != "messages" or not rules.agent_view:
        why = "only the messages tab of the agent view has something to show"
        return ignored(envelope, "not_addressed", "home-tab", why, speaker=person.speaker.id)
    return Control(
        event_id=envelope.event_id,
        keys=(keys.event(envelope.event_id), keys.opened_home(me.key, person.user)),
        kind="home",
        by=person.speaker,
        at=stamp(event, "event_ts") or None,
        reply=_reply(me, channel, person, ""),
    )


def hint(envelope: Envelope, me: Installed, _rules: SlackRules) -> Parsed:
    """What somebody looks at, or called a session. The next message repeats what matters of it."""
    event = obj(envelope.payload.get("event"))
    person = author(envelope, me, event)
    return ignored(
        envelope,
        "accepted",
        "hint",
        f"{kind_of(event)} is taken note of and starts nothing",
        speaker=person.speaker.id if person.user else "",
    )


# -- channels ----------------------------------------------------------------------------------------
def renaming(envelope: Envelope) -> Renamed | None:
    """Which channel goes by another id from when on."""
    event = obj(envelope.payload.get("event"))
    old, new = slack_id(event, "old_channel_id"), slack_id(event, "new_channel_id")
    at = stamp(event, "event_ts")
    return Renamed(old, new, at) if old and new and at and old != new else None


def renamed(envelope: Envelope, _me: Installed, _rules: SlackRules) -> Parsed:
    """A private channel is shared with another organisation: Slack knows it by a new id from now on,
    and by no other ("channel_id_changed event")."""
    found = renaming(envelope)
    if found is None:
        return ignored(envelope, "unsupported", "no-channel", "it doesn't say which id changed")
    why = f"the channel {found.old} is {found.new} from now on"
    return ignored(envelope, "accepted", RENAMED, why)


# -- the installation --------------------------------------------------------------------------------
def gone(envelope: Envelope, me: Installed, _rules: SlackRules) -> Parsed:
    """Our token was taken away, or the app removed."""
    event = obj(envelope.payload.get("event"))
    uninstalled = text(event, "type") == "app_uninstalled"
    if not uninstalled and not items(obj(event.get("tokens")).get("bot")):
        why = "only tokens of persons were revoked, and we hold none"
        return ignored(envelope, "not_addressed", "user-tokens", why)
    return Control(
        event_id=envelope.event_id,
        keys=(keys.event(envelope.event_id),),
        kind="uninstalled" if uninstalled else "revoked",
        reply=keys.reply(me.key),
    )


def _reply(me: Installed, channel: str, person: Person, thread: str) -> JsonObject:
    return keys.reply(
        me.key, channel=channel, user=person.user, user_team=person.team, thread_ts=thread
    )
