"""The steps of a trial: what each does, where, and what came of it.

Everything stands in one thread under a message that says what it is, and is deleted at the end, also when a
step fails. Sources: the pages of each method in Slack's docs (docs.slack.dev); a stream in a channel names
for whom it is, and its last call may carry metadata.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from gateway.cli.commands.common import SEARCHED
from gateway.cli.desk import Desk
from gateway.cli.doctor.calls import Answer, Caller
from gateway.cli.told import items_of, object_of, objects_of, text_of
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct

HELLO = "A trial by `gateway slack verify`. It is deleted in a moment; there is nothing to do."
EVENT = "gateway_verify"
ECHO_SECONDS = 20.0
GLANCE = 0.25
MEMBERS = 10
"""Members of the channel that are asked for, to find a person among them."""


@struct(frozen=True, slots=True, kw_only=True)
class Came:
    """Of one step. ``outcome``: ``planned``, ``ok``, ``failed`` or ``skipped``."""

    step: str
    does: str
    outcome: str
    said: str = ""

    def as_json(self) -> JsonObject:
        return {"step": self.step, "does": self.does, "outcome": self.outcome, "said": self.said}


class Skipped(Exception):
    """The step can't be taken, for a reason that is no fault."""


class Failed(Exception):
    """The step was taken and isn't as it should be."""


STEPS: Mapping[str, str] = {
    "token": "asks whose SLACK_BOT_TOKEN is (auth.test)",
    "permissions": "compares what was granted with what the agent needs",
    "channel": "asks whether the bot is in {channel} (conversations.info)",
    "post": "posts one message in {channel} (chat.postMessage)",
    "found": "reads its thread to find it by its metadata (conversations.replies)",
    "edit": "rewrites that message (chat.update)",
    "card": "posts a card with a button below it (chat.postMessage)",
    "stream": "streams a short text below it to one person in the channel (chat.startStream,"
    " appendStream, stopStream)",
    "event": "waits until the running host was told of the message by Slack",
    "delete": "deletes all of it again (chat.delete)",
}
READS = ("token", "permissions", "channel")


def plan(channel: str) -> list[Came]:
    """What would be done, in order. Nothing is sent."""
    return [
        Came(step=step, does=does.format(channel=channel), outcome="planned")
        for step, does in STEPS.items()
    ]


