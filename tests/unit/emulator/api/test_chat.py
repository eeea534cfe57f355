"""Messages: where they may go, what they may hold, and what an update leaves of them."""

from __future__ import annotations

from typing import Any

import pytest

from channels.slack.emulator.world.tenancy import direct
from tests.unit.emulator.stage import Play, buttons


async def test_where_a_bot_may_write(play: Play) -> None:
    acme, world = play.acme, play.slack.world
    elsewhere, secret = (
        acme.channel("random", [play.ada]),
        acme.channel("hr", [play.ada], private=True),
    )
    old = acme.channel("old", [play.ada, play.june])
    old.archived = True
    for channel, error in (
        (elsewhere.id, "not_in_channel"),
        (secret.id, "channel_not_found"),
        (old.id, "is_archived"),
        ("C404", "channel_not_found"),
        ("", "channel_not_found"),
    ):
        assert await play.refused("chat.postMessage", channel=channel, text="x") == error
    by_name = await play.call("chat.postMessage", channel="#support", text="x")
    assert by_name["channel"] == play.support.id
    to_her = await play.call("chat.postMessage", channel=play.ada.id, text="x")
    assert world.channels[to_her["channel"]] is direct(
        world, acme.team, {play.ada.id, play.june.user}
    )
    await play.call("conversations.join", channel=elsewhere.id)
    assert (await play.call("chat.postMessage", channel=elsewhere.id, text="x"))["ok"]


async def test_a_reply_stays_in_its_thread(play: Play) -> None:
    root = await play.ada.say(play.support, "hello")
    first = await play.post("one", thread_ts=root.ts)
    await play.post("two", thread_ts=first["ts"])
    assert [m.text for m in play.slack.thread(play.support, root)] == ["hello", "one", "two"]
    wrong: dict[str, Any] = {"channel": play.support.id, "text": "x", "thread_ts": "1.000001"}
    assert await play.refused("chat.postMessage", **wrong) == "cannot_reply_to_message"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ({}, "no_text"),
        ({"text": ""}, "no_text"),
        ({"markdown_text": "a", "text": "b"}, "markdown_text_conflict"),
        ({"markdown_text": "a" * 12_001}, "msg_too_long"),
        ({"blocks": [{"type": "divider"}] * 51}, "msg_blocks_too_many"),
        ({"blocks": [{"type": "sparkles"}]}, "invalid_blocks"),
        ({"text": "a", "metadata": {"event_type": "x"}}, "invalid_metadata_format"),
        (
            {"text": "a", "metadata": {"event_type": "x", "event_payload": {"a": "b" * 16_000}}},
            "metadata_too_large",
        ),
    ],
)
async def test_what_isnt_a_message(play: Play, args: dict[str, Any], error: str) -> None:
    assert await play.refused("chat.postMessage", channel=play.support.id, **args) == error
    assert play.slack.shown(play.support) == []
    assert play.slack.journal.count("chat.postMessage") == 0


async def test_a_long_text_is_cut_and_told_so(play: Play) -> None:
    posted = await play.post("a" * 40_001)
    assert posted["response_metadata"]["messages"] == ["[WARN] text was truncated"]
    (shown,) = play.slack.shown(play.support)
    assert len(shown.text) == 40_000


async def test_an_update_without_blocks_takes_them_away(play: Play) -> None:
    mark = {"event_type": "june", "event_payload": {"part": 1}}
    posted = await play.post("card", blocks=buttons("Go"), metadata=mark)
    where = {"channel": play.support.id, "ts": posted["ts"]}
    await play.call("chat.update", **where, text="card", blocks=buttons("Stay"))
    (shown,) = play.slack.shown(play.support)
    assert ([b.label for b in shown.buttons], shown.edited) == (["Stay"], False)
    await play.call("chat.update", **where, text="done")
    (shown,) = play.slack.shown(play.support)
    assert (shown.text, shown.blocks, shown.edited) == ("done", [], True)
    assert shown.metadata == mark, "metadata that isn't mentioned is kept"
    read = await play.call("conversations.history", channel=play.support.id)
    assert "metadata" not in read["messages"][0]
    read = await play.call(
        "conversations.history", channel=play.support.id, include_all_metadata=True
    )
    assert read["messages"][0]["metadata"] == mark


async def test_only_its_own_messages_may_an_app_touch(play: Play) -> None:
    hers = await play.ada.say(play.support, "hello")
    where: dict[str, Any] = {"channel": play.support.id, "ts": hers.ts}
    assert await play.refused("chat.update", **where, text="x") == "cant_update_message"
    assert await play.refused("chat.delete", **where) == "cant_delete_message"
    gone: dict[str, Any] = {"channel": play.support.id, "ts": "1.000001"}
    assert await play.refused("chat.update", **gone, text="x") == "message_not_found"
    own = await play.post("a")
    long: dict[str, Any] = {"channel": play.support.id, "ts": own["ts"], "text": "a" * 4_001}
    assert await play.refused("chat.update", **long) == "msg_too_long"
    await play.call("chat.delete", channel=play.support.id, ts=own["ts"])
    assert [m.text for m in play.slack.shown(play.support)] == ["hello"]


async def test_an_ephemeral_is_seen_by_one_and_kept_by_nobody(play: Play) -> None:
    bob = play.acme.person("bob")
    to = {"channel": play.support.id, "text": "only you"}
    assert await play.refused("chat.postEphemeral", **to, user=bob.id) == "user_not_in_channel"
    sent = await play.call("chat.postEphemeral", **to, user=play.ada.id)
    assert [m.text for m in play.slack.private(play.ada)] == ["only you"]
    assert play.slack.private(bob) == play.slack.shown(play.support) == []
    assert (
        await play.refused("chat.update", channel=play.support.id, ts=sent["message_ts"], text="x")
        == "message_not_found"
    )


async def test_a_permalink_names_message_and_thread(play: Play) -> None:
    root = await play.ada.say(play.support, "hello")
    reply = await play.post("one", thread_ts=root.ts)
    link = await play.call("chat.getPermalink", channel=play.support.id, message_ts=reply["ts"])
    assert reply["ts"].replace(".", "") in link["permalink"]
    assert f"thread_ts={root.ts}" in link["permalink"]


async def test_reactions_count_once_for_each(play: Play) -> None:
    hers = await play.ada.say(play.support, "hello")
    on = {"channel": play.support.id, "timestamp": hers.ts, "name": "eyes"}
    await play.call("reactions.add", **on)
    assert await play.refused("reactions.add", **on) == "already_reacted"
    got = await play.call("reactions.get", channel=play.support.id, timestamp=hers.ts)
    assert got["message"]["reactions"] == [{"name": "eyes", "users": [play.june.user], "count": 1}]
    await play.call("reactions.remove", **on)
    assert await play.refused("reactions.remove", **on) == "no_reaction"


async def test_every_message_has_a_moment_of_its_own(play: Play) -> None:
    sent = [(await play.post(str(n)))["ts"] for n in range(20)]
    assert sorted(set(sent), key=float) == sent
