"""What can't be understood is told as a problem, whatever it is."""

from __future__ import annotations

import gzip
import json
import logging
from urllib.parse import quote

import pytest
from yarl import URL

from gateway.engine.errors import GatewayError
from gateway.engine.limits import Limits
from gateway.host.problems import problem
from gateway.values import ApiToken, Secret
from tests.unit.host.world import Gateway, running

JSON = {"Content-Type": "application/json"}
S1 = "/agents/june/sessions/s1"


async def send(
    gateway: Gateway, path: str, raw: bytes, content_type: str = "application/json"
) -> tuple[int, str]:
    async with gateway.client.http.post(
        gateway.client.url + path, data=raw, headers={"Content-Type": content_type}
    ) as response:
        assert response.headers["Content-Type"] == "application/problem+json"
        body = json.loads(await response.read())
        assert body["status"] == response.status
        assert body["detail"]
        return response.status, str(body["code"])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"not json",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b'{"message": 7}',
        b'{"message": ""}',
        b'{"message": null}',
        b'{"message": "hi", "sesion": "s1"}',
        b'{"message": NaN}',
        b'{"message": "\\ud800"}',
        b'{"message": "a\\u0000b"}',
        b"\xff\xfe",
        b'{"message": "hi", "turn_id": 7}',
        b'{"message": "hi", "speaker": {"name": "Jo"}}',
        b'{"message": "hi", "speaker": {"id": "a:b", "level": "linked"}}',
        b'{"message": "hi", "speaker": "a b"}',
        b"[" * 100_000,
        b'{"message": ' + b"9" * 10_000 + b"}",
    ],
)
async def test_bodies_that_are_none(raw: bytes) -> None:
    async with running() as gateway:
        assert await send(gateway, "/message", raw) == (400, "bad_request")


KEYS = ["", "a b", "a/b", "a\\b", "a\nb", "ab\n", "a\x7f", "caf\u00e9", "x" * 257, "a#b", "\u2028"]


@pytest.mark.parametrize("key", KEYS)
async def test_session_keys_that_cannot_travel(key: str) -> None:
    async with running() as gateway:
        for body in ({"message": "x", "session": key}, {"message": "x", "turn_id": key}):
            if body.get("turn_id") == "a#b":
                continue
            answer = await gateway.client.post("/message", body)
            assert (answer.status, answer.code) == (400, "bad_request"), body
        if key:
            path = f"/agents/june/sessions/{quote(key, safe='')}/turn"
            answer = await gateway.client.post(path, {"message": "x"})
            assert answer.status == 400, answer.raw
        assert (await gateway.client.get("/sessions")).rows("sessions") == []


@pytest.mark.parametrize("key", [".", ".."])
async def test_keys_that_a_path_would_swallow(key: str) -> None:
    async with running() as gateway:
        for body in ({"message": "x", "session": key}, {"message": "x", "turn_id": key}):
            answer = await gateway.client.post("/message", body)
            assert (answer.status, answer.code) == (400, "bad_request"), body
        path = f"/agents/june/sessions/{key.replace('.', '%2e')}/turn"
        url = URL(gateway.client.url + path, encoded=True)
        async with gateway.client.http.post(url, json={"message": "x"}) as response:
            assert response.status == 400
        assert (await gateway.client.get("/sessions")).rows("sessions") == []


@pytest.mark.parametrize(
    "key", ["s1", "web:abc", "<a@b.example>", "a.b-c_d~e", "%41", "..x", "...", "x" * 256]
)
async def test_session_keys_that_can(key: str) -> None:
    async with running() as gateway:
        path = f"/agents/june/sessions/{quote(key, safe='')}"
        assert (await gateway.client.post(f"{path}/turn?detach=1", {"message": "x"})).status == 202
        assert (await gateway.client.get(f"{path}/transcript")).status == 200
        (row,) = (await gateway.client.get("/sessions")).rows("sessions")
        assert row["session"] == key


async def test_other_media_types() -> None:
    token = ApiToken("one", Secret("the-one-secret"))
    async with running(tokens=(token,), token="the-one-secret") as gateway:
        headers = {"Content-Type": "text/plain"}
        answer = await gateway.client.post("/message", {"message": "hi"}, headers)
        assert (answer.status, answer.code) == (415, "unsupported_media_type")


