"""The webhook: nobody but Slack, nothing acknowledged that isn't kept, a word for everything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.signature import SignatureVerifier

from channels.contract import HookReply, HookRequest
from channels.slack.ingress import Ingress
from channels.slack.parse import Installed
from channels.slack.verify import MAX_BODY
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.struct import replace
from gateway.values import Secret
from tests.unit.slack.payloads import JSON, ME, NAMES, RULES, altered, sample, wire
from tests.unit.slack.test_verify import sign
from tests.unit.slack.way.house import House, housed

SECRET = Secret("8f742231b10e8888abcd99yyyzzz85a5")
NOW = Millis(1_700_000_400_000)


class OneHome:
    """The app is installed in acme only."""

    async def installed(self, key: str) -> Installed | None:
        return ME if key == ME.key else None


def made(*secrets: Secret) -> Ingress:
    return Ingress(secrets or (SECRET,), RULES, OneHome())


def signed(body: bytes, *, secret: Secret = SECRET, at: Millis = NOW) -> dict[str, str]:
    """By Slack's own SDK, where that can: it signs texts only."""
    stamp = str(at // 1000)
    try:
        theirs = SignatureVerifier(secret.value)
        signature = theirs.generate_signature(timestamp=stamp, body=body)
    except UnicodeDecodeError:
        signature = sign(body, stamp, secret)
    assert signature is not None
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": signature}


def request(body: bytes, headers: Mapping[str, str], kind: str = JSON) -> HookRequest:
    return HookRequest(
        method="POST",
        path="",
        query={},
        headers={"content-type": kind, **headers},
        body=body,
        at=NOW,
    )


async def send(ingress: Ingress, how: str, payload: JsonObject) -> HookReply:
    body, kind = wire(how, payload)
    return await ingress.handle(request(body, signed(body), kind))


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with housed() as found:
        yield found


@pytest.fixture
def ingress(house: House) -> Ingress:
    found = made()
    found.begin(house.ctx)
    return found


# -- who is let in -------------------------------------------------------------------------------------
async def test_a_mention_is_kept_and_then_acknowledged(house: House, ingress: Ingress) -> None:
    assert await send(ingress, "event", sample("event.app_mention")) == HookReply()
    assert [word for word, _ in await house.verdicts()] == ["accepted"]
    assert await house.turns() == 1
    assert not ingress.refused


async def test_two_events_of_one_post_sent_twice_at_once_are_one_turn(
    house: House, ingress: Ingress
) -> None:
    async with asyncio.TaskGroup() as both:
        sent = [
            both.create_task(send(ingress, "event", sample(name)))
            for name in ("event.message_mention", "event.app_mention") * 2
        ]
    assert [task.result() for task in sent] == [HookReply()] * 4
    assert await house.turns() == 1


async def test_the_handshake_gives_the_challenge_back_as_text(ingress: Ingress) -> None:
    asked = sample("event.url_verification")
    reply = await send(ingress, "event", asked)
    assert (reply.status, reply.body.decode()) == (200, asked["challenge"])
    assert reply.headers["Content-Type"].startswith("text/plain")
    unsigned = await ingress.handle(request(json.dumps(asked).encode(), {}))
    assert unsigned.status == 401
    assert str(asked["challenge"]).encode() not in unsigned.body


async def test_the_check_of_our_certificate_must_be_signed_too(ingress: Ingress) -> None:
    form = "application/x-www-form-urlencoded"
    body = b"ssl_check=1&token=x"
    assert await ingress.handle(request(body, signed(body), form)) == HookReply(
        200, b"", {"Content-Type": "text/plain; charset=utf-8"}
    )
    assert (await ingress.handle(request(body, {}, form))).status == 401


BODY = json.dumps(sample("event.app_mention")).encode()
OLD = Millis(NOW - 301_000)
STRANGERS: dict[str, dict[str, str]] = {
    "header_missing": {},
    "stale": signed(BODY, at=OLD),
    "signature": signed(BODY, secret=Secret("another")),
    "signature_form": {**signed(BODY), "x-slack-signature": "v0=é"},
    "timestamp": {**signed(BODY), "x-slack-request-timestamp": "now"},
}


@pytest.mark.parametrize("reason", STRANGERS)
async def test_a_stranger_is_counted_and_leaves_nothing(
    house: House, ingress: Ingress, reason: str
) -> None:
    reply = await ingress.handle(request(BODY, STRANGERS[reason]))
    assert reply.status == 401
    assert "X-Slack-No-Retry" not in reply.headers, "a clock or a secret may be put right"
    assert reply.body, "it says why"
    assert ingress.refused == {reason: 1}
    assert await house.verdicts() == []


async def test_without_a_secret_nobody_is_let_in() -> None:
    ingress = Ingress((Secret(""),), RULES, OneHome())
    unkeyed = {**signed(BODY), "x-slack-signature": "v0=" + "0" * 64}
    for headers in (signed(BODY), unkeyed, {}):
        reply = await ingress.handle(request(BODY, headers))
        assert reply.status == 401
        assert b"SLACK_SIGNING_SECRET" in reply.body
    assert (await Ingress((), RULES, OneHome()).handle(request(BODY, signed(BODY)))).status == 401


async def test_while_a_secret_is_changed_both_are_good(house: House) -> None:
    old = Secret("the one before")
    ingress = made(SECRET, old)
    ingress.begin(house.ctx)
    assert await ingress.handle(request(BODY, signed(BODY, secret=old))) == HookReply()


JUNK: dict[str, tuple[bytes, str, int]] = {
    "not_json": (b"{", JSON, 400),
    "not utf-8": (b"\xff\xfe{}", JSON, 400),
    "too_deep": (b'{"a":' * 150 + b"1" + b"}" * 150, JSON, 400),
    "not_an_object": (b"[]", JSON, 400),
    "content_type": (b"{}", "text/html", 415),
    "field_twice": (b"payload=1&payload=2", "application/x-www-form-urlencoded", 400),
    "unknown_payload": (b'{"type":"x"}', JSON, 400),
    "too_large": (b"x" * (MAX_BODY + 1), JSON, 413),
}


@pytest.mark.parametrize("what", JUNK)
async def test_signed_junk_is_refused_for_good(house: House, ingress: Ingress, what: str) -> None:
    body, kind, status = JUNK[what]
    reply = await ingress.handle(request(body, signed(body), kind))
    assert reply.status == status
    assert reply.headers["X-Slack-No-Retry"] == "1"
    assert ingress.refused.total() == 1
    assert await house.verdicts() == []


async def test_what_cant_be_kept_is_to_be_sent_again(house: House, ingress: Ingress) -> None:
    await house.store.close()
    for how, name in (
        ("event", "event.app_mention"),
        ("interactive", "interactive.approve"),
        ("interactive", "interactive.view_submission"),
        ("command", "command.reset"),
    ):
        reply = await send(ingress, how, sample(name))
        assert reply.status == 503
        assert "X-Slack-No-Retry" not in reply.headers
    await house.store.open()


async def test_before_the_start_slack_is_asked_to_come_again() -> None:
    assert (await send(made(), "event", sample("event.app_mention"))).status == 503


# -- what an operator is told ----------------------------------------------------------------------------
async def test_refusals_are_told_once_for_each_reason_and_minute(
    ingress: Ingress, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = request(BODY, {**STRANGERS["signature"], "x-more": "tell-nobody"})
    for _ in range(3):
        await ingress.handle(wrong)
    await ingress.handle(request(BODY, {}))
    first, other = caplog.messages
    assert first == (
        "slack: 1 request was refused: the signature isn't made with SLACK_SIGNING_SECRET; copy it from"
        " the app's page, Basic Information → Signing Secret"
    )
    assert other == "slack: 1 request was refused: not as Slack sends them (header_missing)"
    caplog.clear()
    later = Millis(NOW + 60_000)
    await ingress.handle(replace(wrong, at=later))
    (again,) = caplog.messages
    assert again.startswith("slack: 3 requests were refused: the signature isn't made with")
    told = f"{first}{other}{again}"
    assert not [one for one in ("tell-nobody", "1042", *wrong.headers.values()) if one in told]


async def test_a_wrong_secret_is_a_problem_until_something_is_verified(ingress: Ingress) -> None:
    async def problem_after(headers: dict[str, str]) -> str:
        await ingress.handle(request(BODY, headers))
        return str(ingress.problem)

    assert await problem_after({}) == "None", "that was nobody who has a secret at all"
    assert "SLACK_SIGNING_SECRET" in await problem_after(STRANGERS["signature"])
    assert await problem_after(signed(BODY)) == "None"
    assert "clock" in await problem_after(STRANGERS["stale"])
    await ingress.take_frame("events_api", sample("event.app_mention"))
    assert ingress.problem is None, "what comes by socket is verified, too"


@pytest.mark.parametrize(
    ("ours", "fix"),
    [(ME.key, f"SLACK_BOT_TOKEN is of {ME.key}; set that of T0THER"), (None, "/install")],
)
async def test_a_workspace_that_isnt_ours_is_told_once(
    house: House, ours: str | None, fix: str, caplog: pytest.LogCaptureFixture
) -> None:
    ingress = Ingress([SECRET], RULES, OneHome(), lambda: ours)
    ingress.begin(house.ctx)
    for number in range(2):
        payload = altered("event.app_mention")
        granted: Any = payload["authorizations"]
        granted[0]["team_id"] = "T0THER"
        assert await send(ingress, "event", {**payload, "event_id": f"Ev{number}"}) == HookReply()
    assert await house.verdicts() == [("policy", "unknown-installation")] * 2
    (said,) = caplog.messages
    assert said.startswith("slack: what comes from T0THER starts nothing: ")
    assert fix in said
    assert "gateway why Ev0" in said


# -- every one has its word ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("socket.")])
async def test_each_payload_is_acknowledged_and_has_a_verdict(
    house: House, ingress: Ingress, name: str
) -> None:
    if name == "event.url_verification":
        return
    reply = await send(ingress, name.partition(".")[0], sample(name))
    assert (reply.status, reply.body) == (200, b"")
    assert len(await house.verdicts()) == 1


async def test_an_installation_that_nobody_knows_is_a_policy(
    house: House, ingress: Ingress
) -> None:
    payload = sample("event.app_mention")
    granted: Any = payload["authorizations"]
    granted[0]["team_id"] = "T0THER"
    assert await send(ingress, "event", payload) == HookReply()
    assert await house.verdicts() == [("policy", "unknown-installation")]
    assert await house.turns() == 0


async def test_a_request_for_another_app_is_a_policy(house: House, ingress: Ingress) -> None:
    payload = {**sample("event.app_mention"), "api_app_id": "A0THER"}
    assert await send(ingress, "event", payload) == HookReply()
    assert await house.verdicts() == [("policy", "other-app")]


async def test_words_of_a_message_to_nobody_are_not_kept(house: House, ingress: Ingress) -> None:
    payload = altered("event.message", text="my secret plan")
    assert await send(ingress, "event", payload) == HookReply()
    (row,) = await house.store.ledger.verdicts()
    assert "secret plan" not in repr(row)


# -- clicks and forms --------------------------------------------------------------------------------------
def submission(id: str, **fields: str) -> JsonObject:  # noqa: A002
    payload = sample("interactive.view_submission")
    view: Any = payload["view"]
    view["private_metadata"] = id
    view["state"]["values"] = {
        block: {"entered": {"type": "plain_text_input", "value": value}}
        for block, value in fields.items()
    }
    return payload


async def test_a_form_that_doesnt_fit_stays_open_with_remarks(
    house: House, ingress: Ingress
) -> None:
    asked = await house.parked("form")
    reply = await send(
        ingress, "interactive", submission(asked.request.id, **{"june.in.0": "a lot"})
    )
    told = json.loads(reply.body)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    assert told["response_action"] == "errors"
    assert sorted(told["errors"]) == ["june.in.0", "june.in.1"]
    assert await house.verdicts() == [("unsupported", "form-errors")]
    assert await house.inbox() == []
    assert await house.store.list_requests(), "it is still open"


async def test_a_form_that_fits_becomes_the_value_that_was_asked_for(
    house: House, ingress: Ingress
) -> None:
    asked = await house.parked("form")
    good = submission(asked.request.id, **{"june.in.0": "12.5", "june.in.1": "broken"})
    assert await send(ingress, "interactive", good) == HookReply()
    assert await send(ingress, "interactive", good) == HookReply(), "once is enough"
    ((kind, body),) = await house.inbox()
    assert kind == "answer"
    assert body["value"] == {"amount": 12.5, "note": "broken"}


async def test_a_pick_becomes_the_option_that_it_stands_for(house: House, ingress: Ingress) -> None:
    asked = await house.parked("choice")
    payload = json.loads(
        json.dumps(sample("interactive.pick")).replace("req_AAAAAAAAAAAAAAAA", asked.request.id)
    )
    action: Any = payload["actions"][0]
    action["action_id"] = "june.pick.1"
    assert await send(ingress, "interactive", payload) == HookReply()
    ((_, body),) = await house.inbox()
    assert body["value"] == "reorder"


async def test_an_answer_to_a_request_that_is_gone_is_left_to_those_who_say_so(
    house: House, ingress: Ingress
) -> None:
    assert await send(ingress, "interactive", submission("req_unknown")) == HookReply()
    ((kind, body),) = await house.inbox()
    assert kind == "answer"
    assert "value" not in body


# -- nothing stumbles ----------------------------------------------------------------------------------------
NAMED = st.sampled_from(
    ["x-slack-request-timestamp", "x-slack-signature", "content-type", "content-length", "x"]
)
KINDS = st.sampled_from([JSON, "application/x-www-form-urlencoded", "text/plain", "", "é;;="])


@given(st.binary(max_size=200), st.dictionaries(NAMED, st.text(max_size=80)), KINDS, st.booleans())
def test_no_bytes_and_no_headers_are_a_fault_of_ours(
    body: bytes, headers: dict[str, str], kind: str, good: bool
) -> None:
    ingress = made()
    given = {**headers, **(signed(body) if good else {})}
    reply = asyncio.run(ingress.handle(request(body, given, kind)))
    assert reply.status in {200, 400, 401, 415}
    assert reply.status != 401 or not good


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.sampled_from(NAMES), st.data())
def test_no_payload_is_a_fault_of_ours(name: str, data: st.DataObject) -> None:
    """A real payload in which anything stands where something else belongs, against a real store."""
    payload = sample(name)
    for holder in (payload, payload.get("event"), payload.get("view"), payload.get("user")):
        if isinstance(holder, dict) and holder and data.draw(st.booleans()):
            holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(VALUES)

    async def sent() -> HookReply:
        async with housed() as house:
            ingress = made()
            ingress.begin(house.ctx)
            how = name.partition(".")[0]
            body, kind = wire("event" if how == "socket" else how, payload)
            return await ingress.handle(request(body, signed(body), kind))

    assert asyncio.run(sent()).status in {200, 400}
