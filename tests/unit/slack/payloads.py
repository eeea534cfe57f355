"""Slack's payloads for tests: the samples, opened as they would be when they come in."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlencode

import channels.slack
from channels.contract import Answer, Control, Ignored, Inbound, Parsed
from channels.slack import policy
from channels.slack.parse import Envelope, Installed, parse, read, read_socket
from channels.slack.policy import SlackRules
from channels.slack.verify import Verified
from gateway.engine.kinds import Json, JsonObject

FOLDER = Path(channels.slack.__file__).parent / "samples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))

ME = Installed(key="T1", app="A1", team="T1", bot_user="UJUNE", bot_id="BJUNE")
ORG = Installed(
    key="E1",
    app="A1",
    enterprise="E1",
    org=True,
    bot_user="UJUNE",
    bot_id="BJUNE",
    teams=frozenset({"T1", "T2"}),
)
RULES = policy.rules()

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


def sample(name: str) -> JsonObject:
    found: JsonObject = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def wire(how: str, payload: JsonObject) -> tuple[bytes, str]:
    """The body and its content type."""
    if how == "event":
        return json.dumps(payload).encode(), f"{JSON}; charset=utf-8"
    fields = payload if how == "command" else {"payload": json.dumps(payload)}
    return urlencode(fields).encode(), FORM


def opened(how: str, payload: JsonObject) -> Envelope:
    if how == "socket":
        found = read_socket(str(payload["type"]), payload["payload"])
    else:
        body, kind = wire(how, payload)
        found = read(Verified(body), kind)
    assert isinstance(found, Envelope), found
    return found


def envelope(name: str) -> Envelope:
    return opened(name.partition(".")[0], sample(name))


def told(name: str, me: Installed | None = ME, rules: SlackRules = RULES) -> Parsed:
    return parse(envelope(name), me, rules)


def altered(name: str, *without: str, **event: Json) -> JsonObject:
    """A sample whose inner event has other fields, or fewer."""
    payload = sample(name)
    inner = payload["event"]
    assert isinstance(inner, dict)
    for field in without:
        del inner[field]
    inner.update(event)
    return payload


def event(payload: JsonObject, me: Installed | None = ME, rules: SlackRules = RULES) -> Parsed:
    return parse(opened("event", payload), me, rules)


def inbound(found: Parsed) -> Inbound:
    assert isinstance(found, Inbound), found
    return found


def answer(found: Parsed) -> Answer:
    assert isinstance(found, Answer), found
    return found


def control(found: Parsed) -> Control:
    assert isinstance(found, Control), found
    return found


def ignored(found: Parsed) -> Ignored:
    assert isinstance(found, Ignored), found
    return found
