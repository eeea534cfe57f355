"""A Slack workspace beside an agent under test: what people write and press, and what they see."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from typing_extensions import override

from channels.slack.emulator.wire import objects
from gateway.engine.kinds import Json
from gateway.testing.beside import Beside
from gateway.testing.slack import Message, Person, Playground, Shown


class SlackUnderTest(Beside):
    """The fixture ``slack``: acme's channel ``#support``, where ada and the app june are. Others join it
    when they are first named. ``play`` is everything that stands behind it."""

    def __init__(self, play: Playground, loop: asyncio.Runner) -> None:
        super().__init__(loop)
        self.play = play

    @property
    @override
    def settings(self) -> Mapping[str, str]:
        return self.play.settings

    def person(self, name: str) -> Person:
        person = self.play.acme.person(name)
        self.play.acme.invite(self.play.support, [person])
        return person

    def identity(self, name: str) -> str:
        """As tools, hooks and logs know this person: ``slack:<workspace>:<user>``."""
        return f"slack:{self.play.june.key}:{self.person(name).id}"

    def mention(self, text: str, *, by: str = "ada") -> Thread:
        """Write ``@june …`` into #support."""
        self.connected()
        said = self.run(self.person(by).say(self.play.support, f"@june {text}"))
        return Thread(self, said)

    def fill(self, values: Mapping[str, Json] | None = None, *, by: str) -> None:
        """Fill in the modal that opens for this person, by its labels, and send it."""
        person, app = self.person(by), self.play.slack.app()
        self.until(lambda: person.modal(app), f"a modal for {by}")
        self.run(person.submit(app, values))

    def told(self, name: str) -> list[str]:
        """What only this person sees."""
        return [shown.text for shown in self.play.slack.private(self.person(name))]

    def connected(self) -> None:
        """Wait until the agent is on the line, where there is one: what comes before that would be sent
        again a minute later."""
        if self.agent is not None:
            app = self.play.slack.app().id
            self.until(lambda: self.play.slack.outlet.sockets.of(app) or None, "its connection")

    @override
    async def _wait(self, holds: Callable[[], bool], seconds: float) -> None:
        await self.play.slack.until(holds, seconds)


class Thread:
    """A thread in #support, as its people see it."""

    def __init__(self, slack: SlackUnderTest, root: Message) -> None:
        self._slack = slack
        self.root = root

    @property
    def shown(self) -> list[Shown]:
        return self._slack.play.slack.thread(self.root.channel, self.root)

    @property
    def texts(self) -> list[str]:
        return [shown.text for shown in self.shown]

    def reply(self, text: str, *, by: str = "ada") -> None:
        person = self._slack.person(by)
        self._slack.connected()
        self._slack.run(person.say(self._slack.play.support, text, thread=self.root))

    def until(self, words: str) -> Shown:
        """Wait until the app has said this, and has said all of it."""

        def look() -> Shown | None:
            for shown in self.shown:
                said = shown.author == self._slack.play.slack.app().name and words in shown.text
                if said and shown.streaming != "in_progress":
                    return shown
            return None

        return self._until(look, f"a message with {words!r}")

    def click(self, label: str, choice: str | None = None, *, by: str = "ada") -> None:
        """Press a button, as soon as there is one of this name. A menu goes by its action id, and
        ``choice`` is what is chosen of it."""

        def look() -> Shown | None:
            return next((shown for shown in self.shown if _offers(shown, label)), None)

        card = self._until(look, f"a button {label!r}")
        self._slack.connected()
        self._slack.run(self._slack.person(by).click(card, label, choice))

    def _until(self, look: Callable[[], Shown | None], what: str) -> Shown:
        try:
            return self._slack.until(look, what)
        except AssertionError as error:
            seen = "\n  ".join(self.texts)
            raise AssertionError(f"{error}. the thread:\n  {seen}") from None


def _offers(shown: Shown, label: str) -> bool:
    if label in {button.label for button in shown.buttons}:
        return True
    controls = (part for block in shown.blocks for part in objects(block.get("elements")))
    return any(control.get("action_id") == label for control in controls)
