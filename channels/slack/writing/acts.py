"""One step of a writer: a call to Slack with what becomes of a part by it, a pause, or rest.

Methods and arguments ("chat.startStream", "chat.appendStream", "chat.stopStream", "chat.postMessage",
"chat.update", "chat.delete" and "Message metadata" in Slack's docs): a stream in a channel says for whom it
is written; only a message that was posted or a stream that ends takes metadata; ``chat.update`` reads
names as mentions unless ``parse`` is ``none``. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from channels.slack.parsing import keys
from channels.slack.words.doc import File
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Part, PartState
from gateway.engine.struct import struct

START = "chat.startStream"
APPEND = "chat.appendStream"
STOP = "chat.stopStream"
POST = "chat.postMessage"
UPDATE = "chat.update"
DELETE = "chat.delete"
UPLOAD = "files.getUploadURLExternal"
SHARE = "files.completeUploadExternal"
STATUS = "agents.sessions.setStatus"
OLD_STATUS = "assistant.threads.setStatus"

TODAY = "channel_today"
"""In a target: what its channel is called by now, where it got another id."""
EVENT = "june_part"
"""The type of the metadata on every message of ours."""

Kind = Literal["start", "append", "stop", "end", "post", "update", "delete", "status"]
Status = Literal["processing", "suspended", "active"]


@struct(frozen=True, slots=True, kw_only=True)
class Act:
    """One call. ``part`` is what it makes of a part if it succeeds, ``before`` what the part is now. A
    part that is about to come into being has no ``before``: ``part`` is its ``opening``, which ``settles``
    as this."""

    kind: Kind
    method: str
    args: JsonObject
    part: Part | None = None
    before: Part | None = None
    settles: PartState = "final"
    status: Status | None = None
    """What the thread's session shows if it succeeds."""


@struct(frozen=True, slots=True)
class Look:
    """See what became of a send whose answer was lost."""

    part: Part


@struct(frozen=True, slots=True)
class Send:
    """Put a file into the thread, as this part."""

    part: Part
    file: File


@struct(frozen=True, slots=True)
class Wait:
    """Nothing to do before this moment, or before there is more to tell."""

    until: Millis | None = None


@struct(frozen=True, slots=True)
class Rest:
    """All is shown."""


Step = Act | Look | Send | Wait | Rest


@struct(frozen=True, slots=True, kw_only=True)
class Target:
    """``keys.target`` read back. Without ``thread`` it is the channel itself."""

    installation: str
    channel: str
    thread: str = ""
    user: str = ""
    user_team: str = ""
    title: str = ""

    def ref(self, ts: str) -> str:
        return keys.post(self.installation, self.channel, ts)


def target_of(target: JsonObject) -> Target | None:
    """``None`` where it doesn't even say which channel."""
    found = {name: value for name, value in target.items() if isinstance(value, str)}
    installation, channel = found.get("installation", ""), found.get("channel", "")
    channel = found.get(TODAY, "") or channel
    if not installation or not channel:
        return None
    return Target(
        installation=installation,
        channel=channel,
        thread=found.get("thread_ts", ""),
        user=found.get("user", ""),
        user_team=found.get("user_team", "") or found.get("team", ""),
        title=found.get("title", ""),
    )


def stamp(part: Part) -> str:
    """The timestamp in a part's reference."""
    return (part.ref or "").rpartition(":")[2]


def metadata(delivery: Delivery, part: Part) -> JsonObject:
    payload: JsonObject = {"nonce": part.nonce, "part": delivery.part, "n": part.n}
    return {"event_type": EVENT, "event_payload": payload}


def start(to: Target, chunks: Sequence[JsonObject]) -> JsonObject:
    args: JsonObject = {"channel": to.channel, "thread_ts": to.thread, "chunks": [*chunks]}
    if to.user and to.user_team:
        args.update(recipient_user_id=to.user, recipient_team_id=to.user_team)
    return {**args, "task_display_mode": "timeline"}


def append(to: Target, part: Part, chunks: Sequence[JsonObject]) -> JsonObject:
    return {"channel": to.channel, "ts": stamp(part), "chunks": [*chunks]}


def stop(
    to: Target,
    part: Part,
    chunks: Sequence[JsonObject],
    status: Status,
    meta: JsonObject | None = None,
) -> JsonObject:
    args: JsonObject = {"channel": to.channel, "ts": stamp(part), "session_status": status}
    if chunks:
        args["chunks"] = [*chunks]
    return args if meta is None else {**args, "metadata": meta}


def post(to: Target, blocks: Sequence[JsonObject], text: str, meta: JsonObject) -> JsonObject:
    args: JsonObject = {
        "channel": to.channel,
        "text": text,
        "parse": "none",
        "unfurl_links": False,
        "unfurl_media": False,
        "metadata": meta,
    }
    if to.thread:
        args["thread_ts"] = to.thread
    return {**args, "blocks": [*blocks]} if blocks else args


def update(
    to: Target, part: Part, blocks: Sequence[JsonObject], text: str, meta: JsonObject
) -> JsonObject:
    args: JsonObject = {"channel": to.channel, "ts": stamp(part), "text": text, "parse": "none"}
    return {**args, "blocks": [*blocks], "metadata": meta}


def delete(to: Target, part: Part) -> JsonObject:
    return {"channel": to.channel, "ts": stamp(part)}
