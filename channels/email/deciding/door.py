"""Letters that ask for a decision, and the page behind their link: looking is free, deciding happens once.

A GET writes nothing. A POST keeps an ``Answer`` like any other channel's, under a key that a link has one of:
of two at once the books take one, and the key and the answer commit together, so that a process that dies in
between has neither used the link up nor decided. What comes of it is the inbox's to find out, by the policy.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from channels.contract import Answer, HookReply, HookRequest, Route
from channels.email.approve import (
    MOST_FORM,
    Form,
    barred,
    choices,
    foreign,
    nonce,
    nonce_holds,
    read_form,
)
from channels.email.deciding import letter, pages
from channels.email.deciding.facts import who_asked
from channels.email.deciding.links import PAGE, Link, Links, hashed
from channels.email.writing.clean import one_line
from channels.email.writing.tokens import Keys
from channels.protocol import Card, ChannelContext, TurnView
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject, Speaker
from gateway.engine.struct import struct

__all__ = ["LINK", "Door"]

log = logging.getLogger("gateway.email")

LINK = "link"
"""In an answer's ``reply``: the hash of the link that it was given by."""
PATH = f"{PAGE.removeprefix('/channels/email')}*"
PATIENCE, LOOK = 3.0, 0.1
"""Seconds that a page waits for what comes of an answer, and between two looks."""
_KEPT = "answer:kept"
_MOST_AGENT = 120

_UNKNOWN = pages.problem(
    404,
    "This link decides nothing",
    "It was never made, it has expired, or its letter was sent back or quoted to us, which ends a link. Whether"
    " the decision still waits shows in the gateway's console.",
)
_STARTING = pages.problem(
    503, "Not yet", "The gateway is starting. Load this page again in a moment."
)
_AWAY = pages.problem(
    503,
    "Not now",
    "The gateway can't look this up at the moment. Nothing was decided. Try again soon.",
)
_FOREIGN = pages.problem(
    403,
    "Nothing was decided",
    "This form wasn't sent by the page behind the link. Open the link itself and answer there.",
)
_BROKEN = pages.problem(400, "Nothing was decided", "The form is broken. Open the link again.")
_STALE = "This page was open for too long, or wasn't the one behind this link. Please choose again."
_CHOOSE = "Please choose an answer."


@struct(frozen=True, slots=True)
class Worded:
    """A letter. ``link`` is the hash of the one in it, or empty."""

    subject: str
    text: str
    link: str


@struct(frozen=True, slots=True, kw_only=True)
class _Seen:
    """A link as it stands. ``rule`` is that of the answer that was given by it, ``bar`` why there can't be
    one; both empty for a link that decides."""

    key: str
    link: Link
    card: Card
    rule: str
    bar: str


