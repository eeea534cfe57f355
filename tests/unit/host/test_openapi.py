"""``/openapi.json`` is true: a fuzzer that believes it finds no 500 and nothing undocumented."""

from __future__ import annotations

import asyncio
import copy
import re
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator
from schemathesis.core.result import Ok

from gateway.engine.kinds import JsonObject
from gateway.host.app import make_app
from gateway.host.openapi import problem_statuses
from gateway.host.routes import all_routes
from gateway.playground.doors import HOME as PLAYGROUND
from gateway.playground.mail.place import MAIL
from gateway.values import TAKEN, ApiToken, Secret
from tests.unit.host.world import LEAD, Gateway, running

TOKEN = ApiToken("full", Secret("full-secret"))


async def document(gateway: Gateway) -> dict[str, Any]:
    return cast("dict[str, Any]", (await gateway.client.get("/openapi.json")).json)


async def test_it_lists_exactly_what_is_served() -> None:
    async with running() as gateway:
        listed = {
            (method.upper(), path)
            for path, item in (await document(gateway))["paths"].items()
            for method in item
        }
        app = make_app(gateway.api)
        served = {
            (route.method, re.sub(r":[^}]*", "", route.resource.canonical))
            for route in app.router.routes()
            if route.resource is not None and route.method != "HEAD"
        }
        assert listed == served


async def test_the_chat_path_takes_no_other_routes_place() -> None:
    async with running(console=True) as gateway:
        served = {
            route.resource.canonical.split("/")[1]
            for route in make_app(gateway.api).router.routes()
            if route.resource is not None
        }
        rooms = {PLAYGROUND.split("/")[1], MAIL.split("/")[1]}  # which `gateway dev` adds
        assert (served | rooms) - {"", gateway.api.chat_path[1:]} == TAKEN


async def test_it_offers_only_what_this_host_can() -> None:
    start = "/agents/{agent}/sessions/{session}/turn"
    for channels, offered in (((), False), (("slack",), True)):
        async with running(channels=channels) as gateway:
            operation = (await document(gateway))["paths"][start]["post"]
            names = {parameter["name"] for parameter in operation["parameters"]}
            assert ("deliver" in names) is offered
            assert ("501" in operation["responses"]) is offered
            assert "security" not in operation
    async with running(tokens=(TOKEN,), token="full-secret") as gateway:
        paths = (await document(gateway))["paths"]
        assert paths[start]["post"]["security"] == [{"bearer": []}]
        assert paths["/healthz"]["get"]["security"] == []


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, part in cast("dict[str, object]", value).items():
            if key == "$ref":
                yield str(part)
            yield from references(part)
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from references(part)


async def test_every_reference_leads_somewhere_and_nothing_is_left_over() -> None:
    async with running() as gateway:
        made = await document(gateway)
        used = {one.rpartition("/")[2] for one in references(made)}
        assert used == set(made["components"]["schemas"])
        for route in all_routes(gateway.api):
            assert 500 not in problem_statuses(route) or route.name in {"resume", "decide"}


# -- the fuzzer ------------------------------------------------------------------------------------
@pytest.mark.timeout(120)
async def test_a_fuzzer_finds_nothing() -> None:
    await fuzzed("memory://", examples=3)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_patient_fuzzer_finds_nothing(store: str, tmp_path: Path) -> None:
    url = "memory://" if store == "memory" else f"sqlite:///{tmp_path}/june.db"
    await fuzzed(url, examples=100)


async def fuzzed(url: str, *, examples: int) -> None:
    """Half of the time the fuzzer names what is there, so that it gets behind the 404s."""
    async with running(url, tokens=(TOKEN,), token="full-secret", heartbeat=0.5) as gateway:
        client = gateway.client
        await client.post("/message", {"message": "hi", "session": "s1", "turn_id": "t1"})
        body: JsonObject = {"message": "call refund 1", "session": "s2", "turn_id": "t2"}
        request = (await client.post("/message", body)).json["request"]
        assert isinstance(request, dict)
        known = {
            "agent": ["june", "nobody"],
            "session": ["s1", "s2", "s3"],
            "history": ["s1", "s1#g0", "s3#g1"],
            "turn_id": ["t1", "none"],
            "id": [str(request["id"]), "none"],
            "schedule": ["digest", "none"],
        }
        made = narrowed(await document(gateway), known)
        await asyncio.to_thread(fuzz, made, client.url, examples=examples)
        text = (await client.get("/metrics")).raw.decode()
        statuses = set(re.findall(r'status="(\d+)"', text))
        assert {"200", "202", "400", "404"} <= statuses
        assert not {"500", "501", "503"} & statuses
        assert (await client.post("/message", {"message": "still here"})).status == 200
        decided = {"value": True, "by": LEAD}
        assert (await client.post(f"/approvals/{request['id']}", decided)).status in {200, 409}


def narrowed(made: dict[str, Any], known: dict[str, list[str]]) -> dict[str, Any]:
    """The document with known parts in its paths, and without the token: that always goes along."""
    out = copy.deepcopy(made)
    out["components"].pop("securitySchemes")
    for item in out["paths"].values():
        for operation in item.values():
            operation.pop("security")
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path" and parameter["name"] in known:
                    parameter["schema"] = {
                        "anyOf": [{"enum": known[parameter["name"]]}, parameter["schema"]]
                    }
    return out


def addressed(told: dict[str, Any], case: schemathesis.Case[Any]) -> bool:
    """Whether the path is a valid one: texts that the fuzzer finds in code that happens to be loaded fit
    no pattern."""
    given = case.path_parameters or {}
    return all(
        Draft202012Validator(one["schema"]).is_valid(given[one["name"]])
        for one in told.get("parameters", [])
        if one["in"] == "path" and one["name"] in given
    )


def fuzz(made: dict[str, Any], url: str, *, examples: int) -> None:
    """Valid and invalid requests for each operation; the fuzzer's own checks judge the answers."""
    headers = {"Authorization": "Bearer full-secret"}
    seeded = settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_dict(made)
        for result in schema.get_all_operations():
            operation = cast("Ok[schemathesis.APIOperation[Any, Any, Any, Any]]", result).ok()
            modes = [schemathesis.GenerationMode.POSITIVE]
            told = made["paths"][operation.path][operation.method.lower()]
            places = {parameter["in"] for parameter in told.get("parameters", [])}
            if "requestBody" in told or places - {"path"}:
                modes.append(schemathesis.GenerationMode.NEGATIVE)
            for mode in modes:
                cases = operation.as_strategy(generation_mode=mode)
                if mode is schemathesis.GenerationMode.POSITIVE:
                    cases = cases.filter(partial(addressed, told))

                @seeded
                @given(cases)
                def probe(case: schemathesis.Case[Any]) -> None:
                    response = case.call(base_url=url, headers=headers, timeout=10)
                    case.validate_response(response)

                probe()
