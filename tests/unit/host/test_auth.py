"""Who may call what: tokens and rights, and this machine when there is no token."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from aiohttp import web

from gateway.host.app import add_routes
from gateway.host.problems import json_response
from gateway.host.routes import all_routes
from gateway.host.table import Call, Route
from gateway.values import ApiToken, Right, Secret
from tests.support.http import Client, connect, on_socket
from tests.unit.host.world import running

RIGHTS: tuple[Right, ...] = ("chat", "read", "resume", "admin")
TOKENS = tuple(
    ApiToken(right, Secret(f"{right}-secret"), frozenset({right}), ()) for right in RIGHTS
)
OPEN = {
    "healthz",
    "readyz",
    "channel_post",
    "channel_get",
    "channel_post_below",
    "channel_get_below",
}


def filled(route: Route) -> str:
    return re.sub(r"\{\w+\}", "x", route.path)


async def ask(client: Client, route: Route) -> int:
    if route.method == "GET":
        return (await client.get(filled(route), {"Accept": "application/json"})).status
    return (await client.post(filled(route), {})).status


async def test_every_route_refuses_who_has_no_token_or_not_the_right() -> None:
    async with running(tokens=TOKENS) as gateway:
        routes = all_routes(gateway.api)
        assert {route.name for route in routes if route.open} == OPEN
        for route in routes:
            for nobody in (None, "wrong", "chat-secret2", ""):
                status = await ask(gateway.client.with_token(nobody), route)
                assert (status == 401) is not route.open, (route.name, nobody)
            for token in TOKENS:
                status = await ask(gateway.client.with_token(token.secret.value), route)
                held = route.open or route.right in {None, token.name} or token.name == "admin"
                assert (status == 403) is not held, (route.name, token.name)
                assert status != 500
        answer = await gateway.client.get("/openapi.json")
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert (await gateway.client.with_token("chat-secret").get("/openapi.json")).status == 200


@pytest.mark.parametrize("tokens", [(), TOKENS])
async def test_who_calls_an_open_route_holds_nothing(tokens: tuple[ApiToken, ...]) -> None:
    seen: list[ApiToken] = []

    async def look(call: Call) -> web.StreamResponse:
        seen.append(call.token)
        return json_response({})

    route = Route(method="GET", path="/open", name="look", about="", handler=look, open=True)
    async with running(tokens=tokens) as gateway:
        app = web.Application()
        add_routes(app, gateway.api, [route])
        async with on_socket(app) as url, connect(url, "admin-secret") as client:
            assert (await client.get("/open")).status == 200
    (caller,) = seen
    assert not any(caller.may(right) for right in RIGHTS)
    assert not caller.vouches_for("slack:T1:U1")
    assert not caller.secret.matches("")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Bearer chat-secret", 200),
        ("bearer  chat-secret", 200),
        ("chat-secret", 401),
        ("Basic chat-secret", 401),
        ("Bearer", 401),
        ("Bearer chat-secret chat-secret", 401),
        ("Bearer caf\u00e9", 401),
    ],
)
async def test_how_a_token_is_sent(header: str, status: int) -> None:
    async with running(tokens=TOKENS) as gateway:
        headers = {"Authorization": header}
        answer = await gateway.client.post("/message", {"message": "hi"}, headers)
        assert answer.status == status
        answer = await gateway.client.post("/message?token=chat-secret", {"message": "hi"})
        assert answer.status == 401, "a token in a URL ends in logs"


async def test_the_refusal_names_the_right_and_the_way() -> None:
    async with running(tokens=TOKENS, token="chat-secret") as gateway:
        answer = await gateway.client.get("/sessions")
        assert (answer.status, answer.code) == (403, "forbidden")
        assert "'read'" in str(answer.json["detail"])
        assert "gateway.toml" in str(answer.json["fix"])


LOCAL: list[Mapping[str, str]] = [
    {},
    {"Host": "localhost:1"},
    {"Host": "127.5.5.5"},
    {"Host": "[::1]:80"},
    {"Host": "localhost:9", "Origin": "http://localhost:9"},
]
FOREIGN: list[Mapping[str, str]] = [
    {"Host": "june.example"},
    {"Host": "june.example:127"},
    {"Host": "127.0.0.1.evil.example"},
    {"Host": "localhost.evil.example"},
    {"Host": "evil@localhost.example"},
    {"Host": "192.0.2.1"},
    {"Host": ""},
    {"Origin": "null"},
    {"Origin": "http://evil.example"},
    {"Host": "localhost:9", "Origin": "http://localhost:8"},
    {"Host": "localhost:9", "Origin": "https://localhost:9"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Forwarded-Host": "localhost"},
    {"Forwarded": "for=127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"},
    {"Via": "1.1 proxy"},
]
UNTYPED = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


@pytest.mark.parametrize("headers", LOCAL)
async def test_without_a_token_this_machine_may_call(headers: Mapping[str, str]) -> None:
    async with running() as gateway:
        answer = await gateway.client.post("/message", {"message": "hi"}, headers)
        assert answer.status == 200, answer.raw


@pytest.mark.parametrize("headers", FOREIGN)
async def test_without_a_token_nothing_foreign_may(headers: Mapping[str, str]) -> None:
    async with running() as gateway:
        answer = await gateway.client.post("/message", {"message": "hi"}, headers)
        assert (answer.status, answer.code) == (401, "unauthenticated")
        assert "GATEWAY_API_TOKEN" not in str(answer.json["fix"]), "nothing reads it here"
        for path in ("/sessions", "/openapi.json", "/metrics", "/status"):
            assert (await gateway.client.get(path, headers)).status == 401
        assert (await gateway.client.get("/healthz", headers)).status == 200
        assert (await gateway.client.get("/readyz", headers)).status == 200
        assert (await gateway.client.get("/channels/x", headers)).status == 404
        assert (await gateway.client.get("/sessions")).rows("sessions") == []


@pytest.mark.parametrize("kind", UNTYPED)
@pytest.mark.parametrize("tokens", [(), TOKENS])
async def test_what_changes_something_must_say_that_it_is_json(
    tokens: tuple[ApiToken, ...], kind: str
) -> None:
    """A page of another site can't, without asking first."""
    async with running(tokens=tokens, token="admin-secret") as gateway:
        answer = await gateway.client.post("/message", {"message": "hi"}, {"Content-Type": kind})
        assert (answer.status, answer.code) == (415, "unsupported_media_type")
        assert "Content-Type" in str(answer.json["detail"])
        assert answer.json["fix"] == "send Content-Type: application/json"
        assert (await gateway.client.get("/sessions")).rows("sessions") == []
        if not tokens:
            foreign = {"Content-Type": kind, "Origin": "http://evil.example"}
            answer = await gateway.client.post("/message", {"message": "hi"}, foreign)
            assert answer.status == 401, "who may not call learns nothing more"


async def test_a_channels_sessions_are_its_own() -> None:
    async with running(tokens=TOKENS, channels=("slack",)) as gateway:
        chat = gateway.client.with_token("chat-secret")
        admin = gateway.client.with_token("admin-secret")
        path = "/agents/june/sessions/slack:T1:C1"
        for client in (chat, admin):
            answer = await client.post("/message", {"message": "hi", "session": "slack:T1:C1"})
            assert (answer.status, answer.code) == (400, "bad_request")
            assert (await client.post(f"{path}/turn", {"message": "hi"})).status == 400
        assert (await chat.post(f"{path}/reset")).status == 403
        assert (await admin.post(f"{path}/reset")).status == 200
        for free in ("slack", "slacks:T1", "email:x"):
            answer = await chat.post("/message", {"message": "hi", "session": free})
            assert answer.status == 200, free
