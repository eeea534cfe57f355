"""Whose voice a post is, and whom it calls.

Wire (docs.slack.dev "message event", "Rich text block"; @slack/types ``events/message.d.ts``). We are
in a post by our bot, our bot's user or our app; another bot by ``bot_id``, with or without the
subtype ``bot_message``. What a person typed is in ``blocks`` as ``rich_text``, in which a mention is
an element of its own; in ``text`` it is the token ``<@U1>`` or ``<@U1|ada>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from channels.slack.parsing.envelope import Envelope, items, kind_of, obj, slack_id, text
from channels.slack.parsing.identity import Installed
from gateway.engine.kinds import Json, JsonObject

__all__ = ["bot_ids", "bot_name", "is_ours", "mentions_us", "signed", "us"]

_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_TOKEN = re.compile(r"<@([A-Z0-9]{1,64})(?:\|[^<>]*)?>")


def is_ours(envelope: Envelope, me: Installed, post: JsonObject) -> bool:
    """Whether we wrote it, by any of the names that a post may carry for us."""
    profile = obj(post.get("bot_profile"))
    app = me.app or envelope.app
    return (
        (bool(app) and app in {slack_id(post, "app_id"), slack_id(profile, "app_id")})
        or (bool(me.bot_id) and me.bot_id in {slack_id(post, "bot_id"), slack_id(profile, "id")})
        or slack_id(post, "user") in us(envelope, me)
    )


def bot_ids(post: JsonObject) -> frozenset[str]:
    """All ids of the bot that wrote a post; none for a person's."""
    profile = obj(post.get("bot_profile"))
    bot, user = _bot(post), slack_id(post, "user")
    if not bot and user != "USLACKBOT" and text(post, "subtype") != "bot_message":
        return frozenset()
    app = slack_id(post, "app_id") or slack_id(profile, "app_id")
    return frozenset({bot, app, user} - {""}) or frozenset({"unknown"})


def _bot(post: JsonObject) -> str:
    return slack_id(post, "bot_id") or slack_id(obj(post.get("bot_profile")), "id")


def us(envelope: Envelope, me: Installed) -> frozenset[str]:
    return frozenset({me.bot_user, envelope.bot_user} - {""})


def signed(post: JsonObject) -> JsonObject:
    """A bot's post with its bot as the user, where Slack names no user for it."""
    if slack_id(post, "user"):
        return post
    return {**post, "user": _bot(post) or "unknown"}


def bot_name(post: JsonObject) -> str:
    """The bot of a pair: its app's bot, by whichever user it posts."""
    return _bot(post) or slack_id(post, "user")


def mentions_us(envelope: Envelope, me: Installed, post: JsonObject) -> bool:
    if text(post, "type") == "app_mention":
        return True
    ours = us(envelope, me)
    rich = [block for block in items(post.get("blocks")) if kind_of(obj(block)) == "rich_text"]
    return any(one in ours for one in (_elements(rich) if rich else _tokens(text(post, "text"))))


def _elements(blocks: list[Json]) -> Iterator[str]:
    """The users that rich text mentions; what is typed inside code is no element."""
    waiting = list(blocks)
    while waiting:
        here = obj(waiting.pop())
        if text(here, "type") == "user":
            yield slack_id(here, "user_id")
        waiting += items(here.get("elements"))


def _tokens(mrkdwn: str) -> Iterator[str]:
    yield from _TOKEN.findall(_CODE.sub(" ", mrkdwn))
