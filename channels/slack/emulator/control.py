"""The same as JSON, for those who don't write Python: ``POST /_control/<verb>``, ``GET /_control/<look>``.

Whoever knows the secret of this run (``Authorization: Bearer …``) may set the stage, play the people,
plan faults and read the journal. What a person can't do is a 409 with the reason.
"""

from __future__ import annotations

import dataclasses
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from aiohttp import web

from channels.slack.emulator.cast.people import Person
from channels.slack.emulator.cast.scene import Scene
from channels.slack.emulator.cast.screen import Impossible
from channels.slack.emulator.events.http import Reply
from channels.slack.emulator.faults import Fault
from channels.slack.emulator.time import VirtualTime
from channels.slack.emulator.wire import Args, Refused, a_text, an_object, objects
from channels.slack.emulator.world import posting
from channels.slack.emulator.world.state import App, Message, Shortcut
from gateway.engine.kinds import Json, JsonObject

Verb = Callable[[Scene, Args], Awaitable[JsonObject]]


def mount(app: web.Application, slack: Scene) -> None:
    async def act(request: web.Request) -> web.Response:
        return await _answer(slack, request)

    app.router.add_post("/_control/{verb}", act)
    app.router.add_get("/_control/{verb}", act)


async def _answer(slack: Scene, request: web.Request) -> web.Response:
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not hmac.compare_digest(given.encode(), slack.control_secret.encode()):
        return web.json_response({"error": "the control secret of this run is needed"}, status=401)
    name = request.match_info["verb"]
    table = LOOKS if request.method == "GET" else VERBS
    if name not in table:
        known = ", ".join(sorted(table))
        return web.json_response({"error": f"no such verb; there are {known}"}, status=404)
    try:
        body: Json = dict(request.query)
        if request.method == "POST":
            body = cast("Json", json.loads(await request.read() or b"{}"))
        return web.json_response(await table[name](slack, Args(an_object(body))), dumps=_dumps)
    except Refused as error:
        return web.json_response({"error": str(error), **error.more}, status=409)
    except (Impossible, ValueError) as error:
        return web.json_response({"error": str(error)}, status=409)
    except KeyError as error:
        return web.json_response({"error": f"nothing has the id {error.args[0]}"}, status=404)


def _dumps(value: object) -> str:
    return json.dumps(value, default=_plain)


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(cast("set[str]", value))
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _told(value: object) -> Json:
    """Records as JSON: written and read back, so that what is sent is what is meant."""
    return cast("Json", json.loads(_dumps(value)))


# -- the stage -----------------------------------------------------------------------------------------
async def workspace(slack: Scene, args: Args) -> JsonObject:
    name = args.text("enterprise")
    made = slack.workspace(args.need("name"), slack.enterprise(name) if name else None)
    return {"id": made.id}


async def person(slack: Scene, args: Args) -> JsonObject:
    guest = args.text("guest")
    home = slack.workspace(args.need("workspace"))
    if guest == "single":
        return {"id": home.person(args.need("name"), "single").id}
    return {"id": home.person(args.need("name"), "multi" if guest else "").id}


async def channel(slack: Scene, args: Args) -> JsonObject:
    home = slack.workspace(args.need("workspace"))
    members = args.names("members")
    made = home.channel(args.need("name"), members, private=args.flag("private"))
    return {"id": home.invite(made, members).id}


async def share(slack: Scene, args: Args) -> JsonObject:
    found = slack.world.channels[args.need("channel")]
    return {"id": slack.workspace(args.need("workspace")).share(found).id}


async def app(slack: Scene, args: Args) -> JsonObject:
    """Make or change an app, and hand its secrets out."""
    found = slack.app(args.text("name") or None)
    if args.has("events"):
        found.events = set(args.names("events"))
    for command in args.names("commands"):
        found.commands[command] = ""
    for shortcut in args.items("shortcuts", "invalid_arguments") or []:
        name = a_text(shortcut.get("callback_id"))
        message = shortcut.get("type") == "message"
        found.shortcuts[name] = Shortcut(name, "message" if message else "global")
    found.socket = args.flag("socket", found.socket)
    found.rotates = args.flag("rotates", found.rotates)
    found.distributed = args.flag("distributed", found.distributed)
    if args.text("request_url"):
        await slack.connect(found, args.text("request_url"))
    return {
        "id": found.id,
        "signing_secret": found.signing_secret,
        "app_token": found.app_token,
        "client_id": found.client_id,
        "client_secret": found.client_secret,
    }


async def install(slack: Scene, args: Args) -> JsonObject:
    home = slack.workspace(args.need("workspace"))
    made = home.install(args.text("app") or None, args.names("scopes") or None)
    return {"token": made.token, "user_id": made.user, "bot_id": made.bot}


async def uninstall(slack: Scene, args: Args) -> JsonObject:
    home, named = slack.workspace(args.need("workspace")), slack.app(args.text("app") or None)
    made = slack.world.install_in(named.id, home.id)
    if made is not None:
        slack.uninstall(made)
    return {"uninstalled": made is not None}


