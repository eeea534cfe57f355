"""A post as the opening of a turn: what is kept of it, where its answer goes, what is read before.

Wire (docs.slack.dev "message event", "file object"; @slack/types ``events/message.d.ts``,
``events/app.d.ts``): ``thread_ts`` is the root's timestamp, ``parent_user_id`` the root's author;
a file marked ``check_file_info`` comes without anything but its id.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from channels.contract import Addressed, Author, FileRef, Inbound, Place
from channels.slack.parsing import keys
from channels.slack.parsing.envelope import (
    Envelope,
    items,
    kind_of,
    number,
    obj,
    slack_id,
    stamp,
    text,
)
from channels.slack.parsing.identity import Installed, Person, author
from channels.slack.parsing.voices import bot_ids, bot_name, is_ours, mentions_us, signed, us
from channels.slack.policy import SlackRules, follow, replaces
from channels.slack.words import inward
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace, struct

__all__ = ["Spot", "addressed", "inbound", "spot"]

_KINDS = frozenset({"channel", "group", "im", "mpim"})
_KIND = re.compile(r"[a-z_]{1,40}")
_MOST_FILES = 20
_MOST_NAMES = 10


@struct(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a post stands. ``root`` is itself, unless it replies. ``names`` are the channel's ids,
    that of today first."""

    me: Installed
    channel: str
    kind: str
    ts: str
    root: str

    @property
    def installation(self) -> str:
        return self.me.key

    @property
    def names(self) -> tuple[str, ...]:
        return self.me.names(self.channel)

    @property
    def post(self) -> str:
        return keys.post(self.me.key, self.me.then(self.channel, self.ts), self.ts)

    @property
    def place(self) -> Place:
        return keys.place(self.me.key, self.me.then(self.channel, self.root), self.root)


def spot(me: Installed, event: JsonObject, post: JsonObject) -> Spot | None:
    """``post`` is the event itself, or the message inside it."""
    channel, ts = slack_id(event, "channel"), stamp(post, "ts")
    if not channel or not ts:
        return None
    kind = text(event, "channel_type") or {"D": "im", "G": "group"}.get(channel[0], "channel")
    return Spot(
        me=me,
        channel=channel,
        kind="im" if kind == "app_home" else kind if kind in _KINDS else "channel",
        ts=ts,
        root=stamp(post, "thread_ts") or ts,
    )


def addressed(
    envelope: Envelope, me: Installed, rules: SlackRules, post: JsonObject, at: Spot
) -> Addressed:
    if at.kind == "im":
        return "agent" if rules.agent_view else "direct"
    if mentions_us(envelope, me, post):
        return "mention"
    return "thread" if at.root != at.ts else "none"


def inbound(
    envelope: Envelope, me: Installed, rules: SlackRules, at: Spot, post: JsonObject
) -> Inbound:
    """The post as a turn's opening, whoever wrote it and whether or not it is let in."""
    bot = bool(bot_ids(post))
    post = signed(post) if bot else post
    person = author(envelope, me, post)
    who: Author = "bot" if bot else "person" if person.external is False else "external"
    speaker = person.speaker
    if bot and speaker.level == "provider":
        speaker = replace(speaker, level="sender")
    plain = inward.plain(text(post, "text"), us=me.bot_user or envelope.bot_user or None)
    client = slack_id(post, "client_msg_id")
    claimed = [keys.event(envelope.event_id), keys.claim(at.post)]
    if client:
        claimed.append(keys.client(me.key, client))
    team = _workspace(envelope, me)
    return Inbound(
        event_id=envelope.event_id,
        keys=tuple(claimed),
        post=at.post,
        turn_id=at.post,
        place=at.place,
        addressed=addressed(envelope, me, rules, post, at),
        author=who,
        speaker=speaker,
        text=plain.text,
        files=tuple(_files(post)),
        root_is_ours=_root_is_ours(envelope, me, post),
        follow=follow(rules, *at.names),
        pair=keys.pair(at.place, bot_name(post)) if bot else None,
        replace=replaces(rules),
        event=_event(envelope, at, post, person, plain),
        target=keys.target(
            installation=me.key,
            team=team,
            channel=at.channel,
            thread=at.root,
            recipient=(person.user, person.team or team),
            title=inward.headline(plain),
        )
        | {"lane": at.place.key},
        fetch=_fetch(envelope, me, at, post, plain),
    )


