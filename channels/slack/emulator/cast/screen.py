"""A person's screen: buttons that are there, modals that are open, and what pressing them sends.

Only what the platform's own client would let this person do: a button that isn't there can't be
pressed, and ``Impossible`` says what is. What an attacker could forge goes through ``forged``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from channels.slack.emulator.blocks.render import shown_blocks
from channels.slack.emulator.events import interactivity as make
from channels.slack.emulator.events.http import Reply
from channels.slack.emulator.events.outlet import Outlet
from channels.slack.emulator.methods.views import checked, fill, put, stack
from channels.slack.emulator.wire import Refused, a_list, a_text, an_object, objects
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.state import App, Message, Trigger, User, View
from gateway.engine.kinds import Json, JsonObject


class Impossible(Exception):
    """The platform's client doesn't offer this to this person."""


class Pointed(Protocol):
    """A message, or what is shown of one."""

    @property
    def channel(self) -> str: ...

    @property
    def ts(self) -> str: ...


@dataclass(slots=True)
class Stage:
    world: World
    outlet: Outlet


class Screen:
    """What one user can press and fill in."""

    def __init__(self, stage: Callable[[], Stage], user: User) -> None:
        self._stage = stage
        self.user = user

    @property
    def id(self) -> str:
        return self.user.id

    @property
    def name(self) -> str:
        return self.user.name

    @property
    def world(self) -> World:
        return self._stage().world

    @property
    def outlet(self) -> Outlet:
        return self._stage().outlet

    def _message(self, pointed: Pointed) -> Message:
        for message in self.world.ephemerals:
            if (message.ts, message.only_for) == (pointed.ts, self.id):
                return message
        try:
            return self.world.message(pointed.channel, pointed.ts)
        except Refused:
            raise Impossible(f"the message {pointed.ts} isn't there any more") from None

    # -- pressing ----------------------------------------------------------------------------------
    async def click(self, message: Pointed, label: str, value: Json = None) -> Reply:
        """Press a button by its label or action id; for a select, ``value`` is what is chosen, by its
        value or its label."""
        found = self._message(message)
        control, block = self._control(shown_blocks(found), label)
        value = _picked(control, value)
        return await self._clicked(found, [make.action(self.world, control, block, value)])

    async def forged(self, message: Pointed, actions: list[JsonObject]) -> Reply:
        """A click with any content, as if the client could be made to send it."""
        made = [{"action_ts": self.world.new_ts(), **action} for action in actions]
        return await self._clicked(self._message(message), made)

    async def _clicked(self, message: Message, actions: list[JsonObject]) -> Reply:
        app, payload = self._payload("block_actions", message.app, message.channel)
        make.on_message(self.world, payload, message)
        channel = self.world.channels[message.channel]
        payload["response_url"] = make.response_url(self.world, app, self.user, channel, message)
        payload["actions"] = [*actions]
        payload["state"] = {"values": {}}
        return await self.outlet.interact(app, payload)

    def _control(self, blocks: list[JsonObject], label: str) -> tuple[JsonObject, str]:
        offered: list[str] = []
        for block in blocks:
            parts = [*objects(block.get("elements")), an_object(block.get("accessory"))]
            for control in parts:
                text = a_text(an_object(control.get("text")).get("text"))
                offered.append(text or a_text(control.get("action_id")))
                if label in {text, a_text(control.get("action_id"))} and self._sees(control):
                    return control, a_text(block.get("block_id"))
        there = ", ".join(name for name in offered if name) or "nothing"
        raise Impossible(f"{self.name} sees no {label!r} to press; there is {there}")

    def _sees(self, control: JsonObject) -> bool:
        only = a_list(control.get("visible_to_user_ids"))
        return not only or self.id in only

    def _payload(self, kind: str, app: str | None, channel: str) -> tuple[App, JsonObject]:
        world = self.world
        team = world.channels[channel].team
        install = world.install_in(app or "", team) if app else None
        if app is None or install is None:
            raise Impossible("the app that this belongs to isn't installed here any more")
        found = world.apps[app]
        payload = make.base(world, found, install, self.user, team)
        payload["type"] = kind
        payload["trigger_id"] = make.trigger(world, found, self.user, team)
        return found, payload

    # -- modals ------------------------------------------------------------------------------------
    def modal(self, app: App) -> View | None:
        """The modal on top of this person's screen."""
        views = stack(self.world, app.id, self.id)
        return views[-1] if views else None

    def _top(self, app: App) -> View:
        view = self.modal(app)
        if view is None:
            raise Impossible(f"{self.name} has no modal open")
        return view

    async def submit(self, app: App, values: Mapping[str, Json] | None = None) -> Reply:
        """Fill the modal in, by label, block id or action id, and send it."""
        view = self._top(app)
        state = self._state(view, values or {})
        payload = self._of_view("view_submission", app, view, state)
        reply = await self.outlet.interact(app, payload)
        if not reply.good:
            self.world.journal.trouble.append(f"{app.name}: a view_submission failed")
            return reply
        self._after(app, view, reply.text)
        return reply

    def _state(self, view: View, values: Mapping[str, Json]) -> JsonObject:
        state: JsonObject = {}
        left = dict(values)
        for block in objects(view.view.get("blocks")):
            control = an_object(block.get("element"))
            if block.get("type") != "input" or not control:
                continue
            label = a_text(an_object(block.get("label")).get("text"))
            names = (label, a_text(block.get("block_id")), a_text(control.get("action_id")))
            name = next((n for n in names if n in left), None)
            value = left.pop(name) if name is not None else _initial(control)
            if value is None and block.get("optional") is not True:
                raise Impossible(f"{label!r} has to be filled in before the modal can be sent")
            kind = a_text(control.get("type"))
            filled: JsonObject = {"type": kind, **make.chosen(kind, _picked(control, value))}
            state[names[1]] = {_action_id(control): filled}
        if left:
            raise Impossible(f"the modal has no {min(left)!r} to fill in")
        return state

    def _of_view(self, kind: str, app: App, view: View, state: JsonObject) -> JsonObject:
        world = self.world
        install = world.install_in(app.id, view.team)
        if install is None:
            raise Impossible(f"{app.name} isn't installed any more")
        payload = make.of_view(world, app, install, self.user, view)
        payload["type"] = kind
        shown = an_object(payload["view"])
        shown["state"] = {"values": state}
        if kind != "view_closed":
            payload["trigger_id"] = make.trigger(world, app, self.user, view.team)
            payload["response_urls"] = []
        else:
            payload["is_cleared"] = False
        return payload

    def _after(self, app: App, view: View, text: str) -> None:
        """What the app's answer does to the modals on the screen."""
        said = parsed(text)
        match a_text(said.get("response_action")):
            case "errors":
                view.errors = {k: a_text(v) for k, v in an_object(said.get("errors")).items()}
            case "update":
                fill(self.world, view, checked(an_object(said.get("view"))))
            case "push":
                trigger = Trigger("", app.id, view.team, self.id, 0.0)
                put(self.world, trigger, checked(an_object(said.get("view"))), view)
            case "clear":
                for other in stack(self.world, app.id, self.id):
                    other.open = False
            case _:
                view.open = False

    async def close(self, app: App) -> Reply | None:
        """Dismiss the modal; the app hears of it if it asked to."""
        view = self._top(app)
        view.open = False
        if view.view.get("notify_on_close") is not True:
            return None
        payload = self._of_view("view_closed", app, view, {})
        return await self.outlet.interact(app, payload)

    async def press(self, app: App, label: str, value: Json = None) -> Reply:
        """Press something inside the modal."""
        view = self._top(app)
        control, block = self._control(objects(view.view.get("blocks")), label)
        payload = self._of_view("block_actions", app, view, {})
        payload["container"] = {"type": "view", "view_id": view.id}
        chosen = _picked(control, value)
        payload["actions"] = [make.action(self.world, control, block, chosen)]
        return await self.outlet.interact(app, payload)


def _picked(control: JsonObject, value: Json) -> Json:
    """What is chosen, as the control offers it: the app is sent the whole option. A control that offers
    nothing of its own, such as a date, takes any value."""
    groups = [control, *objects(control.get("option_groups"))]
    offered = [option for group in groups for option in objects(group.get("options"))]
    if not offered or value is None or isinstance(value, dict):
        return value
    if isinstance(value, list):
        return [_picked(control, item) for item in value]
    labels = [a_text(an_object(option.get("text")).get("text")) for option in offered]
    for option, label in zip(offered, labels, strict=True):
        if str(value) in {a_text(option.get("value")), label}:
            return option
    raise Impossible(f"{value!r} isn't offered there; there is {', '.join(labels)}")


def _initial(control: JsonObject) -> Json:
    for name in ("initial_value", "initial_option", "initial_options", "initial_date"):
        if name in control:
            return control[name]
    return None


def _action_id(control: JsonObject) -> str:
    return a_text(control.get("action_id")) or "value"


def parsed(text: str) -> JsonObject:
    """What an app answered, if it was a JSON object."""
    try:
        return an_object(json.loads(text))
    except ValueError:
        return {}