class Door:
    """``listed`` are the policies that a link may answer."""

    def __init__(self, keys: Keys, listed: frozenset[str]) -> None:
        self._keys = keys
        self._listed = listed
        self._ctx: ChannelContext | None = None

    def begin(self, ctx: ChannelContext) -> None:
        self._ctx = ctx

    def routes(self) -> list[Route]:
        """None where no link is ever made."""
        if not self._listed:
            return []
        return [
            Route(method="GET", path=PATH, handler=self._guarded(self._look)),
            Route(
                method="POST",
                path=PATH,
                handler=self._guarded(self._decide),
                body_limit=MOST_FORM,
            ),
        ]

    # -- the letter ----------------------------------------------------------------------------------
    async def letter(self, card: Card, view: TurnView, address: str, ctx: ChannelContext) -> Worded:
        """With a new link where there may be one. Raises ``StoreUnavailableError``."""
        who = who_asked(card, view)
        link = key = ""
        if ctx.public_url and not barred(card, ctx.effect(card.tool), self._listed):
            made = Link(
                turn_id=card.turn_id,
                request=card.request,
                digest=card.digest,
                address=address,
                who=who,
            )
            token = await Links(ctx.ledger).make(made, ctx.clock.now(), card.expires_at)
            link, key = f"{ctx.public_url}{PAGE}{token}", hashed(token)
        console = _console(ctx, card.request)
        words = letter.words(card, who, link=link, console=console)
        return Worded(letter.subject(card), words, key)

    async def current(self, key: str, ctx: ChannelContext) -> bool:
        """Whether a letter may go as it was written: it has no link, or one that still leads somewhere."""
        return not key or await Links(ctx.ledger).find(key) is not None

    # -- the answer, once it is acted on -------------------------------------------------------------
    async def stands(self, by: Speaker, reply: JsonObject) -> bool:
        """Whether an answer may still count as given by a link: asked once more when it is acted on."""
        assert self._ctx is not None  # noqa: S101 - nothing is acted on before the channel has started
        key = reply.get(LINK)
        seen = await self._seen(key, self._ctx) if isinstance(key, str) else None
        return isinstance(seen, _Seen) and not seen.bar and seen.link.identity == by.id

    def opens(self, policy: str) -> bool:
        return policy in self._listed

    # -- the page ------------------------------------------------------------------------------------
    def _guarded(
        self, handler: Callable[[HookRequest, ChannelContext], Awaitable[HookReply]]
    ) -> Callable[[HookRequest], Awaitable[HookReply]]:
        async def serve(request: HookRequest) -> HookReply:
            if self._ctx is None:
                return _STARTING
            try:
                return await handler(request, self._ctx)
            except StoreUnavailableError:
                return _AWAY

        return serve

    async def _look(self, request: HookRequest, ctx: ChannelContext) -> HookReply:
        seen = await self._seen(_key(request), ctx)
        return seen if isinstance(seen, HookReply) else self._shown(seen, ctx)

    async def _decide(self, request: HookRequest, ctx: ChannelContext) -> HookReply:
        if foreign(request.headers, ctx.public_url or ""):
            return _FOREIGN
        form = read_form(request.body, request.headers.get("content-type", ""))
        if form is None:
            return _BROKEN
        seen = await self._seen(_key(request), ctx)
        if isinstance(seen, HookReply):
            return seen
        if seen.card.outcome is not None or seen.rule or seen.bar:
            return self._shown(seen, ctx, status=409)
        if not nonce_holds(self._keys, form.nonce, seen.key, seen.link.digest, ctx.clock.now()):
            return self._shown(seen, ctx, status=409, note=_STALE)
        if form.answer is None or form.answer >= len(choices(seen.card.schema)):
            return self._shown(seen, ctx, status=400, note=_CHOOSE)
        first = await self._give(seen, form, form.answer, ctx)
        log.info(
            "email: %s answered %s by a link (%s)",
            seen.link.identity,
            seen.link.request,
            one_line(request.headers.get("user-agent", ""))[:_MOST_AGENT],
        )
        after = await self._after(seen, ctx)
        status = 200 if first else 409
        return after if isinstance(after, HookReply) else self._shown(after, ctx, status=status)

    async def _give(self, seen: _Seen, form: Form, number: int, ctx: ChannelContext) -> bool:
        """Whether it was the one answer of this link."""
        link = seen.link
        verdict = await ctx.receive(
            Answer(
                event_id=_event(seen.key),
                keys=(f"email:{_event(seen.key)}",),
                request=link.request,
                shown="",
                digest=link.digest,
                by=Speaker(link.identity, name=link.address, level="none"),
                value=choices(seen.card.schema)[number][1],
                reason=form.reason,
                reply={LINK: seen.key},
            )
        )
        return verdict.word == "accepted"

    async def _after(self, seen: _Seen, ctx: ChannelContext) -> _Seen | HookReply:
        until = ctx.waits.monotonic() + PATIENCE
        while True:
            found = await self._seen(seen.key, ctx)
            if isinstance(found, HookReply) or found.rule != _KEPT:
                return found
            if ctx.waits.monotonic() >= until:
                return found
            await ctx.waits.sleep(LOOK)

    async def _seen(self, key: str, ctx: ChannelContext) -> _Seen | HookReply:
        """How a link stands, or the page of one that names no request any more."""
        link = await Links(ctx.ledger).find(key) if key else None
        if link is None:
            return _UNKNOWN
        # Before the request is read: what was settled by then shows there.
        given = await ctx.ledger.verdicts(source="email", event=_event(key), limit=1)
        card = await ctx.card(link.request)
        if card is None or (card.digest, card.turn_id) != (link.digest, link.turn_id):
            return pages.replaced(status=410)
        return _Seen(
            key=key,
            link=link,
            card=card,
            rule=given[0].rule if given else "",
            bar=barred(card, ctx.effect(card.tool), self._listed),
        )

    def _shown(
        self, seen: _Seen, ctx: ChannelContext, *, status: int = 200, note: str = ""
    ) -> HookReply:
        card, link = seen.card, seen.link
        console = _console(ctx, card.request)
        if card.outcome is not None:
            return pages.settled(card, link, status=status)
        if seen.rule:
            return pages.came(card, link, seen.rule, console=console, status=status)
        if seen.bar:
            return pages.elsewhere(card, link, seen.bar, console, status=status)
        made = nonce(self._keys, seen.key, link.digest, ctx.clock.now())
        return pages.ask(card, link, made, console=console, note=note, status=status)


def _key(request: HookRequest) -> str:
    return hashed(request.path.rpartition("/")[2])


def _event(key: str) -> str:
    return f"decide-{key[:40]}"


def _console(ctx: ChannelContext, request: str) -> str:
    """The page that asks to sign in."""
    if not ctx.public_url:
        return ""
    return f"{ctx.public_url}/console/approvals/{quote(request, safe='')}"