async def fault(slack: Scene, args: Args) -> JsonObject:
    names = {field.name for field in dataclasses.fields(Fault)} - {"seen", "struck"}
    if unknown := sorted(args.given.keys() - names):
        raise ValueError(f"a fault has no {unknown[0]!r}; it has {', '.join(sorted(names))}")
    slack.faults.add(Fault(**cast("dict[str, str]", args.given)))  # type: ignore[arg-type]
    return {"planned": len(slack.faults.planned)}


async def repair(slack: Scene, _: Args) -> JsonObject:
    slack.faults.repair()
    return {"planned": 0}


async def advance(slack: Scene, args: Args) -> JsonObject:
    if not isinstance(slack.time, VirtualTime):
        raise Impossible("the clock is a real one; start the emulator with virtual time")
    await slack.time.advance(float(args.text("seconds") or 0))
    return {"now": slack.time.now()}


# -- people --------------------------------------------------------------------------------------------
def _actor(slack: Scene, args: Args) -> Person:
    return slack.person(args.need("user"))


def _message(slack: Scene, args: Args) -> Message:
    found, ts = args.need("channel"), args.need("ts")
    for message in slack.world.ephemerals:
        if (message.channel, message.ts) == (found, ts):
            return message
    return slack.world.message(found, ts)


def _app(slack: Scene, args: Args) -> App:
    return slack.app(args.text("app") or None)


async def say(slack: Scene, args: Args) -> JsonObject:
    files = {
        name: a_text(body).encode() for name, body in an_object(args.given.get("files")).items()
    }
    message = await _actor(slack, args).say(
        args.need("channel"), args.text("text"), thread=args.text("thread") or None, files=files
    )
    return {"channel": message.channel, "ts": message.ts}


async def edit(slack: Scene, args: Args) -> JsonObject:
    await _actor(slack, args).edit(_message(slack, args), args.text("text"))
    return {}


async def delete(slack: Scene, args: Args) -> JsonObject:
    await _actor(slack, args).delete(_message(slack, args))
    return {}


async def unfurl(slack: Scene, args: Args) -> JsonObject:
    attachments = args.items("attachments", "invalid_arguments") or []
    posting.unfurl(slack.world, _message(slack, args), attachments)
    return {}


async def click(slack: Scene, args: Args) -> JsonObject:
    actor, message = _actor(slack, args), _message(slack, args)
    if args.flag("forge"):
        actions = args.items("actions", "invalid_arguments") or []
        return _reply(await actor.forged(message, objects([*actions])))
    return _reply(await actor.click(message, args.need("button"), args.given.get("value")))


async def submit(slack: Scene, args: Args) -> JsonObject:
    values = an_object(args.given.get("values"))
    return _reply(await _actor(slack, args).submit(_app(slack, args), values))


async def close(slack: Scene, args: Args) -> JsonObject:
    reply = await _actor(slack, args).close(_app(slack, args))
    return _reply(reply) if reply is not None else {"outcome": "not told"}


async def command(slack: Scene, args: Args) -> JsonObject:
    return _reply(await _actor(slack, args).command(args.need("channel"), args.need("line")))


async def shortcut(slack: Scene, args: Args) -> JsonObject:
    message = _message(slack, args) if args.text("ts") else None
    actor, name = _actor(slack, args), args.need("callback_id")
    return _reply(await actor.shortcut(_app(slack, args), name, message))


async def stop(slack: Scene, args: Args) -> JsonObject:
    stopped = await _actor(slack, args).stop(_app(slack, args), _message(slack, args))
    return {"stopped": [*stopped]}


async def open_home(slack: Scene, args: Args) -> JsonObject:
    tab = args.text("tab") or "messages"
    return {"channel": (await _actor(slack, args).open_home(_app(slack, args), tab)).id}


def _reply(reply: Reply) -> JsonObject:
    return {"outcome": reply.outcome, "status": reply.status, "text": reply.text}


# -- looks ---------------------------------------------------------------------------------------------
async def thread(slack: Scene, args: Args) -> JsonObject:
    return {"messages": _told(slack.thread(args.need("channel"), args.need("ts")))}


async def private(slack: Scene, args: Args) -> JsonObject:
    return {"messages": _told(slack.private(_actor(slack, args)))}


async def modal(slack: Scene, args: Args) -> JsonObject:
    return {"view": _told(_actor(slack, args).modal(_app(slack, args)))}


async def journal(slack: Scene, _: Args) -> JsonObject:
    return {
        "calls": _told(slack.journal.calls),
        "deliveries": _told(slack.journal.deliveries),
        "trouble": [*slack.journal.trouble],
    }


async def pinged(slack: Scene, _: Args) -> JsonObject:
    return {"pinged": _told(slack.pinged), "unfurled": _told(slack.journal.unfurled)}


VERBS: Mapping[str, Verb] = {
    verb.__name__: verb
    for verb in (
        *(advance, app, channel, click, close, command, delete, edit, fault, install, open_home),
        *(person, repair, say, share, shortcut, stop, submit, unfurl, uninstall, workspace),
    )
}
LOOKS: Mapping[str, Verb] = {
    look.__name__: look for look in (journal, modal, pinged, private, thread)
}
