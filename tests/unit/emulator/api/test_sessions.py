"""What an agent's thread shows about itself, and the Stop button that comes with it."""

from __future__ import annotations

from typing import Any

import pytest

from channels.slack.emulator import Impossible
from tests.unit.emulator.stage import Listener, Play, chunk


def here(play: Play, thread: str) -> dict[str, Any]:
    return {"channel_id": play.support.id, "thread_ts": thread}


def status(play: Play, thread: str) -> str:
    return play.slack.world.sessions[play.app.id, play.support.id, thread].status


async def test_a_session_begins_with_its_first_status(play: Play) -> None:
    root, ts = await play.start()
    began = {"title": "Order 1042", "initiator_user_id": play.ada.id}
    await play.call("agents.sessions.setStatus", **here(play, root), status="processing", **began)
    later = {"title": "Something else"}
    told = await play.call(
        "agents.sessions.setStatus", **here(play, root), status="suspended", **later
    )
    assert (told["status"], told["title"]) == ("suspended", "Order 1042")
    session = play.slack.world.sessions[play.app.id, play.support.id, root]
    assert (session.title, session.initiator, session.status) == (
        "Order 1042",
        play.ada.id,
        "suspended",
    )
    told = await play.call("agents.sessions.rename", **here(play, root), title="Order 1043")
    assert session.title == told["title"] == "Order 1043"
    stream = {"channel": play.support.id, "ts": ts}
    await play.call("chat.stopStream", **stream)
    assert status(play, root) == "active", "that is what a stop means unless it says otherwise"


async def test_a_session_begins_with_a_stream_too(play: Play) -> None:
    root, ts = await play.start()
    rename: dict[str, Any] = {**here(play, root), "title": "Order 1042"}
    await play.call("assistant.threads.setStatus", **here(play, root), status="is looking")
    assert await play.refused("agents.sessions.rename", **rename) == "session_not_found"
    await play.call("chat.stopStream", channel=play.support.id, ts=ts)
    assert status(play, root) == "active"
    await play.call("agents.sessions.rename", **rename)


async def test_an_app_that_is_no_agent_streams_without_a_session(play: Play) -> None:
    play.app.agent = False
    _, ts = await play.start()
    await play.call("chat.stopStream", channel=play.support.id, ts=ts)
    assert play.slack.world.sessions == {}


@pytest.mark.parametrize("word", ["processing", "suspended", "closed"])
async def test_a_stop_may_move_the_session_elsewhere(play: Play, word: str) -> None:
    root, ts = await play.start()
    await play.call("agents.sessions.setStatus", **here(play, root), status="processing")
    await play.call("chat.stopStream", channel=play.support.id, ts=ts, session_status=word)
    assert status(play, root) == word


async def test_what_a_session_refuses(play: Play) -> None:
    root, ts = await play.start()
    method = "agents.sessions.setStatus"
    bob = play.acme.person("bob")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"status": "thinking hard"}, "invalid_arguments"),
        ({"status": "active", "title": "a" * 201}, "title_too_long"),
        ({"status": "active", "initiator_user_id": bob.id}, "user_not_in_channel"),
        ({"status": "active", "thread_ts": "1.000001"}, "message_not_found"),
    ]
    for args, error in cases:
        assert await play.refused(method, **{**here(play, root), **args}) == error
    assert (
        await play.refused("chat.stopStream", channel=play.support.id, ts=ts, session_status="done")
        == "invalid_arguments"
    )
    assert (
        await play.refused("agents.sessions.rename", **here(play, root), title="a")
        == "session_not_found"
    )
    play.app.agent = False
    assert await play.refused(method, **here(play, root), status="active") == "not_agent_app"


async def test_stop_ends_the_streams_and_tells_the_app(play: Play, app: Listener) -> None:
    await play.slack.connect(play.app, app.url)
    root, ts = await play.start(chunks=[chunk("half of ")])
    shown = play.slack.thread(play.support, root)[0]
    with pytest.raises(Impossible, match="no Stop"):
        await play.ada.stop(play.app, shown)
    await play.call("agents.sessions.setStatus", **here(play, root), status="processing")
    assert await play.ada.stop(play.app, shown) == [ts]
    append: dict[str, Any] = {"channel": play.support.id, "ts": ts, "chunks": [chunk("it")]}
    assert await play.refused("chat.appendStream", **append) == "stopped_by_user"
    assert (
        await play.refused("chat.stopStream", channel=play.support.id, ts=ts) == "stopped_by_user"
    )
    assert play.slack.thread(play.support, root)[1].text == "half of "
    assert status(play, root) == "processing", "to change it is the app's business"
    await play.slack.settled()
    (stopped,) = app.events("agent_session_stopped")
    assert (stopped.event["user"], stopped.event["thread_ts"]) == (play.ada.id, root)
    assert stopped.event["streaming_message_ts"] == [ts]


async def test_without_the_subscription_there_is_no_stop_and_a_warning(play: Play) -> None:
    play.app.events.discard("agent_session_stopped")
    root, _ = await play.start()
    told = await play.call("agents.sessions.setStatus", **here(play, root), status="processing")
    assert told["warning"] == "missing_agent_session_stopped_event_subscription"
    with pytest.raises(Impossible, match="agent_session_stopped"):
        await play.ada.stop(play.app, play.slack.thread(play.support, root)[0])


async def test_a_status_line_goes_away_by_itself_or_with_a_message(play: Play) -> None:
    root, _ = await play.start()
    set_it = "assistant.threads.setStatus"
    await play.call(set_it, **here(play, root), status="is looking")
    assert play.slack.status(play.support, root) == "is looking"
    await play.time.advance(119)
    assert play.slack.status(play.support, root) == "is looking"
    await play.time.advance(1)
    assert play.slack.status(play.support, root) == ""
    await play.call(set_it, **here(play, root), status="is looking")
    await play.post("found", thread_ts=root)
    assert play.slack.status(play.support, root) == ""
    await play.call(set_it, **here(play, root), status="is looking")
    await play.call(set_it, **here(play, root), status="")
    assert play.slack.status(play.support, root) == ""


async def test_prompts_are_four_at_most(play: Play) -> None:
    home = await play.ada.open_home(play.app)
    prompt = {"title": "Orders", "message": "Where is my order?"}
    method = "assistant.threads.setSuggestedPrompts"
    await play.call(method, channel_id=home.id, prompts=[prompt] * 4)
    assert play.slack.world.prompts[home.id] == [prompt] * 4
    assert (
        await play.refused(method, channel_id=home.id, prompts=[prompt] * 5) == "invalid_arguments"
    )
    assert (
        await play.refused(method, channel_id=home.id, prompts=[{"title": "a"}])
        == "invalid_arguments"
    )
