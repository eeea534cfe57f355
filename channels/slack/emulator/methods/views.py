"""``views.*``: modals and the home tab.

A trigger id opens one modal, once, within three seconds of the click it came with.

Source: Slack docs "views.open", "views.push", "views.update", "views.publish", "Modals".
"""

from __future__ import annotations

from channels.slack.emulator.blocks.validate import check_view
from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.wire import Args, Refused, a_text, objects
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.depict import view_json
from channels.slack.emulator.world.posting import named_blocks
from channels.slack.emulator.world.state import Trigger, View
from gateway.engine.kinds import JsonObject

DEEPEST = 3


def given_view(args: Args) -> JsonObject:
    view = args.object("view", "invalid_arguments")
    if view is None:
        raise Refused("invalid_arguments").messages(["[ERROR] missing required field: view"])
    return checked(view)


def checked(view: JsonObject) -> JsonObject:
    if told := check_view(view):
        raise Refused("invalid_arguments").messages(told)
    return view


def trigger_of(asking: Asking) -> Trigger:
    given = asking.args.text("trigger_id") or asking.args.text("interactivity_pointer")
    trigger = asking.world.triggers.get(given)
    if trigger is None or trigger.app != asking.app.id:
        raise Refused("invalid_trigger_id")
    if trigger.used:
        raise Refused("exchanged_trigger_id")
    if asking.world.monotonic() >= trigger.until:
        raise Refused("expired_trigger_id")
    return trigger


def stack(world: World, app: str, user: str) -> list[View]:
    """The modals that this person has open for this app, the one on top last."""
    return [
        view
        for view in world.views.values()
        if view.app == app and view.user == user and view.kind == "modal" and view.open
    ]


def put(world: World, trigger: Trigger, view: JsonObject, on: View | None) -> View:
    """Show a modal, on top of another or as the first."""
    made = View(
        world.new_id("V"), trigger.app, trigger.team, trigger.user, "modal", {}, "", "", None
    )
    made.root, made.previous = (on.root, on.id) if on else (made.id, None)
    fill(world, made, view)
    world.views[made.id] = made
    return made


def fill(world: World, view: View, content: JsonObject) -> None:
    view.view = {**content, "blocks": [*named_blocks(world, objects(content.get("blocks")))]}
    view.hash = world.new_ts()
    view.errors = {}


def opened(asking: Asking) -> JsonObject:
    trigger = trigger_of(asking)
    view = given_view(asking.args)
    _unique(asking, view, None)
    if view.get("type") != "modal":
        raise Refused("invalid_arguments")
    trigger.used = True
    for old in stack(asking.world, trigger.app, trigger.user):
        old.open = False
    return {"view": view_json(put(asking.world, trigger, view, None))}


def pushed(asking: Asking) -> JsonObject:
    trigger = trigger_of(asking)
    view = given_view(asking.args)
    below = stack(asking.world, trigger.app, trigger.user)
    if not below:
        raise Refused("not_found")
    if len(below) >= DEEPEST:
        raise Refused("push_limit_reached")
    trigger.used = True
    return {"view": view_json(put(asking.world, trigger, view, below[-1]))}


def _unique(asking: Asking, view: JsonObject, mine: View | None) -> None:
    name = a_text(view.get("external_id"))
    for other in asking.world.views.values():
        if name and other is not mine and other.open and other.view.get("external_id") == name:
            raise Refused("duplicate_external_id")


def updated(asking: Asking) -> JsonObject:
    args = asking.args
    name, external = args.text("view_id"), args.text("external_id")
    view = next(
        (
            found
            for found in asking.world.views.values()
            if found.app == asking.app.id
            and found.open
            and (found.id == name or (external and found.view.get("external_id") == external))
        ),
        None,
    )
    if view is None:
        raise Refused("not_found")
    if (seen := args.text("hash")) and seen != view.hash:
        raise Refused("hash_conflict")
    content = given_view(args)
    _unique(asking, content, view)
    fill(asking.world, view, content)
    return {"view": view_json(view)}


def published(asking: Asking) -> JsonObject:
    world, user = asking.world, asking.args.need("user_id", "user_not_found")
    if user not in world.users:
        raise Refused("user_not_found")
    content = given_view(asking.args)
    if content.get("type") != "home":
        raise Refused("invalid_arguments")
    key = f"home:{asking.app.id}:{user}"
    view = world.views.get(key)
    if view is None:
        name = world.new_id("V")
        view = View(name, asking.app.id, asking.team, user, "home", {}, "", name)
        world.views[key] = view
    fill(world, view, content)
    return {"view": view_json(view)}


METHODS = (
    Method(name="views.open", handler=opened, tier="4"),
    Method(name="views.push", handler=pushed, tier="4"),
    Method(name="views.update", handler=updated, tier="4"),
    Method(name="views.publish", handler=published, tier="4"),
)