async def test_sizes() -> None:
    async with running(limits=Limits(message_bytes=1000)) as gateway:
        over = json.dumps({"message": "x" * 2000}).encode()
        assert await send(gateway, "/message", over) == (413, "too_large")
        huge = json.dumps({"message": "x" * 100_000}).encode()
        assert await send(gateway, "/message", huge) == (413, "too_large")
        fits = await gateway.client.post("/message", {"message": "\u00e9" * 300})
        assert fits.status == 200
        assert len((await gateway.client.get("/sessions")).rows("sessions")) == 1


async def test_a_body_that_grows_when_it_is_unpacked() -> None:
    async with running(limits=Limits(message_bytes=1000)) as gateway:
        packed = gzip.compress(b'{"message": "' + b"x" * 5_000_000 + b'"}')
        async with gateway.client.http.post(
            gateway.client.url + "/message",
            data=packed,
            headers={**JSON, "Content-Encoding": "gzip"},
        ) as response:
            assert response.status == 413


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{S1}/turns/t1/events?after=x", 400),
        (f"{S1}/turns/t1/events?after=-1", 400),
        (f"{S1}/turns/t1/events?after=1.0", 400),
        (f"{S1}/turns/t1/events?after=%D9%A3", 400),
        (f"{S1}/turns/t1/events?after=1&after=2", 400),
        (f"{S1}/turns/t1/events?after=99", 409),
        (f"{S1}/turns/t1/events?after=999999999999999999", 409),
        (f"{S1}/turns/t1/events?after={'9' * 400}", 400),
        ("/sessions?limit=0", 400),
        ("/sessions?limit=501", 400),
        ("/sessions?limit=ten", 400),
        (f"/sessions?limit={'1' * 5000}", 400),
        ("/sessions?status=odd", 400),
        ("/turns?state=odd", 400),
        ("/nothing/here", 404),
        ("/agents/june/sessions/a/b/transcript", 404),
    ],
)
async def test_parameters(path: str, status: int) -> None:
    async with running() as gateway:
        await gateway.client.post("/message", {"message": "hi", "session": "s1", "turn_id": "t1"})
        answer = await gateway.client.get(path)
        assert answer.status == status
        assert answer.code


async def test_a_wrong_parameter_is_told_with_what_it_may_be() -> None:
    async with running() as gateway:
        answer = await gateway.client.get("/turns?state=odd")
        assert str(answer.json["detail"]).startswith("?state ")
        assert str(answer.json["fix"]).startswith("?state=queued or ?state=running or ")
        answer = await gateway.client.get("/turns?limit=0")
        assert str(answer.json["fix"]).startswith("limit: How many rows at most, from 1 to 500")


@pytest.mark.parametrize("cursor", ["x", "-1", "1 2", "0x1", "1e3", "\u0663"])
async def test_cursors_in_the_header(cursor: str) -> None:
    async with running() as gateway:
        await gateway.client.post("/message", {"message": "hi", "session": "s1", "turn_id": "t1"})
        answer = await gateway.client.get(f"{S1}/turns/t1/events", {"Last-Event-ID": cursor})
        assert (answer.status, answer.code) == (400, "bad_request")


async def test_other_methods() -> None:
    async with running() as gateway:
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "GET"):
            answer = await gateway.client.ask(method, "/message")
            assert (answer.status, answer.code) == (405, "method_not_allowed")
            assert answer.headers["Allow"] == "POST"


async def test_an_unforeseen_fault_leaves_only_its_id(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as gateway:
        await gateway.api.runtime.store.close()
        registry, gateway.api.registry = gateway.api.registry, None  # type: ignore[assignment]
        with caplog.at_level(logging.ERROR, "gateway.host"):
            answer = await gateway.client.post("/message", {"message": "x", "session": "a:b"})
        assert (answer.status, answer.code) == (500, "internal")
        assert "NoneType" not in answer.raw.decode()
        (record,) = [one for one in caplog.records if one.name == "gateway.host"]
        assert str(record.__dict__["error_id"]) in str(answer.json["fix"])
        gateway.api.registry = registry


def test_every_error_of_the_engine_makes_a_problem() -> None:
    """Codes are stable names, and no two classes of different status share one."""
    seen: dict[str, int] = {}
    kinds = [GatewayError]
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        error = kind.__new__(kind)
        Exception.__init__(error, "what happened")
        error.fix = ""
        if kind.code == "already_answered":
            error.__dict__.update(by=None, outcome="denied", at=0)
        made = problem(error)
        assert made.status == kind.status
        assert seen.setdefault(kind.code, kind.status) == kind.status, kind
    assert len(seen) > 15
