"""Addresses beside the Web API: answers to a click, files, and the page that asks for consent.

Source: Slack docs "Handling user interaction" (``response_url``: five answers in half an hour),
"Working with files", "Installing with OAuth".
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import cast
from urllib.parse import urlencode

from aiohttp import web

from channels.slack.emulator.methods.chat import content, replace_content
from channels.slack.emulator.wire import Args, Refused, a_text, bearer
from channels.slack.emulator.world import posting, tenancy
from channels.slack.emulator.world.base import World
from channels.slack.emulator.world.depict import message_json
from channels.slack.emulator.world.state import App, Message, ResponseUrl
from gateway.engine.kinds import Json, JsonObject

LOGIN = (
    "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in</body></html>"
)
Consent = Callable[[App, str, str], str]


def mount(app: web.Application, world: World, consent: Consent) -> None:
    async def respond(request: web.Request) -> web.Response:
        return await _respond(world, request)

    async def upload(request: web.Request) -> web.Response:
        return await _upload(world, request)

    async def download(request: web.Request) -> web.Response:
        return _download(world, request)

    async def authorize(request: web.Request) -> web.Response:
        return _authorize(world, consent, request)

    app.router.add_post("/response/{id}", respond)
    app.router.add_route("*", "/upload/{secret}", upload)
    app.router.add_get("/files-pri/{id}/{name}", download)
    app.router.add_get("/oauth/v2/authorize", authorize)


# -- answers to a click or a command -------------------------------------------------------------------
async def _respond(world: World, request: web.Request) -> web.Response:
    """No token: whoever holds the address may answer, a few times and for a while."""
    target = world.response_urls.get(request.match_info["id"])
    if target is None:
        return web.json_response({"ok": False, "error": "invalid_url"}, status=404)
    if world.monotonic() >= target.until:
        return web.json_response({"ok": False, "error": "expired_url"}, status=404)
    if target.left < 1:
        return web.json_response({"ok": False, "error": "used_url"}, status=404)
    try:
        given = cast("Json", json.loads(await request.read()))
        if not isinstance(given, dict):
            raise Refused("invalid_payload")
        _answer(world, target, Args(given))
    except ValueError:
        return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
    except Refused as refused:
        return web.json_response(refused.body(), status=400)
    target.left -= 1
    world.journal.changed()
    return web.json_response({"ok": True})


def _answer(world: World, target: ResponseUrl, args: Args) -> None:
    original = _original(world, target)
    if args.flag("delete_original"):
        if original is None:
            raise Refused("message_not_found")
        if original.only_for is not None:
            world.ephemerals.remove(original)
        else:
            posting.remove(world, original)
        return
    if args.text("markdown_text"):
        raise Refused("invalid_arguments")
    text, blocks = content(world, args, None)
    if args.flag("replace_original") and original is not None:
        before = message_json(world, original)
        replace_content(original, text, blocks)
        posting.notify(world, original)
        if original.only_for is None:
            posting.changed(world, original, before)
        return
    _new(world, target, args, (text, blocks))


def _original(world: World, target: ResponseUrl) -> Message | None:
    for message in world.ephemerals:
        if message.ts == target.message and message.channel == target.channel:
            return message
    return world.messages[target.channel].get(target.message or "")


def _new(world: World, target: ResponseUrl, args: Args, said: tuple[str, list[JsonObject]]) -> None:
    install = world.install_in(target.app, target.team)
    if install is None:
        raise Refused("account_inactive")
    public = args.text("response_type") == "in_channel"
    message = Message(
        target.channel,
        world.new_ts(),
        install.user,
        world.users[install.user].team,
        text=said[0],
        bot=install.bot,
        app=install.app,
        blocks=said[1],
        thread=args.text("thread_ts") or target.thread,
        only_for=None if public else target.user,
    )
    if public:
        posting.publish(world, message)
        return
    posting.whisper(world, message)


# -- files ---------------------------------------------------------------------------------------------
async def _upload(world: World, request: web.Request) -> web.Response:
    """The bytes, as they are or as one field of a form. Good for once."""
    name = world.upload_urls.pop(request.match_info["secret"], None)
    if name is None or request.method not in {"POST", "PUT"}:
        return web.Response(status=404, text="no such upload")
    if request.content_type.startswith("multipart/"):
        fields = (await request.post()).values()
        files = [field for field in fields if isinstance(field, web.FileField)]
        body = files[0].file.read() if files else b""
    else:
        body = await request.read()
    file = world.files[name]
    file.body, file.size = body, len(body)
    return web.Response(text=f"OK - {len(body)}")


def _download(world: World, request: web.Request) -> web.Response:
    """Without the right token the platform answers with its sign-in page, and with 200."""
    file = world.files.get(request.match_info["id"])
    try:
        token = tenancy.authenticate(world, bearer(request.headers.get("Authorization", ""), {}))
    except Refused:
        return web.Response(text=LOGIN, content_type="text/html")
    if "files:read" not in token.scopes:
        return web.Response(text=LOGIN, content_type="text/html")
    if file is None or file.body is None:
        return web.Response(status=404, text="no such file")
    return web.Response(body=file.body, content_type=file.media_type)


# -- consent -------------------------------------------------------------------------------------------
def _authorize(world: World, consent: Consent, request: web.Request) -> web.Response:
    """The page on which somebody installs an app; here everybody says yes at once."""
    query = request.query
    app = next((a for a in world.apps.values() if a.client_id == query.get("client_id")), None)
    if app is None:
        return web.Response(status=400, text="invalid_client_id")
    redirect = query.get("redirect_uri", "")
    if not redirect or (app.redirect_urls and redirect not in app.redirect_urls):
        return web.Response(status=400, text="bad_redirect_uri")
    into = query.get("team") or next(iter(world.teams), "")
    if into not in world.teams and into not in world.enterprises:
        return web.Response(status=400, text="team_not_found")
    app.scopes = tuple(a_text(query.get("scope")).split(",")) if query.get("scope") else app.scopes
    code = consent(app, into, redirect)
    joined = "&" if "?" in redirect else "?"
    back = f"{redirect}{joined}{urlencode({'code': code, 'state': query.get('state', '')})}"
    return web.Response(status=302, headers={"Location": back})
