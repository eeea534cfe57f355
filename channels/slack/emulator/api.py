"""The Web API's front: the order in which a call is judged.

A call is written down, then struck by a fault if one is planned, then checked as the platform does:
method, token, kind of token, scope, limit; then it is applied in one go, and only after that may its
answer be lost.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.faults import CALL_FAULTS, LASTING, Fault, Faults
from channels.slack.emulator.journal import Called, Journal
from channels.slack.emulator.limits import HISTORY, Limits
from channels.slack.emulator.methods import METHODS
from channels.slack.emulator.time import Time
from channels.slack.emulator.wire import Args, Refused, basic, bearer, merged
from channels.slack.emulator.world import streaming, tenancy
from channels.slack.emulator.world.base import STREAM_LIFE, World
from channels.slack.emulator.world.state import Token
from gateway.engine.kinds import JsonObject
from gateway.engine.steps.tasks import Tasks
from gateway.engine.struct import struct

BEFORE = frozenset({"rate_limited", "http_500", "http_503_html", "drop_before"})
SECRETS = frozenset({"client_secret", "refresh_token", "code"})
"""Left out of the journal, which is printed."""
HTML = "<html><head><title>503</title></head><body>Service Unavailable</body></html>"


@struct(frozen=True, slots=True)
class _Asked:
    request: web.Request
    call: Called
    given: JsonObject
    token: str


@dataclass(slots=True, kw_only=True)
class WebApi:
    world: World
    time: Time
    journal: Journal
    faults: Faults
    limits: Limits
    tasks: Tasks
    _under_way: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    async def handle(self, request: web.Request) -> web.StreamResponse:
        call = Called(
            len(self.journal.calls) + 1,
            request.match_info["method"],
            {},
            "",
            "",
            self.time.now(),
            self.time.monotonic(),
            {key.lower(): value for key, value in request.headers.items()},
        )
        authorization = call.headers.pop("authorization", "")
        self.journal.calls.append(call)
        try:
            given = await _arguments(request)
        except Refused as refused:
            return self._said(call, refused.body())
        asked = _Asked(request, call, given, bearer(authorization, given))
        call.token = asked.token[-4:]
        call.arguments = {k: v for k, v in given.items() if k not in SECRETS}
        given.update(basic(authorization))
        about = (str(given.get("channel")), str(given.get("ts")))
        writes = call.method.startswith("chat.") and "ts" in given
        call.overlapping = writes and self._under_way[about] > 0
        self._under_way[about] += writes
        self.journal.changed()
        try:
            return await self._judge(asked)
        finally:
            self._under_way[about] -= writes
            self.journal.changed()

    async def _judge(self, asked: _Asked) -> web.StreamResponse:
        call = asked.call
        fault = self.faults.take(call.method, CALL_FAULTS | LASTING)
        struck = fault.kind if fault else None
        call.fault = struck
        if fault is not None and struck == "slow":
            await self._pause(fault.seconds)
        if fault is not None and struck in BEFORE:
            return self._refused(asked.request, call, fault)
        streaming.expire(self.world)
        if fault is not None and struck in {"stream_expired", "user_stops"}:
            self._strike_stream(asked.given, fault)
        try:
            if fault is not None and struck in {"not_ok", *LASTING}:
                raise Refused(fault.error)
            body, headers = self._apply(asked)
        except Refused as refused:
            body, headers = refused.body(), {}
            if isinstance(wait := body.pop("retry_after", None), int):
                return _too_many(call, body, wait)
        if struck in {"drop_after", "cut_body"}:
            call.answer = body
            return _cut(asked.request, struck, body)
        return self._said(call, body, headers)

    async def _pause(self, seconds: float) -> None:
        """A client that gives up doesn't end this, only the emulator's own end does."""
        pause = self.tasks.start(self.time.sleep(seconds), "slow-answer")
        await asyncio.wait({pause})
        if pause.cancelled():
            raise ConnectionResetError("the emulator ends")

    def _said(
        self, call: Called, body: JsonObject, headers: Mapping[str, str] | None = None
    ) -> web.Response:
        call.status, call.answer = 200, body
        return web.json_response(
            body, headers={"x-slack-req-id": str(call.number), **(headers or {})}
        )

    def _refused(self, request: web.Request, call: Called, fault: Fault) -> web.StreamResponse:
        """Struck before anything was done."""
        match fault.kind:
            case "rate_limited":
                refused: JsonObject = {"ok": False, "error": "ratelimited"}
                return _too_many(call, refused, max(1, round(fault.seconds)))
            case "http_500":
                call.status = 500
                return web.Response(status=500, text="Internal Server Error")
            case "http_503_html":
                call.status = 503
                return web.Response(status=503, text=HTML, content_type="text/html")
            case _:
                _hang_up(request)
                return web.Response()

    def _strike_stream(self, given: JsonObject, fault: Fault) -> None:
        channel, ts = str(given.get("channel")), str(given.get("ts"))
        message = self.world.messages.get(channel, {}).get(ts)
        if message is None or message.stream is None or message.stream.state != "in_progress":
            return
        if fault.kind == "stream_expired":
            streaming.end(self.world, message, message.stream, expired=True)
            return
        session = self.world.sessions.get((message.app or "", channel, message.root))
        people = [u for u in self.world.channels[channel].members if not self.world.users[u].bot]
        if session is not None and people:
            streaming.stop_by_user(self.world, session, min(people))

    def _apply(self, asked: _Asked) -> tuple[JsonObject, dict[str, str]]:
        call = asked.call
        method = METHODS.get(call.method)
        if method is None:
            raise Refused("unknown_method", req_method=call.method)
        token = tenancy.authenticate(self.world, asked.token) if method.kinds else None
        _check_token(method, token)
        asking = Asking(self.world, Args(asked.given), token)
        if token is not None and token.install is not None:
            call.team = token.install.key
        self._check_limit(method, call, asking)
        body: JsonObject = {"ok": True, **method.handler(asking)}
        call.applied = True
        if call.method == "chat.startStream":
            self.time.call_at(self.time.monotonic() + STREAM_LIFE, self._expire)
        if token is None:
            return body, {}
        accepted = ",".join(method.scopes)
        return body, {
            "x-oauth-scopes": ",".join(token.scopes),
            "x-accepted-oauth-scopes": accepted,
        }

    def _expire(self) -> None:
        streaming.expire(self.world)

    def _check_limit(self, method: Method, call: Called, asking: Asking) -> None:
        if asking.token is None:
            return
        tier, now = method.tier, self.time.monotonic()
        if asking.app.distributed and call.method in HISTORY:
            tier = "1"
        app_in = f"{asking.app.id}:{call.team}"
        channel = asking.args.text("channel")
        if (wait := self.limits.admit(tier, call.method, app_in, channel, now)) is not None:
            raise Refused("ratelimited", retry_after=wait)


def _too_many(call: Called, body: JsonObject, wait: int) -> web.Response:
    call.status, call.answer = 429, body
    return web.json_response(body, status=429, headers={"Retry-After": str(wait)})


def _cut(request: web.Request, how: str, body: JsonObject) -> web.Response:
    """Done, and the answer lost: whole, or in the middle."""
    if how == "drop_after":
        _hang_up(request)
        return web.Response()
    data = json.dumps(body).encode()
    return web.Response(body=data[: len(data) // 2], content_type="application/json")


def _check_token(method: Method, token: Token | None) -> None:
    if token is None or not method.kinds:
        return
    if token.kind not in method.kinds:
        raise Refused("not_allowed_token_type")
    if method.scopes and not set(method.scopes) & set(token.scopes):
        raise Refused(
            "missing_scope", needed=",".join(method.scopes), provided=",".join(token.scopes)
        )


async def _arguments(request: web.Request) -> JsonObject:
    query = list(request.query.items())
    if request.content_type.startswith("multipart/"):
        parts = {k: v for k, v in (await request.post()).items() if isinstance(v, str)}
        return merged(query, request.content_type, b"", parts)
    return merged(query, request.content_type, await request.read())


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
