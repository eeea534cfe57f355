"""Junk is refused with a word to count by, and whose installation it is stands in the payload."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from channels.contract import Ignored
from channels.slack.parse import Envelope, Handshake, as_stated, parse, read, read_socket
from channels.slack.verify import Refused, Verified
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace
from tests.unit.slack.payloads import (
    FORM,
    JSON,
    ME,
    ORG,
    RULES,
    altered,
    envelope,
    event,
    ignored,
    inbound,
    opened,
    sample,
    told,
)

DEEP = b'{"type":"event_callback","event":' + b"[" * 200 + b"]" * 200 + b"}"
VERY_DEEP = b"[" * 100_000


@pytest.mark.parametrize(
    ("body", "kind", "status", "reason"),
    [
        (b"", JSON, 400, "not_json"),
        (b"{", JSON, 400, "not_json"),
        (b"\xff\xfe{}", JSON, 400, "not_json"),
        (b'{"a":"\xff"}', JSON, 400, "not_json"),
        (b'{"a":NaN}', JSON, 400, "not_json"),
        (b'{"a":[1e999]}', JSON, 400, "not_json"),
        (b'{"a":' + b"9" * 5000 + b"}", JSON, 400, "not_json"),
        (b"\x00", JSON, 400, "not_json"),
        (VERY_DEEP, JSON, 400, "not_json"),
        (DEEP, JSON, 400, "too_deep"),
        (b"[]", JSON, 400, "not_an_object"),
        (b'"event_callback"', JSON, 400, "not_an_object"),
        (b"null", JSON, 400, "not_an_object"),
        (b"{}", JSON, 400, "unknown_payload"),
        (b'{"type":"event_callback"}', JSON, 400, "unknown_payload"),
        (b'{"type":"event_callback","event":[]}', JSON, 400, "unknown_payload"),
        (b'{"type":["event_callback"],"event":{"type":"message"}}', JSON, 400, "unknown_payload"),
        (b"{}", "text/plain", 415, "content_type"),
        (b"{}", "", 415, "content_type"),
        (b"{}", "multipart/form-data; boundary=x", 415, "content_type"),
        (b"", FORM, 400, "unknown_form"),
        (b"a=b", FORM, 400, "unknown_form"),
        (b"payload=", FORM, 400, "not_json"),
        (b"payload=%7B%7D", FORM, 400, "unknown_payload"),
        (b"payload=%5B%5D", FORM, 400, "not_an_object"),
        (b"payload=%FF", FORM, 400, "not_a_form"),
        (b"payload=\xff", FORM, 400, "not_a_form"),
        (b"payload=%7B%7D&payload=%7B%7D", FORM, 400, "field_twice"),
        (b"a=1&" * 60 + b"payload=%7B%7D", FORM, 400, "not_a_form"),
        (b"ssl_check=0", FORM, 400, "unknown_form"),
    ],
)
def test_junk_is_refused(body: bytes, kind: str, status: int, reason: str) -> None:
    found = read(Verified(body), kind)
    assert isinstance(found, Refused)
    assert (found.status, found.reason) == (status, reason)


@pytest.mark.parametrize("payload", [None, 1, "x", [], {}, {"type": "hello"}, {"a": float("nan")}])
@pytest.mark.parametrize("kind", ["events_api", "interactive", "slash_commands", "hello", ""])
def test_junk_in_a_socket_is_refused_or_names_no_installation(kind: str, payload: object) -> None:
    found = read_socket(kind, payload)
    assert isinstance(found, Refused) or isinstance(parse_(found), Ignored)


def parse_(found: Envelope | Handshake) -> object:
    assert isinstance(found, Envelope)
    return parse(found, ME, RULES)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=UTF-8"])
def test_parameters_of_the_content_type_dont_matter(kind: str) -> None:
    body = json.dumps(sample("event.url_verification")).encode()
    assert isinstance(read(Verified(body), kind), Handshake)


def test_a_signed_look_at_the_certificate_gets_an_empty_answer() -> None:
    assert read(Verified(b"ssl_check=1&token=x"), FORM) == Handshake("")


def test_half_a_character_is_mended_not_refused() -> None:
    """A preview that Slack cut in the middle of an emoji costs nobody their message."""
    payload = altered("event.message_mention", "blocks", text="<@UJUNE> \ud83d")
    assert inbound(event(payload)).text == "?"


def test_an_event_without_a_usable_id_has_one_of_its_bytes() -> None:
    unusable: list[Json] = ["", "x" * 200, "a b", "\n", None, 7]
    for given in unusable:
        payload = {**sample("event.message_mention"), "event_id": given}
        first, again = opened("event", payload), opened("event", payload)
        assert first.event_id == again.event_id
        assert first.event_id.startswith("event:")
        assert opened("event", {**payload, "event_time": 1}).event_id != first.event_id


# -- whose it is -------------------------------------------------------------------------------------
CONNECT: JsonObject = {"team_id": "T1", "enterprise_id": None, "is_enterprise_install": False}


@pytest.mark.parametrize(
    ("outer", "authorization", "key"),
    [
        ({"team_id": "T1"}, {"team_id": "T1"}, "T1"),
        ({"team_id": "T7", "enterprise_id": "E7"}, CONNECT, "T1"),
        ({"team_id": "T1", "enterprise_id": "E1"}, {"team_id": "T1", "enterprise_id": "E1"}, "T1"),
        (
            {"team_id": "T1", "enterprise_id": "E1"},
            {"team_id": None, "enterprise_id": "E1", "is_enterprise_install": True},
            "E1",
        ),
        ({"team_id": "T1"}, None, "T1"),
        ({"team_id": "T1", "enterprise_id": "E1"}, None, "T1"),
        ({"enterprise_id": "E1"}, None, "E1"),
        ({"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": True}, None, "E1"),
        ({}, None, ""),
        ({"team_id": "T1:C1"}, None, ""),
        ({"team_id": 1}, {"team_id": ["T1"]}, ""),
    ],
)
def test_the_installation_of_an_event(
    outer: JsonObject, authorization: JsonObject | None, key: str
) -> None:
    payload: JsonObject = {"type": "event_callback", "event": {"type": "message"}, **outer}
    if authorization is not None:
        payload["authorizations"] = [authorization]
    assert opened("event", payload).installation == key


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"team": {"id": "T1"}}, "T1"),
        ({"team": {"id": "T1", "enterprise_id": "E1"}, "is_enterprise_install": False}, "T1"),
        ({"team": None, "enterprise": {"id": "E1"}, "is_enterprise_install": True}, "E1"),
        ({"team": {"id": "T1", "enterprise_id": "E1"}, "is_enterprise_install": True}, "E1"),
        ({"team": {"id": "T7"}, "view": {"app_installed_team_id": "T1"}}, "T1"),
        ({"team": None}, ""),
        ({"team": "T1"}, ""),
    ],
)
def test_the_installation_of_a_click(fields: JsonObject, key: str) -> None:
    assert opened("interactive", {"type": "block_actions", **fields}).installation == key


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"team_id": "T1"}, "T1"),
        ({"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": "false"}, "T1"),
        ({"team_id": "T1", "enterprise_id": "E1", "is_enterprise_install": "true"}, "E1"),
    ],
)
def test_the_installation_of_a_command(fields: JsonObject, key: str) -> None:
    assert opened("command", {"command": "/june", **fields}).installation == key


# -- who isn't here ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["event.message_mention", "interactive.approve", "command.reset"])
def test_nothing_is_done_for_an_installation_that_isnt_ours(name: str) -> None:
    for me in (None, replace(ME, key="T2"), replace(ME, key=""), ORG):
        found = ignored(told(name, me))
        assert (found.verdict, found.rule) == ("policy", "unknown-installation")
    found = ignored(told(name, replace(ME, app="A2")))
    assert (found.verdict, found.rule) == ("policy", "other-app")


def test_a_revoked_installation_hears_nothing_but_that_it_is_gone() -> None:
    off = replace(ME, active=False)
    assert ignored(told("event.message_mention", off)).rule == "installation-off"
    assert ignored(told("interactive.approve", off)).rule == "installation-off"
    assert told("event.app_uninstalled", off) == told("event.app_uninstalled", ME)


def test_an_installation_that_wasnt_asked_yet_is_what_its_event_says() -> None:
    for name in ("event.message_mention", "event.app_mention", "event.message_own"):
        me = as_stated(envelope(name))
        assert (me.key, me.app, me.bot_user) == ("T1", "A1", "UJUNE")
        found, known = told(name, me), told(name, ME)
        assert type(found) is type(known)


def test_urlencoded_text_keeps_its_characters() -> None:
    fields = {**sample("command.help"), "text": "ä & = + % 😀"}
    found = read(Verified(urlencode(fields).encode()), FORM)
    assert isinstance(found, Envelope)
    assert found.payload["text"] == "ä & = + % 😀"
