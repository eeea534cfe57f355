"""acme as our reads see it: what is said comes in as Slack's own events, and is read for by our client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from channels.contract import Inbound
from channels.slack.api import SlackWeb
from channels.slack.installs.tokens import Tokens
from channels.slack.parse import Envelope, parse, read
from channels.slack.policy import rules
from channels.slack.reads.context import SlackPreparer
from channels.slack.reads.people import People
from channels.slack.verify import Verified
from gateway.engine.kinds import SessionRef
from gateway.engine.messages import Text
from gateway.engine.ports import Prepared, Preparing
from gateway.testing.slack import Channel, Message, Person, Playground
from tests.unit.emulator.stage import Listener, listening
from tests.unit.slack.installs.grounds import Ground, Stand, standing


@dataclass
class Desk:
    stand: Stand
    tokens: Tokens
    api: SlackWeb
    people: People
    preparer: SlackPreparer
    heard: Listener

    @property
    def play(self) -> Playground:
        return self.stand.play

    @property
    def ground(self) -> Ground:
        return self.stand.ground

    def stranger(self, name: str = "eve") -> Person:
        return self.play.slack.workspace("globex").person(name)

    async def inbound(self, message: Message) -> Inbound:
        """The message as it was told to us."""

        def told() -> list[Envelope]:
            found = [read(Verified(one.raw), "application/json") for one in self.heard.heard]
            events = [one for one in found if isinstance(one, Envelope)]
            return [one for one in events if _ts(one) == message.ts]

        await self.play.slack.until(lambda: bool(told()))
        envelope = told()[0]
        me = await self.tokens.installed(envelope.installation)
        open_to = rules(external=[message.channel], bots=[])
        parsed = parse(envelope, me, open_to)
        assert isinstance(parsed, Inbound), parsed
        return parsed

    async def asked(self, message: Message, *, first: bool = True) -> Preparing:
        found = await self.inbound(message)
        assert found.fetch is not None, "there is nothing to read"
        return Preparing(
            ref=SessionRef("june", found.place.session),
            turn_id=found.turn_id,
            event=found.event,
            fetch=found.fetch,
            first=first,
        )

    async def prepared(self, message: Message, *, first: bool = True) -> Prepared:
        return await self.preparer.prepare(await self.asked(message, first=first))

    async def words(self, message: Message, *, first: bool = True) -> str:
        found = await self.prepared(message, first=first)
        return "".join(block.text for block in found.before if isinstance(block, Text))

    async def bot_says(self, channel: Channel, text: str, thread: Message | None = None) -> Message:
        bot = self.play.acme.bot("deploys")
        self.play.acme.invite(channel, [bot])
        return await bot.say(channel, text, thread=thread)


def _ts(envelope: Envelope) -> object:
    event = envelope.payload.get("event")
    return event.get("ts") if isinstance(event, dict) else None


@asynccontextmanager
async def desk(speed: float = 1.0) -> AsyncIterator[Desk]:
    async with standing(speed=speed) as stand, listening() as heard:
        slack = stand.play.slack
        await slack.connect(slack.app(), heard.url)
        tokens = await stand.host(stand.settings(single=True))
        api = SlackWeb(tokens, slack.api_url, waits=stand.ground.waits)
        await api.open()
        people = People(api, tokens, stand.ground.waits)
        try:
            yield Desk(stand, tokens, api, people, SlackPreparer(api, people, tokens), heard)
        finally:
            await api.close()


__all__ = ["Desk", "desk"]
