"""Whatever can go wrong at a call, at the call that was meant, as often as was meant; and the limits."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError

from channels.slack.emulator import Fault, Limits
from channels.slack.emulator.faults import KINDS
from channels.slack.emulator.limits import Limits as Pure
from tests.unit.emulator.stage import Play, chunk, playing

POST = "chat.postMessage"


def texts(play: Play) -> list[str]:
    return [shown.text for shown in play.slack.shown(play.support)]


async def test_too_many_calls(play: Play) -> None:
    play.slack.faults.add(Fault("rate_limited", POST, seconds=7))
    with pytest.raises(SlackApiError) as refused:
        await play.post("a")
    answer = refused.value.response
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert answer["error"] == "ratelimited"
    assert texts(play) == []
    await play.post("a")
    assert texts(play) == ["a"]
    assert play.slack.journal.limited == [], "that one wasn't the client's doing"


@pytest.mark.parametrize(("kind", "status"), [("http_500", 500), ("http_503_html", 503)])
async def test_a_broken_server(play: Play, kind: Any, status: int) -> None:
    play.slack.faults.add(Fault(kind, POST))
    with pytest.raises(SlackApiError) as refused:
        await play.post("a")
    assert refused.value.response.status_code == status
    assert texts(play) == []


@pytest.mark.parametrize(("kind", "posted"), [("drop_before", []), ("drop_after", ["a"])])
async def test_a_line_that_is_cut(play: Play, kind: Any, posted: list[str]) -> None:
    play.slack.faults.add(Fault(kind, POST))
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await play.post("a")
    assert texts(play) == posted
    (call,) = play.slack.journal.of(POST)
    assert (call.status, call.applied, call.fault) == (None, bool(posted), kind)
    assert play.slack.journal.count(POST) == len(posted)


async def test_an_answer_cut_in_the_middle(play: Play) -> None:
    play.slack.faults.add(Fault("cut_body", POST))
    with pytest.raises(SlackApiError, match="JSON"):
        await play.post("a")
    assert texts(play) == ["a"]


async def test_a_slow_answer_still_has_its_effect_when_nobody_waits(play: Play) -> None:
    play.slack.faults.add(Fault("slow", POST, seconds=30))
    impatient = play.client(play.june.token)
    impatient.timeout = 1
    with pytest.raises(TimeoutError):
        await impatient.chat_postMessage(channel=play.support.id, text="a")
    assert texts(play) == []
    await play.time.advance(30)
    await play.slack.until(lambda: texts(play) == ["a"])


async def test_the_nth_call_and_so_many(play: Play) -> None:
    fault = play.slack.faults.add(Fault("not_ok", POST, nth=2, count=2, error="fatal_error"))
    for n in range(5):
        if n in {1, 2}:
            assert await play.refused(POST, channel=play.support.id, text="x") == "fatal_error"
        else:
            await play.post(str(n))
    assert (fault.seen, fault.struck) == (5, 2)


@pytest.mark.parametrize(
    "kind", ["token_revoked", "missing_scope", "is_archived", "not_in_channel"]
)
async def test_what_lasts_until_it_is_repaired(play: Play, kind: Any) -> None:
    play.slack.faults.add(Fault(kind, POST))
    for _ in range(3):
        assert await play.refused(POST, channel=play.support.id, text="a") == kind
    play.slack.faults.repair()
    await play.post("a")


async def test_a_stream_that_dies_or_is_stopped_at_a_call(play: Play) -> None:
    for kind, error in (
        ("stream_expired", "message_not_in_streaming_state"),
        ("user_stops", "stopped_by_user"),
    ):
        root, ts = await play.start(chunks=[chunk("a")])
        session = {"channel_id": play.support.id, "thread_ts": root, "status": "processing"}
        await play.call("agents.sessions.setStatus", **session)
        play.slack.faults.add(Fault(kind, "chat.appendStream"))  # type: ignore[arg-type]
        append: dict[str, Any] = {"channel": play.support.id, "ts": ts, "chunks": [chunk("b")]}
        assert await play.refused("chat.appendStream", **append) == error
        assert play.slack.thread(play.support, root)[1].text == "a"


def test_a_fault_that_cant_be_is_refused() -> None:
    with pytest.raises(ValueError, match="no such fault"):
        Fault("gremlins")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="begin at 1"):
        Fault("slow", nth=0)
    assert len(KINDS) == 20


# -- limits --------------------------------------------------------------------------------------------
async def test_a_method_has_so_many_a_minute_and_workspace() -> None:
    async with playing(limits=Limits(per_minute={"users.info": 2})) as play:
        other = play.slack.workspace("globex")
        token = other.install().token
        for _ in range(2):
            await play.call("users.info", user=play.ada.id)
        with pytest.raises(SlackApiError) as refused:
            await play.call("users.info", user=play.ada.id)
        assert refused.value.response.headers["Retry-After"] == "60"
        assert len(play.slack.journal.limited) == 1
        eve = other.person("eve")
        assert (await play.client(token).users_info(user=eve.id))["ok"], "a workspace has its own"
        assert (await play.call("bots.info"))["ok"], "and so has a method"
        await play.time.advance(60)
        assert (await play.call("users.info", user=play.ada.id))["ok"]


async def test_a_channel_takes_one_post_a_second_and_a_few_at_once() -> None:
    async with playing(limits=Limits(burst=2)) as play:
        random = play.acme.channel("random", [play.june])
        await play.post("a")
        await play.post("b")
        with pytest.raises(SlackApiError) as refused:
            await play.post("c")
        assert refused.value.response.headers["Retry-After"] == "1"
        await play.call(POST, channel=random.id, text="elsewhere")
        await play.time.advance(1)
        await play.post("c")
        assert texts(play) == ["a", "b", "c"]


def test_a_refused_call_doesnt_count() -> None:
    limits = Pure(per_minute={"m": 1})
    assert limits.admit("3", "m", "A:T", "", 0.0) is None
    assert [limits.admit("3", "m", "A:T", "", at) for at in (1.0, 30.5, 59.9)] == [59, 30, 1]
    assert limits.admit("3", "m", "A:T", "", 60.0) is None
    assert limits.admit("free", "m", "A:T", "", 60.0) is None
