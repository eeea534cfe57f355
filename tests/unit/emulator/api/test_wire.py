"""However a client puts its arguments, they arrive; and every way of being refused has its word."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.unit.emulator.stage import Play, buttons, http

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


async def said(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    assert answer.status == 200
    body: dict[str, Any] = await answer.json()
    return body


@pytest.mark.parametrize("way", ["query", "form", "json", "multipart", "half"])
async def test_arguments_arrive_from_everywhere(play: Play, way: str) -> None:
    channel, text = play.support.id, "straße & <more>"
    url = f"{play.slack.api_url}chat.postMessage"
    bearer = {"Authorization": f"Bearer {play.june.token}"}
    args = {"channel": channel, "text": text}
    async with http() as session:
        match way:
            case "query":
                sent = session.get(url, params=args, headers=bearer)
            case "form":
                sent = session.post(url, data=args, headers=bearer)
            case "json":
                sent = session.post(url, json=args, headers=bearer)
            case "multipart":
                form = aiohttp.FormData(args, default_to_multipart=True)
                sent = session.post(url, data=form, headers=bearer)
            case _:
                sent = session.post(
                    url, params={"channel": channel}, json={"text": text}, headers=bearer
                )
        async with sent as answer:
            assert (await said(answer))["ok"] is True
    assert [shown.text for shown in play.slack.shown(play.support)] == [text]


async def test_the_token_may_be_an_argument_and_the_header_wins(play: Play) -> None:
    url = f"{play.slack.api_url}auth.test"
    async with http() as session:
        async with session.post(url, data={"token": play.june.token}) as answer:
            assert (await said(answer))["user_id"] == play.june.user
        bearer = {"Authorization": f"Bearer {play.june.token}"}
        async with session.post(url, data={"token": "xoxb-nobody"}, headers=bearer) as answer:
            assert (await said(answer))["ok"] is True
    (first, second) = play.slack.journal.of("auth.test")
    assert "token" not in first.arguments | second.arguments, "the journal is printed"
    assert "authorization" not in second.headers


async def test_json_inside_a_form_and_booleans_in_any_spelling(play: Play) -> None:
    url = f"{play.slack.api_url}chat.postMessage"
    bearer = {"Authorization": f"Bearer {play.june.token}"}
    root = (await play.post())["ts"]
    async with http() as session:
        for spelling in ("1", "true"):
            args = {
                "channel": play.support.id,
                "text": "f",
                "thread_ts": root,
                "blocks": json.dumps(buttons("Go")),
                "reply_broadcast": spelling,
            }
            async with session.post(url, data=args, headers=bearer) as answer:
                message = (await said(answer))["message"]
            assert message["subtype"] == "thread_broadcast"
            assert message["blocks"][0]["elements"][0]["action_id"] == "go"


async def test_what_isnt_json_is_told_so(play: Play) -> None:
    url = f"{play.slack.api_url}chat.postMessage"
    headers = {"Authorization": f"Bearer {play.june.token}", **JSON}
    async with http() as session:
        for body, error in (
            (b"{", "invalid_json"),
            (b"[1]", "json_not_object"),
            (b"\xff", "invalid_json"),
        ):
            async with session.post(url, data=body, headers=headers) as answer:
                assert (await said(answer))["error"] == error
        async with session.post(url, data=b"[" * 100_000, headers=headers) as answer:
            assert (await said(answer))["error"] == "invalid_json"


@pytest.mark.parametrize("blocks", ["{", '{"type": "divider"}', '["text"]', 7])
async def test_blocks_that_arent_a_list_of_objects(play: Play, blocks: object) -> None:
    refused = await play.refusal("chat.postMessage", channel=play.support.id, blocks=blocks)
    assert refused["error"] == "invalid_blocks_format"


async def test_an_unknown_method_is_named(play: Play) -> None:
    refused = await play.refusal("chat.shout", text="x")
    assert (refused["error"], refused["req_method"]) == ("unknown_method", "chat.shout")


async def test_what_is_missing_is_pointed_at(play: Play) -> None:
    refused = await play.refusal("users.lookupByEmail")
    assert refused["error"] == "users_not_found"
    assert "email" in refused["response_metadata"]["messages"][0]
    assert await play.refused("conversations.list", limit="many") == "invalid_arguments"


async def test_api_test_gives_back_what_it_was_given(play: Play) -> None:
    assert (await play.call("api.test", foo="bar"))["args"] == {"foo": "bar"}
    assert await play.refused("api.test", error="my_error") == "my_error"