def _event(
    envelope: Envelope, at: Spot, post: JsonObject, person: Person, plain: inward.Plain
) -> JsonObject:
    """What is kept of the post: ids and marks, no payload and nothing that grants anything."""
    shared = envelope.payload.get("is_ext_shared_channel")
    found: JsonObject = {
        "type": "message",
        "id": envelope.event_id,
        "installation": at.installation,
        "channel": at.channel,
        "channel_type": at.kind,
        "ts": at.ts,
        "thread_ts": at.root if at.root != at.ts else None,
        "user": person.user,
        "shared": shared if isinstance(shared, bool) else None,
        "external": person.external is not False,
        "guest": person.guest,
    }
    if subtype := kind_of(post, "subtype"):
        found["subtype"] = subtype
    if plain.mentions:
        found["mentions"] = [{"name": one.name, "id": one.id} for one in plain.mentions]
    if context := list(_context(post)):
        found["looking_at"] = context
    return found


def _context(post: JsonObject) -> Iterator[Json]:
    """What the person had open in the agent view when they wrote. A hint, never authority."""
    for one in items(obj(post.get("app_context")).get("entities"))[:_MOST_NAMES]:
        kind = text(obj(one), "type").removeprefix("slack#/types/")
        where = obj(obj(one).get("value"))
        found: JsonObject = {
            "type": kind,
            "id": slack_id(obj(one), "value") or slack_id(where, "channel_id"),
        }
        if ts := stamp(where, "message_ts"):
            found["ts"] = ts
        if found["id"] and _KIND.fullmatch(kind):
            yield found


def _files(post: JsonObject) -> Iterator[FileRef]:
    for one in map(obj, items(post.get("files"))[:_MOST_FILES]):
        if found := slack_id(one, "id"):
            yield FileRef(
                id=found,
                name=text(one, "name") or text(one, "title") or found,
                media_type=text(one, "mimetype"),
                size=number(one, "size"),
                url=text(one, "url_private"),
            )


def _fetch(
    envelope: Envelope, me: Installed, at: Spot, post: JsonObject, plain: inward.Plain
) -> JsonObject | None:
    """What to read before the turn opens: the thread if it replies to one, the files, and what the
    people are called whom the text mentions. A file without a ``url`` has to be asked for."""
    found: JsonObject = {}
    if at.root != at.ts:
        found["thread_ts"] = at.root
    if files := list(_files(post)):
        found["files"] = [
            {
                "id": one.id,
                "name": one.name,
                "media_type": one.media_type,
                "size": one.size,
                "url": one.url,
            }
            for one in files
        ]
    ours = us(envelope, me)
    if users := [one.id for one in plain.mentions if one.id[0] in "UW" and one.id not in ours]:
        found["users"] = [*users[:_MOST_NAMES]]
    if not found:
        return None
    return {
        "installation": at.installation,
        "team": _workspace(envelope, me),
        "channel": at.channel,
        "ts": at.ts,
        **found,
    }


def _workspace(envelope: Envelope, me: Installed) -> str:
    """The workspace of ours that this happened in: an org-wide token has to name one."""
    if home := envelope.team or me.team:
        return home
    outer = envelope.payload
    for prefix in ("", "context_"):
        owner = slack_id(outer, f"{prefix}enterprise_id")
        if owner and me.owns(owner):
            return slack_id(outer, f"{prefix}team_id")
    return ""


def _root_is_ours(envelope: Envelope, me: Installed, post: JsonObject) -> bool:
    return slack_id(post, "parent_user_id") in us(envelope, me) or is_ours(
        envelope, me, obj(post.get("root"))
    )
