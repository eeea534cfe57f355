"""The workspace that is played in: who is there, where they talk, and the app that they talk to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from channels.slack.emulator import (
    App,
    Channel,
    Install,
    Person,
    SlackEmulator,
    Workspace,
)
from gateway.testing.slack import settings_for

LEADS = ("lead", "other lead")
"""Two of them, since what is expensive needs two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """Somebody to be. ``about`` says what makes them different."""

    person: Person
    about: str
    kind: str = "person"
    """``person``, ``guest``, or ``stranger``: of another company."""

    @property
    def name(self) -> str:
        return self.person.name


@dataclass(slots=True, kw_only=True)
class Office:
    slack: SlackEmulator
    acme: Workspace
    june: Install
    personas: Mapping[str, Persona]
    home: Channel
    """Where everybody is, and where the page begins."""

    @property
    def app(self) -> App:
        return self.slack.world.apps[self.june.app]

    @property
    def settings(self) -> Mapping[str, str]:
        """What the gateway is told to use this workspace."""
        return settings_for(self.slack, self.june)

    @property
    def leads(self) -> Sequence[str]:
        """Who decides here, as the gateway names them."""
        return [f"slack:{self.june.key}:{self.personas[one].person.id}" for one in LEADS]

    def persona(self, name: str | None) -> Persona:
        """The one of this name, or the one who asks."""
        return self.personas.get(name or "") or self.personas["asker"]

    @property
    def bot(self) -> str:
        """What the app is called here."""
        return self.slack.world.users[self.june.user].name

    def open_to(self, agent: str, url: str) -> None:
        """Say what the app is called and where it lives, as one does in its settings."""
        self.app.name = self.slack.world.users[self.june.user].name = agent
        self.app.commands = {f"/{agent}": ""}
        self.app.request_url = self.app.interactivity_url = url

    def channels(self, persona: Persona) -> Iterator[Channel]:
        """What is in somebody's sidebar: channels in the order they were made, then direct messages."""
        mine = [
            channel
            for channel in self.slack.world.channels.values()
            if persona.person.id in channel.members and not channel.archived
        ]
        yield from sorted(mine, key=lambda channel: channel.direct)

    def add_channel(self, id: str, name: str) -> None:  # noqa: A002 - Slack's word for it
        """A channel that the agent's files name by its id, with everybody of acme and the app in it."""
        known = self.slack.world.channels
        if id in known:
            return
        taken = {channel.name for channel in known.values()}
        free = next(n for n in (name, *(f"{name}-{i}" for i in range(2, 99))) if n not in taken)
        inside = {p.person.id for p in self.personas.values() if p.person.user.team == self.acme.id}
        members = {*inside, self.june.user}
        made_at = self.slack.time.now() // 1000
        known[id] = Channel(id, self.acme.id, free, "channel", made_at, members)
        self.slack.world.messages[id] = {}


def furnish(slack: SlackEmulator) -> Office:
    """A company with its people, somebody of another company, and june in a channel with all of them."""
    acme, globex = slack.workspace("acme"), slack.workspace("globex")
    june = acme.install()
    people = (
        Persona(person=acme.person("asker"), about="works at acme and asks"),
        Persona(person=acme.person("lead"), about="leads support and may approve"),
        Persona(person=acme.person("other lead"), about="may approve, too: large refunds need two"),
        Persona(
            person=globex.person("outsider"),
            about="is of another company, by Slack Connect",
            kind="stranger",
        ),
        Persona(person=acme.person("guest", "multi"), about="is a guest at acme", kind="guest"),
    )
    orders = acme.channel("orders", [june, *(persona.person for persona in people)])
    office = Office(
        slack=slack,
        acme=acme,
        june=june,
        personas={persona.name: persona for persona in people},
        home=orders,
    )
    for persona in people:
        if persona.person.user.team == acme.id:
            acme.direct(persona.person, june)
    return office
