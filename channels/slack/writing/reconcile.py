"""What became of a message whose sending was begun and never confirmed: Slack is asked, nothing is guessed.

A post carries its part's nonce as metadata, so it is found by that. A stream takes none when it begins
("chat.startStream" in Slack's docs): ours is the message of this app in the thread that is or was being streamed
(somebody may have pressed Stop meanwhile), and that no part knows; a lane has one sender at a time, so there can't
be two. A file has its id from before it is shared. Reads ("conversations.replies", "conversations.history", "files.info",
"auth.test"): metadata is told with ``include_all_metadata``, a page's ``next_cursor`` is empty at the end.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

from channels.contract import NotSent, Sent, SentOrNot, Unknown
from channels.slack.calls import NotNow, Ok, Outcome, Refused, SlackApi
from channels.slack.parsing.envelope import items, obj
from channels.slack.writing.acts import Target, target_of
from channels.slack.writing.shown import extra_of
from gateway.engine.kinds import JsonObject
from gateway.engine.ledger import Delivery, Ledger, Part

BEFORE = 600.0
"""Seconds: Slack's clock may be behind ours by so much. Half of it is what a signature's age allows, with which
everything else still works."""
PAGES = 10
PAGE = 200
RETRY = 30.0

Taken = Callable[[str], Awaitable[bool]]
"""Whether a message, by its reference, is that of a part."""


class _NoAnswer(Exception):
    def __init__(self, why: str, after: float | None = None) -> None:
        super().__init__(why)
        self.unknown = Unknown(why, after)


def taken_by(ledger: Ledger, source: str) -> Taken:
    async def taken(ref: str) -> bool:
        return await ledger.shown_at(source, ref) is not None

    return taken


async def nobodys(_: str) -> bool:
    """For what isn't streamed, and is found by a mark of its own."""
    return False


async def find(part: Part, target: JsonObject, api: SlackApi, taken: Taken = nobodys) -> SentOrNot:
    """Whether Slack has the message of a part that is ``opening``. Raises what ``taken`` does."""
    to = target_of(target)
    if to is None:
        return NotSent()
    try:
        if part.kind == "file":
            return await _shared(part, to, api)
        if part.kind == "stream":
            return await _stream(part, to, api, taken)
        return await _post(part, to, api)
    except _NoAnswer as none:
        return none.unknown


async def reconcile(delivery: Delivery, api: SlackApi, ledger: Ledger) -> SentOrNot:
    """What became of the delivery's part that is ``opening``. Raises ``StoreUnavailableError``."""
    for part in delivery.parts:
        if part.state == "opening":
            return await find(part, delivery.target, api, taken_by(ledger, delivery.source))
    return NotSent()


async def _post(part: Part, to: Target, api: SlackApi) -> SentOrNot:
    async for message in _messages(part, to, api):
        payload = obj(obj(message.get("metadata")).get("event_payload"))
        if payload.get("nonce") == part.nonce:
            return Sent(to.ref(str(message.get("ts"))), part.hash)
    return NotSent()


async def _stream(part: Part, to: Target, api: SlackApi, taken: Taken) -> SentOrNot:
    me = _told(await api.call(to.installation, "auth.test", {}))
    async for message in _messages(part, to, api):
        ours = message.get("bot_id") == me.get("bot_id") or message.get("user") == me.get("user_id")
        ref = to.ref(str(message.get("ts")))
        if ours and message.get("streaming_state") and not await taken(ref):
            return Sent(ref)
    return NotSent()


async def _shared(part: Part, to: Target, api: SlackApi) -> SentOrNot:
    upload = extra_of(part).upload
    if not upload:
        return NotSent()
    outcome = await api.call(to.installation, "files.info", {"file": upload})
    if isinstance(outcome, Refused) and outcome.code == "file_not_found":
        return NotSent()
    shares = obj(obj(_told(outcome).get("file")).get("shares"))
    everywhere = (obj(where) for where in shares.values())
    return Sent(to.ref(upload)) if any(to.channel in where for where in everywhere) else NotSent()


async def _messages(part: Part, to: Target, api: SlackApi) -> AsyncIterator[JsonObject]:
    """Those of the place since the send was begun, page by page."""
    args: JsonObject = {
        "channel": to.channel,
        "oldest": f"{max(0.0, part.opened_at / 1000 - BEFORE):.6f}",
        "inclusive": True,
        "include_all_metadata": True,
        "limit": PAGE,
    }
    method = "conversations.history"
    if to.thread:
        method = "conversations.replies"
        args["ts"] = to.thread
    for _ in range(PAGES):
        data = _told(await api.call(to.installation, method, args))
        for message in map(obj, items(data.get("messages"))):
            yield message
        cursor = obj(data.get("response_metadata")).get("next_cursor")
        if not cursor:
            return
        args = {**args, "cursor": cursor}
    raise _NoAnswer("too many messages came since to look through them all")


def _told(outcome: Outcome) -> JsonObject:
    match outcome:
        case Ok(data):
            return data
        case NotNow(after):
            raise _NoAnswer("Slack can't be asked now", after)
        case Refused(code):
            raise _NoAnswer(f"Slack doesn't let the app look ({code})", RETRY)
        case _:
            raise _NoAnswer("Slack gave no answer", RETRY)
