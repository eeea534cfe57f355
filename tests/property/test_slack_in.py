"""Whatever comes in from Slack: no bytes make reading stumble, and one person or post has one name."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from channels.contract import Answer, Control, Ignored, Inbound
from channels.slack import policy
from channels.slack.parse import (
    Envelope,
    Handshake,
    Installed,
    as_stated,
    parse,
    read,
    read_socket,
)
from channels.slack.parsing.identity import author, clicker
from channels.slack.verify import Refused, Verified, check
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.struct import replace
from gateway.values import Secret
from tests.unit.slack.payloads import FORM, JSON, ME, NAMES, ORG, RULES, sample

KINDS = st.sampled_from([JSON, FORM, f"{JSON}; charset=utf-8", "", "text/plain"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
IDS = st.sampled_from(["T1", "E1", "U1", "C1", "D1", "A1", "B9", "UJUNE", "BJUNE", "1700.1", ""])
VALUES = st.recursive(
    SCALARS | IDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
LISTED = policy.rules(bots=["B9"], external=["C1"], agent_view=False)


# -- nothing stumbles ----------------------------------------------------------------------------------
def judged(found: Envelope | Handshake | Refused) -> None:
    """Whatever it is, each way of looking at it ends in a word."""
    if not isinstance(found, Envelope):
        return
    for me in (None, ME, ORG, as_stated(found)):
        for rules in (RULES, LISTED):
            parsed = parse(found, me, rules)
            assert isinstance(parsed, Inbound | Answer | Control | Ignored)
            assert parsed.event_id
            storable(parsed)


def storable(parsed: Inbound | Answer | Control | Ignored) -> None:
    """All of it can be written down: no lone surrogate, no endless number, no stray colon in ids."""
    written(parsed.event_id, parsed.reply if not isinstance(parsed, Inbound) else None)
    if isinstance(parsed, Inbound):
        files: list[Json] = [[one.id, one.name, one.media_type, one.url] for one in parsed.files]
        written(parsed.text, parsed.event, parsed.target, parsed.fetch, files)
        written(parsed.speaker.id, parsed.speaker.name, parsed.speaker.tenant)
        assert parsed.turn_id.count(":") == parsed.place.key.count(":") == 3
    elif isinstance(parsed, Ignored):
        written(parsed.place, parsed.speaker, parsed.reason, parsed.say)
    else:
        written(*((parsed.by.id, parsed.by.name) if parsed.by else ()))
    keys = () if isinstance(parsed, Ignored) else parsed.keys
    assert bool(keys) is not isinstance(parsed, Ignored)
    assert all(key.startswith("slack:") and key.isprintable() for key in keys)


def written(*values: Json) -> None:
    json.dumps(values, ensure_ascii=False, allow_nan=False).encode()


@given(st.binary(max_size=300), KINDS)
def test_any_bytes_are_read_or_refused(body: bytes, kind: str) -> None:
    judged(read(Verified(body), kind))


@given(VALUES, st.booleans())
def test_any_json_is_read_or_refused(value: Json, form: bool) -> None:
    text = json.dumps(value)
    body = urlencode({"payload": text}) if form else text
    judged(read(Verified(body.encode()), FORM if form else JSON))


@given(st.dictionaries(st.sampled_from(["command", "text", "user_id", "team_id", "payload"]), IDS))
def test_any_form_is_read_or_refused(fields: dict[str, str]) -> None:
    judged(read(Verified(urlencode(fields).encode()), FORM))


@given(st.sampled_from(["events_api", "interactive", "slash_commands", "hello"]), VALUES)
def test_any_frame_is_read_or_refused(kind: str, payload: Json) -> None:
    judged(read_socket(kind, payload))


FRAMES = {"event": "events_api", "interactive": "interactive", "command": "slash_commands"}
WHOLE = [name for name in NAMES if not name.startswith("socket.")]


@given(st.sampled_from(WHOLE), st.data())
def test_a_payload_with_anything_anywhere_is_still_judged(name: str, data: st.DataObject) -> None:
    """Each field of a real payload in turn gives way to something that it never is."""
    payload = sample(name)
    for _ in range(data.draw(st.integers(1, 3))):
        holder: Json = payload
        while isinstance(holder, dict | list) and holder:
            if isinstance(holder, dict):
                key = data.draw(st.sampled_from(sorted(holder)))
                inner = holder[key]
                if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
                    holder[key] = data.draw(VALUES)
                    break
            else:
                inner = holder[0]
                if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
                    holder[0] = data.draw(VALUES)
                    break
            holder = inner
    judged(read_socket(FRAMES[name.partition(".")[0]], payload))


HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["X-Slack-Signature", "x-slack-request-timestamp", "X-Other"]), st.text()
    ),
    max_size=4,
)


@given(st.lists(st.text(max_size=5)), HEADERS, st.binary(max_size=50), st.integers(0, 10**15))
def test_any_request_is_verified_or_refused(
    secrets: list[str], headers: list[tuple[str, str]], body: bytes, now: int
) -> None:
    keys = [Secret(one.encode("ascii", "ignore").decode()) for one in secrets]
    found = check(keys, headers, body, Millis(now))
    assert isinstance(found, Refused)
    assert 400 <= found.status < 500


# -- one person ----------------------------------------------------------------------------------------
def said(me: Installed, message: JsonObject, outer: JsonObject) -> str:
    payload: JsonObject = {
        "type": "event_callback",
        "api_app_id": "A1",
        "event": message,
        "authorizations": [
            {
                "team_id": me.team or None,
                "enterprise_id": me.enterprise or None,
                "is_enterprise_install": me.org,
                "user_id": "UJUNE",
                "is_bot": True,
            }
        ],
        **outer,
    }
    found = read(Verified(json.dumps(payload).encode()), JSON)
    assert isinstance(found, Envelope)
    assert found.installation == me.key
    return author(found, me, message).speaker.id


def pressed(me: Installed, user: JsonObject, team: Json) -> str:
    payload: JsonObject = {
        "type": "block_actions",
        "user": user,
        "team": team,
        "enterprise": {"id": me.enterprise} if me.enterprise else None,
        "is_enterprise_install": me.org,
    }
    body = urlencode({"payload": json.dumps(payload)}).encode()
    found = read(Verified(body), FORM)
    assert isinstance(found, Envelope)
    assert found.installation == me.key
    return clicker(found, me).speaker.id


INSTALLATIONS = st.sampled_from(
    [
        replace(ME, enterprise=""),
        replace(ME, enterprise="E1", teams=frozenset({"T1", "T2", "T3"})),
        ORG,
    ]
)


@st.composite
def members(draw: st.DrawFn) -> tuple[Installed, set[str]]:
    """All that Slack may tell of one of our own people, in any of the shapes that it uses."""
    me = draw(INSTALLATIONS)
    user = draw(st.sampled_from(["U1", "W1"]))
    homes = sorted(me.teams | {me.team} - {""}) or ["T1"]
    names: set[str] = set()
    for shared in (True, False):
        home = draw(st.sampled_from(homes))
        outer: JsonObject = {"team_id": home, "is_ext_shared_channel": shared}
        if me.enterprise:
            outer["enterprise_id"] = me.enterprise
        ours = draw(st.sampled_from([home, *([me.enterprise] if me.enterprise else [])]))
        away: JsonObject = {"team_id": "T7", "enterprise_id": "E7", "is_ext_shared_channel": True}
        names |= {
            said(me, {"type": "message", "user": user, "team": home}, outer),
            said(me, {"type": "app_mention", "user": user, "user_team": ours, "team": home}, outer),
            said(me, {"type": "app_mention", "user": user, "user_team": ours, "team": "T7"}, away),
        }
    claimed = draw(st.sampled_from([*homes, *([me.enterprise] if me.enterprise else [])]))
    team: Json = {"id": me.team, "enterprise_id": me.enterprise or None}
    names.add(pressed(me, {"id": user, "team_id": claimed}, None if me.org else team))
    return me, names


@given(members())
def test_a_member_is_one_person_in_messages_and_clicks(found: tuple[Installed, set[str]]) -> None:
    me, names = found
    assert len(names) == 1
    assert names.pop().startswith(f"slack:{me.key}:")


@given(INSTALLATIONS, st.sampled_from(["T7", "E7"]), st.booleans(), st.sampled_from(["T7", "E7"]))
def test_a_stranger_never_has_a_members_name(
    me: Installed, home: str, named: bool, clicked: str
) -> None:
    """A member and a stranger may have the same user id: it is unique within one home only."""
    here: JsonObject = {"team_id": me.team or "T1", "is_ext_shared_channel": True}
    away: JsonObject = {"team_id": "T7", "enterprise_id": "E7", "is_ext_shared_channel": True}
    team: Json = None if me.org else {"id": me.team, "enterprise_id": me.enterprise or None}
    mention: JsonObject = {"user": "U1", "user_team": home, "team": me.team or "T1"}
    names = {
        said(me, mention, here),
        said(me, {"user": "U1", "team": "T7"}, away),
        pressed(me, {"id": "U1", "team_id": clicked}, team),
    }
    if named:
        names.add(said(me, {"user": "U1"}, here))
    assert not any(name.startswith(f"slack:{me.key}:") for name in names)


# -- one post ------------------------------------------------------------------------------------------
STAMPS = st.from_regex(r"[0-9]{10}\.[0-9]{6}", fullmatch=True)


@given(
    STAMPS,
    st.none() | STAMPS,
    st.sampled_from(["C1", "G1", "D1"]),
    st.text(max_size=20),
    st.booleans(),
)
def test_both_copies_of_a_mention_are_one_turn(
    ts: str, thread: str | None, channel: str, text: str, typed: bool
) -> None:
    common: JsonObject = {
        "user": "U1",
        "text": f"<@UJUNE> {text}".replace("`", "'"),
        "ts": ts,
        "channel": channel,
        "event_ts": ts,
        "client_msg_id": "c1",
        "team": "T1",
    }
    if thread is not None:
        common["thread_ts"] = thread
    message: JsonObject = {**common, "type": "message"}
    if typed:
        message["channel_type"] = {"C": "channel", "G": "group", "D": "im"}[channel[0]]
    copies: list[Inbound] = []
    for n, event in enumerate((message, {**common, "type": "app_mention"})):
        payload = {**sample("event.message_mention"), "event": event, "event_id": f"Ev{n}"}
        found = read(Verified(json.dumps(payload).encode()), JSON)
        assert isinstance(found, Envelope)
        parsed = parse(found, ME, RULES)
        assert isinstance(parsed, Inbound)
        copies.append(parsed)
    one, two = copies
    assert one.turn_id == two.turn_id == f"slack:T1:{channel}:{ts}"
    assert one.place == two.place
    assert one.speaker == two.speaker
    assert one.text == two.text
    assert one.addressed == two.addressed
    assert one.target == two.target
    assert one.keys[1:] == two.keys[1:]
    assert one.keys[0] != two.keys[0]
