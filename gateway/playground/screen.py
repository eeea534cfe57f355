"""What somebody sees of the workspace, as records that the templates draw. Reads the emulator's world and
changes nothing in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from channels.slack.emulator import Channel, Message
from channels.slack.emulator.blocks.render import shown_blocks, shown_text
from channels.slack.emulator.world import streaming
from gateway.engine.kinds import Json, JsonObject
from gateway.playground.office import Office, Persona

LONGEST = 60
"""Messages of a channel or thread that are shown, the latest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where somebody is: who they are, in which channel, in which thread if in one."""

    office: Office
    persona: Persona
    channel: Channel
    root: str | None = None

    @property
    def query(self) -> dict[str, str]:
        found = {"as": self.persona.name, "in": self.channel.id}
        return {**found, "thread": self.root} if self.root else found

    @property
    def outside(self) -> Place:
        """The channel around a thread."""
        return Place(office=self.office, persona=self.persona, channel=self.channel)

    def title(self, channel: Channel | None = None) -> str:
        """``#orders``, or who the direct message is with."""
        where = channel or self.channel
        if not where.direct:
            return f"#{where.name}"
        users = self.office.slack.world.users
        return ", ".join(users[m].name for m in sorted(where.members - {self.persona.person.id}))


class Loose(dict[str, object]):
    """One of Slack's objects as a template reads it: what isn't there is nothing."""

    def __missing__(self, _: str) -> None:
        return None


def loose(value: Json) -> object:
    match value:
        case dict():
            return Loose({name: loose(inside) for name, inside in value.items()})
        case list():
            return [loose(inside) for inside in value]
        case _:
            return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Modal:
    """A form that is open, with what is wrong in it by the ids of its blocks."""

    id: str
    view: object
    errors: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One message as it stands on the screen."""

    id: str
    ts: str
    author: str
    kind: str
    """``app``, ``person``, ``guest`` or ``stranger``, of another company."""
    company: str
    at: str
    clock: str
    blocks: Sequence[object]
    text: str
    files: Sequence[str] = ()
    edited: bool = False
    streaming: bool = False
    broken: bool = False
    gone: bool = False
    private: bool = False
    """Only this persona sees it."""
    replies: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    place: Place
    channel: Sequence[Line]
    thread: Sequence[Line] = ()
    working: str = ""
    """The session's status where it is one that people see."""
    status: str = ""
    """The line below the thread: ``is looking at orders…``."""
    stoppable: bool = False
    modal: Modal | None = None


def look(place: Place) -> Screen:
    """The screen as it is now."""
    world, office = place.office.slack.world, place.office
    streaming.expire(world)
    here = sorted(world.messages[place.channel.id].values(), key=lambda message: message.ts)
    tops = [m for m in here if m.root == m.ts or m.subtype == "thread_broadcast"]
    mine = [
        message
        for message in world.ephemerals
        if message.only_for == place.persona.person.id and message.channel == place.channel.id
    ]
    loose = [message for message in mine if message.thread is None]
    screen = Screen(
        place=place,
        channel=_lines(place, [*tops, *loose]),
        modal=_modal(place),
    )
    if place.root is None:
        return screen
    thread = [m for m in here if m.root == place.root]
    notes = [message for message in mine if message.thread == place.root]
    session = world.sessions.get((office.app.id, place.channel.id, place.root))
    state = session.status if session is not None else ""
    return Screen(
        place=place,
        channel=screen.channel,
        thread=_lines(place, [*thread, *notes], counted=False),
        working=state if state in {"processing", "suspended"} else "",
        status=office.slack.status(place.channel, place.root),
        stoppable=state == "processing" and "agent_session_stopped" in office.app.events,
        modal=screen.modal,
    )


def _modal(place: Place) -> Modal | None:
    view = place.persona.person.modal(place.office.app)
    return None if view is None else Modal(id=view.id, view=loose(view.view), errors=view.errors)


def names(office: Office, id: str) -> str | None:  # noqa: A002 - Slack's word for it
    """The name behind a user's or a channel's id."""
    world = office.slack.world
    if (user := world.users.get(id)) is not None:
        return user.name
    channel = world.channels.get(id)
    return None if channel is None else channel.name


def _lines(place: Place, messages: Iterable[Message], *, counted: bool = True) -> list[Line]:
    found = sorted(messages, key=lambda message: message.ts)[-LONGEST:]
    return [_line(place, message, counted) for message in found]


def _line(place: Place, message: Message, counted: bool) -> Line:
    world = place.office.slack.world
    user = world.users.get(message.user)
    stream = message.stream
    at = datetime.fromtimestamp(float(message.ts), UTC)
    replies = len(world.in_thread(message.channel, message.ts)) - 1 if counted else 0
    return Line(
        id=f"m{message.ts.replace('.', '-')}{'' if counted else 't'}",
        ts=message.ts,
        author=message.username or (user.name if user is not None else "slackbot"),
        kind=_kind(place, message),
        company=world.teams[user.team].name if user is not None else "",
        at=at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        clock=at.strftime("%H:%M"),
        blocks=[loose(block) for block in _visible(shown_blocks(message), place.persona.person.id)],
        text=shown_text(message),
        files=[world.files[name].name for name in message.files],
        edited=message.edited is not None,
        streaming=stream is not None and stream.state == "in_progress" and not message.rewritten,
        broken=stream is not None and stream.expired and not message.rewritten,
        gone=message.subtype == "tombstone",
        private=message.only_for is not None,
        replies=max(replies, 0),
    )


def _kind(place: Place, message: Message) -> str:
    user = place.office.slack.world.users.get(message.user)
    if user is None or user.bot is not None:
        return "app"
    if user.team != place.channel.team:
        return "stranger"
    return "guest" if user.restricted else "person"


def _visible(blocks: Iterable[JsonObject], person: str) -> Iterator[JsonObject]:
    """Without the controls that are for others only."""
    for block in blocks:
        elements = block.get("elements")
        if block.get("type") != "actions" or not isinstance(elements, list):
            yield block
            continue
        kept = [one for one in elements if isinstance(one, dict) and _for(one, person)]
        if kept:
            yield {**block, "elements": [*kept]}


def _for(control: JsonObject, person: str) -> bool:
    only = control.get("visible_to_user_ids")
    return not isinstance(only, list) or not only or person in only
