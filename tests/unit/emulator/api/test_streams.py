"""The life of a stream: five minutes, one mode, one owner, a Stop button, and a message that remains."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.emulator.stage import Listener, Play, buttons, chunk, task

LIFE = 300.0


def of(play: Play, ts: str) -> dict[str, Any]:
    return {"channel": play.support.id, "ts": ts}


async def test_a_stream_may_begin_empty_and_grows(play: Play) -> None:
    root, ts = await play.start()
    await play.call("chat.appendStream", **of(play, ts), chunks=[chunk("Look"), chunk("ing. ")])
    await play.call("chat.appendStream", **of(play, ts), chunks=[task("1", "in_progress")])
    await play.call(
        "chat.appendStream", **of(play, ts), chunks=[task("1", "complete"), chunk("It is ")]
    )
    done = await play.call(
        "chat.stopStream", **of(play, ts), chunks=[chunk("here.")], blocks=buttons("Thanks")
    )
    answer = play.slack.thread(play.support, root)[1]
    assert answer.text == "Looking. \n[complete] Task 1\nIt is here.\n[Thanks]"
    assert [(t.id, t.status) for t in answer.tasks] == [("1", "complete")]
    assert answer.blocks[-1]["block_id"] == "choice", "blocks always come last"
    assert (done["message"]["streaming_state"], done["message"]["bot_id"]) == (
        "completed",
        play.june.bot,
    )


async def test_a_channel_wants_to_know_for_whom(play: Play) -> None:
    asked = await play.ada.mention(play.support, "@june hi")
    args = play.stream_args(asked.ts)
    for name in ("recipient_team_id", "recipient_user_id"):
        without = {key: value for key, value in args.items() if key != name}
        assert await play.refused("chat.startStream", **without) == f"missing_{name}"
    alone = play.acme.direct(play.ada, play.june)
    said = await play.ada.say(alone, "hi")
    assert (await play.call("chat.startStream", channel=alone.id, thread_ts=said.ts))["ok"]
    assert await play.refused("chat.startStream", channel=alone.id) == "invalid_arguments"


async def test_text_and_chunks_dont_mix(play: Play) -> None:
    _, ts = await play.start()
    both: dict[str, Any] = {"markdown_text": "a", "chunks": [chunk("b")]}
    assert (
        await play.refused("chat.appendStream", **of(play, ts), **both)
        == "cannot_provide_both_markdown_text_and_chunks"
    )
    assert await play.refused("chat.appendStream", **of(play, ts)) == "no_text"
    assert await play.refused("chat.appendStream", **of(play, ts), chunks=[]) == "no_text"
    await play.call("chat.appendStream", **of(play, ts), markdown_text="a")
    assert (
        await play.refused("chat.appendStream", **of(play, ts), chunks=[chunk("b")])
        == "streaming_mode_mismatch"
    )
    assert (await play.call("chat.stopStream", **of(play, ts)))["message"]["text"] == "a"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (chunk("a" * 12_001), "msg_too_long"),
        ({"type": "sound"}, "invalid_chunks"),
        ({"type": "markdown_text"}, "invalid_chunks"),
        (task("1", "asleep"), "invalid_chunks"),
        (task("1", "pending", details="a" * 257), "invalid_chunks"),
        (
            {"type": "task_update", "id": "1", "title": "a" * 257, "status": "pending"},
            "invalid_chunks",
        ),
        ({"type": "task_update", "title": "a", "status": "pending"}, "invalid_chunks"),
        ({"type": "plan_update", "title": "a" * 257}, "invalid_chunks"),
        ({"type": "blocks", "blocks": [{"type": "sparkles"}]}, "invalid_blocks"),
        ({"type": "blocks", "blocks": [{"type": "divider"}] * 51}, "msg_blocks_too_many"),
    ],
)
async def test_a_bad_chunk_takes_nothing_along(play: Play, bad: dict[str, Any], error: str) -> None:
    root, ts = await play.start()
    refused = await play.refused("chat.appendStream", **of(play, ts), chunks=[chunk("good "), bad])
    assert refused == error
    assert play.slack.thread(play.support, root)[1].text == ""
    began = await play.refused("chat.startStream", **play.stream_args(root), chunks=[bad])
    assert began == error
    assert len(play.slack.thread(play.support, root)) == 2, "nothing was posted"


async def test_the_limit_is_per_chunk(play: Play) -> None:
    root, ts = await play.start()
    for _ in range(3):
        await play.call("chat.appendStream", **of(play, ts), chunks=[chunk("a" * 12_000)])
    assert len(play.slack.thread(play.support, root)[1].text) == 36_000


async def test_blocks_of_a_stream_add_up(play: Play) -> None:
    _, ts = await play.start()
    many: dict[str, Any] = {"type": "blocks", "blocks": [{"type": "divider"}] * 30}
    await play.call("chat.appendStream", **of(play, ts), chunks=[many])
    assert (
        await play.refused("chat.appendStream", **of(play, ts), chunks=[many])
        == "msg_blocks_too_many"
    )


async def test_details_grow_while_title_and_status_change(play: Play) -> None:
    root, ts = await play.start()
    for status, details in (("in_progress", "first"), ("complete", "second")):
        update = task("1", status, details=details, title=f"now {status}")
        await play.call("chat.appendStream", **of(play, ts), chunks=[update])
    (seen,) = play.slack.thread(play.support, root)[1].tasks
    assert (seen.title, seen.status, seen.details) == ("now complete", "complete", "firstsecond")


async def test_five_minutes_are_all_however_busy_it_is(play: Play) -> None:
    root, ts = await play.start()
    for _ in range(5):
        await play.time.advance(59)
        await play.call("chat.appendStream", **of(play, ts), chunks=[chunk("a")])
    await play.time.advance(LIFE - 5 * 59)
    gone = "message_not_in_streaming_state"
    assert await play.refused("chat.appendStream", **of(play, ts), chunks=[chunk("b")]) == gone
    assert await play.refused("chat.stopStream", **of(play, ts)) == gone
    answer = play.slack.thread(play.support, root)[1]
    assert (answer.streaming, answer.broken) == ("errored", True)
    await play.call("chat.update", **of(play, ts), text="aaaaa and the rest")
    answer = play.slack.thread(play.support, root)[1]
    assert (answer.text, answer.broken, answer.tasks) == ("aaaaa and the rest", False, [])


async def test_expiry_is_told_when_it_happens_and_not_when_somebody_looks(
    play: Play, app: Listener
) -> None:
    await play.slack.connect(play.app, app.url)
    _, ts = await play.start()
    await play.time.advance(LIFE)
    await play.slack.until(lambda: len(app.events("message")) == 3)
    changed = app.heard[-1].event
    assert changed["subtype"] == "message_changed"
    assert (changed["message"]["ts"], changed["message"]["streaming_state"]) == (ts, "errored")
    assert changed["previous_message"]["streaming_state"] == "in_progress"


async def test_a_live_stream_cant_be_updated(play: Play) -> None:
    _, ts = await play.start()
    assert await play.refused("chat.update", **of(play, ts), text="x") == "streaming_state_conflict"
    await play.call("chat.stopStream", **of(play, ts))
    assert (await play.call("chat.update", **of(play, ts), text="x"))["ok"]


async def test_a_stopped_stream_and_a_plain_message_take_no_more(play: Play) -> None:
    _, ts = await play.start()
    await play.call("chat.stopStream", **of(play, ts))
    plain = (await play.post("hello"))["ts"]
    hers = (await play.ada.say(play.support, "hello")).ts
    for other, error in (
        (ts, "message_not_in_streaming_state"),
        (plain, "message_not_in_streaming_state"),
        (hers, "message_not_owned_by_app"),
        ("1.000001", "message_not_found"),
    ):
        assert await play.refused("chat.stopStream", **of(play, other)) == error


async def test_a_stop_with_bad_blocks_stops_nothing(play: Play) -> None:
    root, ts = await play.start()
    bad: list[Any] = [{"type": "header", "text": {"type": "plain_text", "text": "a" * 151}}]
    assert await play.refused("chat.stopStream", **of(play, ts), blocks=bad) == "invalid_blocks"
    await play.call("chat.stopStream", **of(play, ts), chunks=[chunk("whole")])
    assert play.slack.thread(play.support, root)[1].text == "whole"


async def test_a_plan_heads_its_tasks(play: Play) -> None:
    root, ts = await play.start(task_display_mode="plan")
    plan: list[Any] = [{"type": "plan_update", "title": "Refund"}, task("1", "error")]
    await play.call("chat.appendStream", **of(play, ts), chunks=plan)
    assert play.slack.thread(play.support, root)[1].text == "Refund\n[error] Task 1"
    unknown = {**play.stream_args(root), "task_display_mode": "fireworks"}
    assert await play.refused("chat.startStream", **unknown) == "invalid_arguments"


async def test_two_writers_at_once_are_noticed(play: Play) -> None:
    import asyncio

    from channels.slack.emulator import Fault

    _, ts = await play.start()
    play.slack.faults.add(Fault("slow", "chat.appendStream", count=2))
    async with asyncio.TaskGroup() as both:
        for text in "ab":
            both.create_task(play.call("chat.appendStream", **of(play, ts), chunks=[chunk(text)]))
        await play.slack.until(lambda: len(play.slack.journal.of("chat.appendStream")) == 2)
        await play.time.advance(1)
    assert [call.overlapping for call in play.slack.journal.of("chat.appendStream")] == [
        False,
        True,
    ]