@dataclass(slots=True, kw_only=True)
class Trial:
    """``needs`` are the permissions to be found, ``desk`` the running host's, if there is one."""

    slack: Caller
    token: str
    channel: str
    needs: frozenset[str]
    desk: Desk | None
    nonce: str = field(default_factory=lambda: secrets.token_hex(8))
    team: str = ""
    me: str = ""
    granted: frozenset[str] = frozenset()
    root: str = ""
    posted: list[str] = field(default_factory=list[str])

    async def run(self) -> AsyncIterator[Came]:
        """Each step as it is done. What was posted is deleted, whatever happens. Once one of the
        first three fails, or nothing could be posted, the rest is left out."""
        steps: Mapping[str, Callable[[], Awaitable[str]]] = {
            "token": self._token,
            "permissions": self._permissions,
            "channel": self._channel,
            "post": self._post,
            "found": self._found,
            "edit": self._edit,
            "card": self._card,
            "stream": self._stream,
            "event": self._event,
        }
        try:
            for step, take in steps.items():
                came = await self._came(step, take)
                yield came
                if came.outcome == "failed" and step in (*READS, "post"):
                    break
        finally:
            left = await self._delete()
        if self.root:
            outcome = "failed" if left else "ok"
            yield self._told("delete", outcome, f"still there: {', '.join(left)}" if left else "")

    async def _came(self, step: str, take: Callable[[], Awaitable[str]]) -> Came:
        try:
            return self._told(step, "ok", await take())
        except Skipped as why:
            return self._told(step, "skipped", str(why))
        except Failed as why:
            return self._told(step, "failed", str(why))

    def _told(self, step: str, outcome: str, said: str) -> Came:
        does = STEPS[step].format(channel=self.channel)
        return Came(step=step, does=does, outcome=outcome, said=said)

    async def _ask(self, method: str, **args: Json) -> Answer:
        answer = await self.slack.ask(method, self.token, **args)
        if not answer.ok:
            needed = answer.data.get("needed")
            more = f": {needed}" if isinstance(needed, str) else ""
            raise Failed(f"{method} answers {answer.error}{more}")
        return answer

    # -- reading ---------------------------------------------------------------------------------
    async def _token(self) -> str:
        answer = await self._ask("auth.test")
        self.me, self.granted = text_of(answer.data.get("user_id")), answer.scopes
        self.team = text_of(answer.data.get("team_id"))
        return f"{text_of(answer.data.get('user'))} in {text_of(answer.data.get('team'))}"

    async def _permissions(self) -> str:
        if lacking := sorted(self.needs - self.granted):
            raise Failed(f"missing {', '.join(lacking)}: gateway doctor slack --online")
        return f"all {len(self.needs)} granted"

    async def _channel(self) -> str:
        found = object_of(
            (await self._ask("conversations.info", channel=self.channel)).data.get("channel")
        )
        if found.get("is_member") is False and not found.get("is_im"):
            raise Failed("the bot isn't in it: /invite it there")
        return f"#{found.get('name')}" if found.get("name") else "a direct message"

    # -- posting ---------------------------------------------------------------------------------
    async def _say(self, text: str, **args: Json) -> str:
        more: JsonObject = {"thread_ts": self.root} if self.root else {}
        answer = await self._ask(
            "chat.postMessage", channel=self.channel, text=text, unfurl_links=False, **more, **args
        )
        ts = text_of(answer.data.get("ts"))
        self.posted.append(ts)
        return ts

    async def _post(self) -> str:
        marked: JsonObject = {"event_type": EVENT, "event_payload": {"nonce": self.nonce}}
        self.root = await self._say(HELLO, metadata=marked)
        return self.root

    async def _found(self) -> str:
        answer = await self._ask(
            "conversations.replies", channel=self.channel, ts=self.root, include_all_metadata=True
        )
        for message in objects_of(answer.data.get("messages")):
            kept = object_of(object_of(message.get("metadata")).get("event_payload"))
            if kept.get("nonce") == self.nonce:
                return ""
        raise Failed("its metadata doesn't come back, so a lost answer couldn't be made up for")

    async def _edit(self) -> str:
        text = f"{HELLO} (rewritten)"
        await self._ask("chat.update", channel=self.channel, ts=self.root, text=text, parse="none")
        return ""

    async def _card(self) -> str:
        text: JsonObject = {"type": "plain_text", "text": "A card as requests have it."}
        label: JsonObject = {"type": "plain_text", "text": "Does nothing"}
        button: JsonObject = {"type": "button", "action_id": EVENT, "text": label}
        blocks: list[Json] = [
            {"type": "section", "text": text},
            {"type": "actions", "elements": [button]},
        ]
        await self._say("A card as requests have it.", blocks=blocks)
        return ""

    async def _stream(self) -> str:
        person = await self._person()
        answer = await self._ask(
            "chat.startStream",
            channel=self.channel,
            thread_ts=self.root,
            recipient_user_id=person,
            recipient_team_id=self.team,
            chunks=[_chunk("A stream that begins, ")],
        )
        ts = text_of(answer.data.get("ts"))
        self.posted.append(ts)
        at: JsonObject = {"channel": self.channel, "ts": ts}
        await self._ask("chat.appendStream", **at, chunks=[_chunk("goes on, ")])
        await self._ask("chat.stopStream", **at, chunks=[_chunk("and ends.")])
        return ""

    async def _person(self) -> str:
        """Somebody of this workspace who is in the channel; nobody is notified."""
        answer = await self._ask("conversations.members", channel=self.channel, limit=MEMBERS)
        for member in items_of(answer.data.get("members")):
            if member == self.me:
                continue
            user = object_of((await self._ask("users.info", user=member)).data.get("user"))
            if user.get("is_bot") is not True and user.get("team_id") == self.team:
                return text_of(member)
        raise Skipped("no person of this workspace is in the channel to stream to")

    # -- the way back ----------------------------------------------------------------------------
    async def _event(self) -> str:
        """Our own post comes back as an event, which the host judges to be its own."""
        if self.desk is None:
            raise Skipped("no host runs on this state directory: gateway serve")
        end = asyncio.get_running_loop().time() + ECHO_SECONDS
        while asyncio.get_running_loop().time() < end:
            for row in await self.desk.verdicts(source="slack", limit=SEARCHED):
                if text_of(row.get("place")).endswith(f":{self.channel}:{self.root}"):
                    return f"event {text_of(row.get('event'))}"
            await asyncio.sleep(GLANCE)
        raise Failed(f"the host heard nothing of it in {ECHO_SECONDS:.0f} s: gateway doctor slack")

    async def _delete(self) -> list[str]:
        """The youngest first, so that the thread goes with its root. What couldn't be deleted."""
        left: list[str] = []
        for ts in reversed(self.posted):
            answer = await self.slack.ask("chat.delete", self.token, channel=self.channel, ts=ts)
            if not answer.ok and answer.error != "message_not_found":
                left.append(f"{ts} ({answer.error})")
        return left


def _chunk(text: str) -> JsonObject:
    return {"type": "markdown_text", "text": text}
