"""The Slack channel, put together.

Source: "assistant.threads.setSuggestedPrompts", "app_home_opened" in Slack's docs (docs.slack.dev): in the
agent's own view prompts are set for the conversation, without a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from channels.contract import Control, RetryLater, Route, SentOrNot
from channels.protocol import Card, ChannelContext, Person, TurnStream
from channels.slack.api import SlackWeb
from channels.slack.calls import Ambiguous, NotNow, Refused
from channels.slack.cards import actions, words
from channels.slack.deliver import deliver, reconcile
from channels.slack.ingress import Ingress
from channels.slack.installs.renames import Renames
from channels.slack.installs.tokens import Tokens
from channels.slack.oauth import oauth_routes
from channels.slack.parsing.envelope import slack_id, text
from channels.slack.reads.called import Called
from channels.slack.reads.context import SlackPreparer
from channels.slack.reads.people import People
from channels.slack.reads.place import misspelt, placed
from channels.slack.reads.replying import say
from channels.slack.settings import SlackOptions, SlackSettings
from channels.slack.writing.tempo import BUDGETS
from gateway.engine.kinds import JsonObject, Millis, Speaker
from gateway.engine.ledger import Delivery
from gateway.engine.ports import Prepared, Preparer, Preparing
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import struct
from gateway.engine.tool import Tool
from gateway.outbox.tools import attach_file
from gateway.values import Secret

if TYPE_CHECKING:
    from channels.slack.socket import Socket

__all__ = ["SlackChannel"]

PROMPTS: Final[Sequence[JsonObject]] = (
    {"title": "What can you do?", "message": "What can you help me with?"},
)
"""Offered to who opens a conversation with the agent for the first time."""
PATIENCE = 8.0
"""Seconds that the socket has to close its line."""

log = logging.getLogger("gateway.slack")


@struct(frozen=True, slots=True, kw_only=True)
class _Running:
    """What there is once the channel has started."""

    ctx: ChannelContext
    api: SlackWeb
    people: People
    preparer: SlackPreparer
    called: Called
    renames: Renames


class SlackChannel:
    """``Conversing``, and the ``Preparer`` of its turns. Whoever comes before ``start`` waits for it.

    ``ingress.refused`` counts who wasn't let in; ``problem`` says what keeps it from working.
    """

    source = "slack"
    budgets = BUDGETS

    def __init__(self, settings: SlackSettings, options: SlackOptions) -> None:
        self.tools: Sequence[Tool] = (attach_file,)
        self.socket: Socket | None = None
        self._settings = settings
        self._options = options
        self._tokens = Tokens(settings)
        self._tasks = Tasks()
        self._begun = asyncio.Event()
        self._running: _Running | None = None
        self.ingress = Ingress(
            [Secret(settings.signing_secret or "")],
            options.rules,
            self._tokens,
            lambda: self._tokens.only,
        )

    # -- life ----------------------------------------------------------------------------------------
    def routes(self) -> list[Route]:
        return [*self.ingress.routes(), *oauth_routes(self._settings, self._tokens)]

    async def start(self, ctx: ChannelContext) -> None:
        """Slack may be away: what it doesn't answer in time is asked in the background, and what it
        sends is kept meanwhile, from the first moment on."""
        running = self._running or self._made(ctx)
        self.ingress.begin(ctx, running.renames)
        async with asyncio.TaskGroup() as group:
            group.create_task(running.api.open())
            if not self._tokens.started:
                group.create_task(self._tokens.start(ctx))
        self._running = running
        self._begun.set()
        if self._settings.app_token is not None and self.socket is None:
            kind = await asyncio.to_thread(_socket)
            take = self.ingress.take_frame
            self.socket = kind(self._settings.app_token, running.api, take, ctx)
            self._tasks.run(self.socket.run(), "slack-socket")

    def _made(self, ctx: ChannelContext) -> _Running:
        renames = Renames(ctx)
        api = SlackWeb(self._tokens, self._settings.api_url, waits=ctx.waits)
        api.renames = renames
        people = People(api, self._tokens, ctx.waits)
        preparer = SlackPreparer(api, people, self._tokens)
        called = Called(api, people, self._tokens, ctx.waits, self._tasks)
        return _Running(
            ctx=ctx, api=api, people=people, preparer=preparer, called=called, renames=renames
        )

    async def stop(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tasks.close(PATIENCE))
            group.create_task(self._tokens.stop())
            if self._running is not None:
                group.create_task(self._running.api.close())

    async def _soon(self, ctx: ChannelContext) -> _Running:
        """For a delivery: another host may be up to it. Raises ``RetryLater``."""
        try:
            async with ctx.waits.timeout(PATIENCE):
                return await self._started()
        except TimeoutError:
            at = Millis(ctx.clock.now() + round(PATIENCE * 1000))
            raise RetryLater(at, "the channel hasn't started here") from None

    async def _started(self) -> _Running:
        await self._begun.wait()
        assert self._running is not None  # noqa: S101 - that is what has begun
        return self._running

    @property
    def options(self) -> SlackOptions:
        return self._options

    @property
    def problem(self) -> str | None:
        if self._tokens.problem:
            return self._tokens.problem
        socket = self.socket
        if socket is not None and socket.state != "standby" and socket.why:
            return socket.why
        return self.ingress.problem

    def check_address(self, address: str) -> tuple[str, str] | None:
        """What is wrong with a place that an author names, and what to write instead."""
        return misspelt(address)

    def called(self, word: str) -> str | None:
        """What an id of Slack is called, if that is known by now. For people's eyes only."""
        return None if self._running is None else self._running.called.of(word)

    # -- the way out -----------------------------------------------------------------------------------
    async def deliver(self, events: TurnStream, delivery: Delivery, ctx: ChannelContext) -> None:
        running = await self._soon(ctx)
        delivery = await placed(delivery, ctx, self._tokens.only)
        delivery = running.renames.addressed(delivery)
        await deliver(events, delivery, ctx, running.api, self._options)

    async def deliver_resume(
        self, events: TurnStream, delivery: Delivery, ctx: ChannelContext
    ) -> None:
        await self.deliver(events, delivery, ctx)

    async def reconcile(self, delivery: Delivery) -> SentOrNot:
        running = await self._started()
        delivery = await placed(delivery, running.ctx, self._tokens.only)
        delivery = running.renames.addressed(delivery)
        return await reconcile(delivery, running.api, running.ctx.ledger)

    # -- before a turn ---------------------------------------------------------------------------------
    def preparer(self) -> Preparer:
        return self

    async def prepare(self, asked: Preparing) -> Prepared:
        return await (await self._started()).preparer.prepare(asked)

    # -- with one person -------------------------------------------------------------------------------
    async def say(self, reply: JsonObject, words: str) -> None:
        running = await self._started()
        url = self._settings.api_url
        await say(running.api, reply, words, api_url=url, waits=running.ctx.waits)

    async def person(self, by: Speaker, reply: JsonObject) -> Person | None:
        return await (await self._started()).people.person(by, reply)

    def opens(self, policy: str) -> bool:
        return policy in self._options.outsiders_decide

    def deciders(self, answerers: JsonObject) -> str:
        return words.deciders(answerers, self._options)

    async def act(self, control: Control, card: Card | None) -> None:
        running = await self._started()
        installation = text(control.reply, "installation")
        match control.kind:
            case "home":
                await self._greet(running, installation, slack_id(control.reply, "channel"))
            case "uninstalled" | "revoked":
                await self._tokens.gone(installation, control.kind)
            case _:
                url = self._settings.api_url
                await actions.act(control, card, running.api, api_url=url, waits=running.ctx.waits)

    async def _greet(self, running: _Running, installation: str, channel: str) -> None:
        """Doing it twice shows the same."""
        args: JsonObject = {"channel_id": channel, "prompts": [*PROMPTS]}
        method = "assistant.threads.setSuggestedPrompts"
        outcome = await running.api.call(installation, method, args)
        if isinstance(outcome, NotNow):
            later = running.ctx.clock.now() + round(outcome.after * 1000)
            raise RetryLater(Millis(later), outcome.why)
        if isinstance(outcome, Refused | Ambiguous):
            log.info("slack: prompts weren't offered: %s", outcome.why)


def _socket() -> type[Socket]:
    from channels.slack.socket import Socket

    return Socket
