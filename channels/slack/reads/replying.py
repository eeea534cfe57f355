"""Something said to one person alone: by the address that came with what they did, else as a message that
only they see, in a direct message plainly.

Sources: "Handling user interaction" (a ``response_url`` is good for five answers in half an hour, and says
no to more), "chat.postEphemeral", "Rich text block" in Slack's docs (docs.slack.dev). Slack doesn't keep
such a message, so it can't be looked up either: one that may have been said isn't said again.
"""

from __future__ import annotations

import logging

import aiohttp

from channels.slack.api import Replied, classify, silent, trusted
from channels.slack.calls import CALL_SECONDS, NotNow, Ok, Outcome, Refused, SlackApi
from channels.slack.parsing.envelope import slack_id, stamp, text
from channels.slack.words import mentions, mrkdwn
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.limits import Waits

__all__ = ["say"]

log = logging.getLogger("gateway.slack")


async def say(api: SlackApi, reply: JsonObject, words: str, *, api_url: str, waits: Waits) -> None:
    """At most once, and nobody learns of it if it can't be told. ``words`` are shown as they stand:
    nothing in them is a link or markup, and an identity of this installation is shown as the person."""
    url = text(reply, "response_url")
    if url and trusted(url, api_url):
        outcome = await _answer(url, {**_shown(reply, words), "response_type": "ephemeral"}, waits)
        if not isinstance(outcome, NotNow | Refused):
            return _noted("response_url", outcome)
    # Nothing was said, so another way may be tried.
    channel, user = slack_id(reply, "channel"), slack_id(reply, "user")
    args: JsonObject = {"channel": channel or user, **_shown(reply, words)}
    if not channel or channel.startswith("D"):
        method = "chat.postMessage"
        args.update(parse="none", unfurl_links=False, unfurl_media=False)
    else:
        method = "chat.postEphemeral"
        args["user"] = user
    if not (channel or user) or (method == "chat.postEphemeral" and not user):
        return None
    return _noted(method, await api.call(text(reply, "installation"), method, args))


def _shown(reply: JsonObject, words: str) -> JsonObject:
    """A block, and its text for notifications. Whoever is named in it isn't notified: only one person
    is shown it."""
    home = f"slack:{text(reply, 'installation')}:"
    said, elements = "", list[Json]()
    for piece in mentions.IDENTITY.split(words):
        person = mentions.of_identity(piece) if piece.startswith(home) else None
        said += mrkdwn.literal(piece) if person is None else mentions.token(person)
        if piece:
            named = {"type": "text", "text": piece} if person is None else mentions.element(person)
            elements.append(named)
    section: JsonObject = {"type": "rich_text_section", "elements": elements}
    shown: JsonObject = {
        "text": said,
        "blocks": [{"type": "rich_text", "elements": [section]}],
    }
    if thread := stamp(reply, "thread_ts"):
        shown["thread_ts"] = thread
    return shown


async def _answer(url: str, body: JsonObject, waits: Waits) -> Outcome:
    """Without a token: whoever holds the address may answer."""
    try:
        async with (
            waits.timeout(CALL_SECONDS),
            aiohttp.ClientSession() as session,
            session.post(url, json=body, allow_redirects=False) as answer,
        ):
            status, wait = answer.status, answer.headers.get("Retry-After")
    except (OSError, aiohttp.ClientError, ValueError) as error:
        return classify("response_url", silent(error))
    data: JsonObject | None = {"ok": True} if status == 200 else None
    return classify("response_url", Replied(status, data, wait))


def _noted(way: str, outcome: Outcome) -> None:
    if not isinstance(outcome, Ok):
        log.info("a person wasn't told something by %s: %s", way, outcome.why)
