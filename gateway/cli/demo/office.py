"""The workspace that the demo plays in: Slack on this machine, and the people who talk there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.cli.demo.theatre import PATIENCE
from gateway.cli.problem import Problem
from gateway.testing.slack import (
    Channel,
    Install,
    Message,
    Person,
    Shown,
    SlackEmulator,
    furnish,
    settings_for,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    slack: SlackEmulator
    june: Install
    orders: Channel
    ops: Channel
    asker: Person
    colleague: Person
    lead: Person
    second: Person
    """Another lead."""
    outsider: Person

    @property
    def leads(self) -> tuple[str, str]:
        first, second = self.lead.id, self.second.id
        return (f"slack:{self.june.key}:{first}", f"slack:{self.june.key}:{second}")

    @property
    def settings(self) -> Mapping[str, str]:
        return settings_for(self.slack, self.june)

    async def open_to(self, url: str) -> None:
        """Tell Slack where the app lives, as one does in its settings."""
        app = self.slack.app()
        if not app.request_url:
            await self.slack.connect(app, f"{url}/channels/slack")

    def session(self, root: Message) -> str:
        return f"slack:{self.june.key}:{self.orders.id}:{root.root}"

    # -- what is on the screen ---------------------------------------------------------------------
    def by_june(self, root: Message) -> list[Shown]:
        return [shown for shown in self.slack.thread(self.orders, root) if shown.author == "june"]

    def saying(self, root: Message, words: str) -> list[Shown]:
        return [shown for shown in self.by_june(root) if words in shown.text]

    def status(self, root: Message) -> str:
        return self.status_in(self.orders, root.root)

    def status_in(self, channel: Channel, thread: str) -> str:
        key = (self.slack.app().id, channel.id, thread)
        found = self.slack.world.sessions.get(key)
        return "" if found is None else found.status

    def at_rest(self, root: Message) -> bool:
        return self.status(root) == "active" and not any(
            shown.streaming == "in_progress" for shown in self.by_june(root)
        )

    def in_ops(self) -> list[Shown]:
        return [shown for shown in self.slack.shown(self.ops) if shown.author == "june"]

    def card(self, root: Message) -> Shown | None:
        return next((shown for shown in self.by_june(root) if shown.buttons), None)

    async def until(self, what: str, holds: Callable[[], bool]) -> None:
        try:
            await self.slack.until(holds, PATIENCE)
        except TimeoutError as error:
            raise Problem(
                "demo", f"{what} didn't happen in {PATIENCE:.0f} s", fix="gateway demo --keep"
            ) from error


@asynccontextmanager
async def open_office() -> AsyncGenerator[Office]:
    async with SlackEmulator() as slack:
        place = furnish(slack)
        acme, people = place.acme, ("asker", "colleague", "lead", "second lead", "outsider")
        asker, colleague, lead, second, outsider = map(acme.person, people)
        yield Office(
            slack=slack,
            june=place.june,
            ops=acme.channel("ops", [place.june, asker, colleague, lead, second]),
            orders=acme.channel("orders", [place.june, asker, colleague, lead, second, outsider]),
            asker=asker,
            colleague=colleague,
            lead=lead,
            second=second,
            outsider=outsider,
        )
