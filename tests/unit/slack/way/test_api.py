"""One request per call, whatever happens to it, and the right word for what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

import channels.slack.api as module
from channels.slack.api import Fetched, Replied, Silent, SlackWeb, classify, trusted
from channels.slack.calls import Ambiguous, NotNow, Ok, Outcome, Refused
from gateway.engine.errors import StoreUnavailableError
from gateway.engine.kinds import JsonObject
from gateway.testing.slack import Fault, Limits, Playground, playground
from gateway.testing.time import ScaledTime
from tests.unit.emulator.stage import serving

POST = "chat.postMessage"
UPDATE = "chat.update"
LIMITED = "Slack limits the rate of this call"


class OneToken:
    """A token for one installation, and the one that comes after it."""

    def __init__(self, installation: str, token: str, then: str | None = None) -> None:
        self.installation, self.now, self.then = installation, token, then
        self.away = False

    async def token(self, installation: str) -> str | None:
        if self.away:
            raise StoreUnavailableError("away", fix="wait")
        return self.now if installation == self.installation else None

    async def renewed(self, installation: str, stale: str) -> str | None:
        if self.then is not None and stale == self.now:
            self.now = self.then
            return self.now
        return None


@asynccontextmanager
async def opened(api_url: str, tokens: OneToken, speed: float = 50.0) -> AsyncIterator[SlackWeb]:
    api = SlackWeb(tokens, api_url, waits=ScaledTime(speed))
    await api.open()
    try:
        yield api
    finally:
        await api.close()


class Desk:
    """acme with our client at work in it."""

    def __init__(self, play: Playground, api: SlackWeb, tokens: OneToken) -> None:
        self.play, self.api, self.tokens = play, api, tokens
        self.acme, self.slack = play.acme.id, play.slack

    async def call(self, method: str = POST, **args: Any) -> Outcome:
        given: JsonObject = {"channel": self.play.support.id, "text": "hello", **args}
        return await self.api.call(self.acme, method, given)

    @property
    def texts(self) -> list[str]:
        return [shown.text for shown in self.slack.shown(self.play.support)]


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with playground(ScaledTime(50.0), limits=Limits(enabled=False)) as play:
        tokens = OneToken(play.acme.id, play.june.token)
        async with opened(play.slack.api_url, tokens) as api:
            yield Desk(play, api, tokens)


# -- what becomes of one call ----------------------------------------------------------------------
async def test_a_call_that_is_carried_out(desk: Desk) -> None:
    blocks: Any = [{"type": "section", "text": {"type": "mrkdwn", "text": "é *b*"}}]
    found = await desk.call(blocks=blocks, unfurl_links=False, thread_ts=None, mrkdwn=True)
    assert isinstance(found, Ok)
    assert found.data["channel"] == desk.play.support.id
    (called,) = desk.slack.journal.of(POST)
    assert called.arguments["unfurl_links"] == "false"
    assert "thread_ts" not in called.arguments
    assert desk.texts == ["é *b*"]


FAULTS: list[tuple[str, float, str, type[Outcome], type[Outcome], int]] = [
    # fault, its seconds, its error; what a post and an update become; how many posts there are
    ("rate_limited", 7, "", NotNow, NotNow, 0),
    ("http_500", 0, "", Ambiguous, NotNow, 0),
    ("http_503_html", 0, "", Ambiguous, NotNow, 0),
    ("not_ok", 0, "internal_error", Ambiguous, NotNow, 0),
    ("not_ok", 0, "fatal_error", Ambiguous, NotNow, 0),
    ("not_ok", 0, "service_unavailable", Ambiguous, NotNow, 0),
    ("not_ok", 0, "request_timeout", Ambiguous, NotNow, 0),
    ("not_ok", 0, "ratelimited", NotNow, NotNow, 0),
    ("not_ok", 0, "team_added_to_org", NotNow, NotNow, 0),
    ("not_ok", 0, "org_login_required", NotNow, NotNow, 0),
    ("not_ok", 0, "is_archived", Refused, Refused, 0),
    ("slow", 30, "", Ambiguous, Ambiguous, 0),
    ("drop_before", 0, "", Ambiguous, Ambiguous, 0),
    ("drop_after", 0, "", Ambiguous, Ambiguous, 1),
    ("cut_body", 0, "", Ambiguous, NotNow, 1),
    ("token_revoked", 0, "", Refused, Refused, 0),
    ("missing_scope", 0, "", Refused, Refused, 0),
]


@pytest.mark.parametrize(("kind", "seconds", "error", "post", "update", "posted"), FAULTS)
async def test_each_fault_has_its_word_and_costs_one_request(
    desk: Desk,
    kind: Any,
    seconds: float,
    error: str,
    post: type[Outcome],
    update: type[Outcome],
    posted: int,
) -> None:
    fault: Any = {"seconds": seconds} if seconds else {"error": error} if error else {}
    desk.slack.faults.add(Fault(kind, POST, **fault))
    assert type(await desk.call()) is post
    assert len(desk.texts) == posted
    desk.slack.faults.repair()

    assert isinstance(told := await desk.call(text="what is edited"), Ok)
    desk.slack.faults.add(Fault(kind, UPDATE, **fault))
    assert type(await desk.call(UPDATE, ts=told.data["ts"])) is update
    assert len(desk.slack.journal.of(POST)) == 2
    assert len(desk.slack.journal.of(UPDATE)) == 1


async def test_how_long_to_wait_is_slacks_word(desk: Desk) -> None:
    desk.slack.faults.add(Fault("rate_limited", POST, seconds=7))
    assert await desk.call() == NotNow(7.0, LIMITED)


async def test_the_sdk_left_alone_posts_twice(desk: Desk) -> None:
    """Why its retries are off: the same fault under its own settings."""
    client = AsyncWebClient(token=desk.play.june.token, base_url=desk.slack.api_url)
    desk.slack.faults.add(Fault("drop_after", POST))
    await client.chat_postMessage(channel=desk.play.support.id, text="hello")
    assert desk.texts == ["hello", "hello"]
    desk.slack.faults.add(Fault("drop_after", POST))
    # At real speed: with less time the second attempt would only be too late.
    async with opened(desk.slack.api_url, desk.tokens, speed=1.0) as api:
        args: JsonObject = {"channel": desk.play.support.id, "text": "hello"}
        assert isinstance(await api.call(desk.acme, POST, args), Ambiguous)
    assert desk.texts == ["hello"] * 3


async def test_nobody_listens_there() -> None:
    async with opened("http://127.0.0.1:9/api/", OneToken("T1", "xoxb-1")) as api:
        found = await api.call("T1", POST, {"text": "hello"})
    assert found == NotNow(1.0, "no answer: ClientConnectorError"), "it was never sent"


ODD: list[tuple[web.Response, type[Outcome]]] = [
    (web.Response(text="ok"), Ambiguous),
    (web.Response(text='{"ok": true}'), Ambiguous),
    (web.json_response([1, 2]), Ambiguous),
    (web.json_response(None), Ambiguous),
    (web.json_response({"ok": False}), Ambiguous),
    (web.json_response({"ok": "yes"}), Ambiguous),
    (web.Response(body=b"\xff{", content_type="application/json"), Ambiguous),
    (web.Response(text="<html>", content_type="text/html"), Ambiguous),
    (web.json_response({"ok": True}, status=500), Ambiguous),
    (web.Response(status=404, text="no"), Refused),
    (web.Response(status=413, text="<html>", content_type="text/html"), Refused),
    (web.Response(status=429, text="slow down"), NotNow),
    (web.json_response({"ok": False, "error": "ratelimited"}, status=429), NotNow),
]


async def test_answers_that_no_api_should_give() -> None:
    answers = iter(ODD)

    async def odd(_: web.Request) -> web.Response:
        return next(answers)[0]

    async with serving(odd) as url, opened(url.removesuffix("slack"), OneToken("T1", "t")) as api:
        found = [type(await api.call("T1", "slack", {})) for _ in ODD]
    assert found == [word for _, word in ODD]


# -- the rule by itself ------------------------------------------------------------------------------
def test_a_wait_that_cant_be_read_is_a_long_one() -> None:
    for given in (None, "", "soon", "-3", "1e9", "99999999", "٣"):
        found = classify(POST, Replied(429, None, given))
        assert isinstance(found, NotNow)
        assert found.after == 30
    assert classify(POST, Replied(429, None, " 3 ")) == NotNow(3.0, LIMITED)


def test_what_was_never_sent_is_no_doubt() -> None:
    assert classify(POST, Silent(False, "refused")) == NotNow(1.0, "refused")
    assert classify(POST, Silent(True, "cut")) == Ambiguous("cut")
    assert classify("conversations.replies", Silent(True, "cut")) == NotNow(1.0, "cut")


# -- tokens ----------------------------------------------------------------------------------------------
async def test_each_installation_has_its_token_and_no_other(desk: Desk) -> None:
    assert await desk.api.call("T0THER", POST, {}) == Refused("no_installation", {})
    assert desk.slack.journal.of(POST) == []


async def test_an_expired_token_is_renewed_for_the_next_call(desk: Desk) -> None:
    good = desk.tokens.now
    desk.slack.faults.add(Fault("not_ok", POST, error="token_expired"))
    desk.tokens.now, desk.tokens.then = "xoxb-old", good
    found = await desk.call()
    assert isinstance(found, NotNow)
    assert found.after == 0
    assert isinstance(await desk.call(), Ok)
    assert len(desk.slack.journal.of(POST)) == 2
    desk.slack.faults.add(Fault("not_ok", POST, error="token_expired"))
    refused = await desk.call()
    assert isinstance(refused, Refused)
    assert refused.code == "token_expired", "there is no other"


async def test_a_store_that_is_away_is_a_reason_to_wait(desk: Desk) -> None:
    desk.tokens.away = True
    assert isinstance(await desk.call(), NotNow)
    assert isinstance(await desk.api.fetch(desk.acme, desk.slack.url, 10), NotNow)
    assert desk.slack.journal.calls == []


async def test_a_client_that_is_closed_sends_nothing(desk: Desk) -> None:
    await desk.api.close()
    assert isinstance(await desk.call(), NotNow)
    assert isinstance(await desk.api.upload(desk.slack.url, b""), NotNow)
    assert isinstance(await desk.api.fetch(desk.acme, desk.slack.url, 10), NotNow)
    await desk.api.close()


def test_the_environment_gives_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert module._client("http://127.0.0.1:9/api/").proxy is None


# -- files -----------------------------------------------------------------------------------------------
async def shared(desk: Desk, body: bytes) -> str:
    """The address of a file that ada has posted."""
    message = await desk.play.ada.say(desk.play.support, "look", files={"notes.txt": body})
    found = await desk.api.call(desk.acme, "files.info", {"file": message.files[0]})
    assert isinstance(found, Ok)
    file: Any = found.data["file"]
    return str(file["url_private"])


async def test_a_file_comes_with_its_type(desk: Desk) -> None:
    url = await shared(desk, b"one\ntwo")
    assert await desk.api.fetch(desk.acme, url, 7) == Fetched(200, "text/plain", b"one\ntwo")
    assert await desk.api.fetch(desk.acme, url, 6) == Refused("too_large", {})
    gone = await desk.api.fetch(desk.acme, f"{desk.slack.url}/files-pri/F0/x.txt", 99)
    assert isinstance(gone, Fetched)
    assert gone.status == 404


async def test_what_is_uploaded_arrives_and_an_address_is_good_for_once(desk: Desk) -> None:
    asked = await desk.api.call(
        desk.acme, "files.getUploadURLExternal", {"filename": "answer.md", "length": 5}
    )
    assert isinstance(asked, Ok)
    url, name = str(asked.data["upload_url"]), str(asked.data["file_id"])
    assert await desk.api.upload(url, b"hello") == Ok({})
    assert desk.slack.world.files[name].body == b"hello"
    assert await desk.api.upload(url, b"again") == Refused("http_404", {})


async def test_a_token_follows_no_redirect_to_strangers() -> None:
    seen: list[str] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization", ""))
        return web.Response(text="thanks")

    async def redirect(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": request.query.get("to", "/round")})

    async with (
        getting(elsewhere) as foreign,
        getting(redirect) as home,
        opened(f"{home}/api/", OneToken("T1", "xoxb-1")) as api,
    ):
        away = await api.fetch("T1", f"{home}/a?to={foreign}/b", 99)
        straight = await api.fetch("T1", f"{foreign}/b", 99)
        circle = await api.fetch("T1", f"{home}/round", 99)
    assert away == straight == Refused("foreign_address", {})
    assert circle == Refused("too_many_redirects", {})
    assert seen == []


@asynccontextmanager
async def getting(handler: Any) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


SLACK = "https://slack.com/api/"
LOOPBACK = "http://127.0.0.1:8080/api/"


@pytest.mark.parametrize(
    ("url", "api_url", "good"),
    [
        ("https://files.slack.com/files-pri/T1-F1/a.png", SLACK, True),
        ("https://acme.slack.com/?redir=x", SLACK, True),
        ("https://slack.com/x", SLACK, True),
        ("https://files.slack-gov.com/x", "https://slack-gov.com/api/", True),
        ("http://127.0.0.1:8080/files-pri/F1/a", LOOPBACK, True),
        ("http://127.0.0.1:8081/files-pri/F1/a", LOOPBACK, False),
        ("http://files.slack.com/x", SLACK, False),
        ("https://files.slack.com:444/x", SLACK, False),
        ("https://slack.com.example.org/x", SLACK, False),
        ("https://notslack.com/x", SLACK, False),
        ("https://slack.com@example.org/x", SLACK, False),
        ("https://ada@files.slack.com/x", SLACK, False),
        ("https://example.org\\.slack.com/x", SLACK, False),
        ("https://[::1/x", SLACK, False),
        ("https://files.slack.com:port/x", SLACK, False),
        ("ftp://files.slack.com/x", SLACK, False),
        ("/files", SLACK, False),
        ("", SLACK, False),
    ],
)
def test_where_a_token_may_go(url: str, api_url: str, good: bool) -> None:
    assert trusted(url, api_url) is good


async def test_nothing_that_is_secret_is_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await desk.call(text="the text")
    desk.slack.faults.add(Fault("cut_body", POST))
    await desk.call(text="the text")
    lines = [record.getMessage() for record in caplog.records]
    assert not [line for line in lines if "the text" in line or desk.tokens.now in line]
