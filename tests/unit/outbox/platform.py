"""A platform that is a list of posts, and a channel that shows turns on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from channels.contract import NotSent, Route, Sent, SentOrNot, Unknown
from channels.protocol import QUEUED, ChannelContext, Journal, TurnStream
from gateway.engine.events import MessageCompleted
from gateway.engine.ledger import Delivery, Part
from gateway.engine.struct import replace
from gateway.engine.tool import Tool
from gateway.outbox.words import closing

SOURCE = "fake"
CALL = 10.0


class Lost(Exception):
    """The platform took it, or not: its answer never came."""


@dataclass
class Post:
    ref: str
    place: str
    text: str
    nonce: str


@dataclass
class Platform:
    """``fault`` is asked when a call is about to be ``meant``, and ``before`` and ``after`` it takes
    effect; what it raises, the caller gets."""

    posts: list[Post] = field(default_factory=list[Post])
    calls: list[str] = field(default_factory=list[str])
    fault: Callable[[str, str], Awaitable[None]] | None = None

    async def post(self, place: str, text: str, nonce: str) -> str:
        await self._call("before", place)
        made = Post(f"m{len(self.posts) + 1}", place, text, nonce)
        self.posts.append(made)
        await self._call("after", place)
        return made.ref

    async def update(self, ref: str, text: str) -> None:
        (found,) = [one for one in self.posts if one.ref == ref]
        await self._call("before", found.place)
        found.text = text
        await self._call("after", found.place)

    async def ask(self, place: str) -> None:
        await self._call("meant", place)

    async def _call(self, when: str, place: str) -> None:
        if when == "before":
            self.calls.append(place)
        if self.fault is not None:
            await self.fault(when, place)

    def at(self, place: str) -> list[str]:
        return [one.text for one in self.posts if one.place == place]


class Recorder:
    """Shows what a turn said as one message, which it rewrites when there is more to say."""

    source = SOURCE
    tools: Sequence[Tool] = ()

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.blind = False
        """Nobody can look up what was posted."""
        self.found: list[tuple[bool, list[tuple[str, str, str | None]]]] = []
        """Per delivery: whether it was recovered, and its parts as kind, state, reference."""
        self.seen: list[tuple[str, int]] = []
        """Deliveries by way (``deliver``, ``resume``, ``reconcile``) and id."""

    def routes(self) -> list[Route]:
        return []

    async def start(self, ctx: ChannelContext) -> None: ...

    async def stop(self) -> None: ...

    async def deliver(self, events: TurnStream, delivery: Delivery, ctx: ChannelContext) -> None:
        self.seen.append(("deliver", delivery.id))
        await self._show(events, delivery, ctx)

    async def deliver_resume(
        self, events: TurnStream, delivery: Delivery, ctx: ChannelContext
    ) -> None:
        self.seen.append(("resume", delivery.id))
        await self._show(events, delivery, ctx)

    async def reconcile(self, delivery: Delivery) -> SentOrNot:
        self.seen.append(("reconcile", delivery.id))
        if self.blind:
            return Unknown("history can't be read", retry_after=1.0)
        (wanted,) = [part.nonce for part in delivery.parts if part.state == "opening"]
        found = [post for post in self.platform.posts if post.nonce == wanted]
        return Sent(found[0].ref) if found else NotSent()

    async def _show(self, events: TurnStream, delivery: Delivery, ctx: ChannelContext) -> None:
        journal, seq, said = ctx.journal(delivery), delivery.seq, list[str]()
        if delivery.part == QUEUED:  # a note has words of its own, and never the turn's
            await journal.settle("done", satisfied=journal.wanted, seq=seq)
            return
        parts = [(part.kind, part.state, part.ref) for part in journal.parts]
        self.found.append((journal.recovered, cast("Any", parts)))
        mine = [part for part in journal.parts if part.state == "open"]
        told = mine[0].start if mine else 0
        async for event in events:
            seq = event.seq or seq
            if isinstance(event, MessageCompleted) and event.text and seq > told:
                said.append(event.text)
        wanted, view = journal.wanted, await ctx.turn(delivery)
        before = [mine[0].extra or ""] if mine else []
        text = "|".join([*before, *said])
        if line := closing(view, bool(text)):
            text = f"{text}|{line}" if text else line
        if text and (not mine or text != mine[0].extra):
            await self._write(journal, delivery, mine, (seq, text), ctx)
        state = "resting" if view.state == "suspended" else "done"
        await journal.settle(cast("Any", state), satisfied=wanted, seq=seq)

    async def _write(
        self,
        journal: Journal,
        delivery: Delivery,
        mine: list[Part],
        shown: tuple[int, str],
        ctx: ChannelContext,
    ) -> None:
        """Of a part, ``start`` is the event that it tells last, and ``extra`` what it says."""
        seq, text = shown
        await self.platform.ask(str(delivery.target["place"]))
        if mine:
            journal.outlasts(CALL)
            await self.platform.update(str(mine[0].ref), text)
            await journal.record(replace(mine[0], start=seq, extra=text))
            return
        n = len(journal.parts) + 1
        part = Part(
            delivery=delivery.id,
            n=n,
            kind="post",
            state="opening",
            nonce=f"{delivery.turn_id}/{delivery.part}/{n}",
            opened_at=ctx.clock.now(),
            start=seq,
            end=len(text),
            extra=text,
        )
        await journal.record(part)
        journal.outlasts(CALL)
        ref = await self.platform.post(str(delivery.target["place"]), text, part.nonce)
        await journal.record(replace(part, state="open", ref=ref, acked=len(text)))
