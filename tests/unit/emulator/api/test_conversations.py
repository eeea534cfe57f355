"""Reading back: pages, threads, members, and who may look."""

from __future__ import annotations

from typing import Any

import pytest

from channels.slack.emulator import Limits
from channels.slack.emulator.cast.screen import Impossible
from tests.unit.emulator.stage import Play, playing


async def pages(play: Play, method: str, key: str, **args: Any) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = []
    cursor = ""
    while True:
        page = await play.call(method, **args, cursor=cursor)
        found.append(page[key])
        cursor = page["response_metadata"]["next_cursor"]
        if not cursor:
            return found


async def test_history_is_newest_first_and_without_replies(play: Play) -> None:
    roots = [await play.ada.say(play.support, f"m{n}") for n in range(5)]
    for n in range(3):
        await play.ada.say(play.support, f"r{n}", thread=roots[1])
    await play.ada.say(play.support, "also outside", thread=roots[1], broadcast=True)
    got = await pages(play, "conversations.history", "messages", channel=play.support.id, limit=4)
    assert [[m["text"] for m in page] for page in got] == [
        ["also outside", "m4", "m3", "m2"],
        ["m1", "m0"],
    ]
    root = got[1][0]
    assert (root["reply_count"], root["reply_users"]) == (4, [play.ada.id])
    assert root["thread_ts"] == root["ts"]


async def test_replies_bring_the_root_on_every_page(play: Play) -> None:
    root = await play.ada.say(play.support, "root")
    for n in range(5):
        await play.ada.say(play.support, f"r{n}", thread=root)
    got = await pages(
        play, "conversations.replies", "messages", channel=play.support.id, ts=root.ts, limit=2
    )
    assert [[m["text"] for m in page] for page in got] == [
        ["root", "r0", "r1"],
        ["root", "r2", "r3"],
        ["root", "r4"],
    ]
    assert all(m["parent_user_id"] == play.ada.id for page in got for m in page[1:])
    nowhere: dict[str, Any] = {"channel": play.support.id, "ts": "1.000001"}
    assert await play.refused("conversations.replies", **nowhere) == "thread_not_found"


async def test_a_window_of_time_leaves_its_edges_out(play: Play) -> None:
    a, b, c = [await play.ada.say(play.support, text) for text in "abc"]
    args: dict[str, Any] = {"channel": play.support.id, "oldest": a.ts, "latest": c.ts}
    (between,) = await pages(play, "conversations.history", "messages", **args)
    assert [m["ts"] for m in between] == [b.ts]
    (all_of_it,) = await pages(play, "conversations.history", "messages", **args, inclusive=True)
    assert [m["ts"] for m in all_of_it] == [c.ts, b.ts, a.ts]
    assert (
        await play.refused("conversations.history", channel=play.support.id, cursor="x")
        == "invalid_cursor"
    )


async def test_a_bot_reads_only_where_it_is(play: Play) -> None:
    random = play.acme.channel("random", [play.ada])
    secret = play.acme.channel("secret", [play.ada], private=True)
    assert await play.refused("conversations.history", channel=random.id) == "not_in_channel"
    assert await play.refused("conversations.history", channel=secret.id) == "channel_not_found"
    info = await play.call("conversations.info", channel=random.id)
    assert (info["channel"]["is_member"], info["channel"]["is_private"]) == (False, False)


async def test_sharing_a_private_channel_gives_it_another_id_and_the_old_one_is_nobodys(
    play: Play,
) -> None:
    secret = play.acme.channel("secret", [play.ada, play.june], private=True)
    root = await play.ada.say(secret, "hello")
    old, known = secret.id, {"ts": root.ts}
    play.acme.share(secret)
    for method in ("conversations.info", "conversations.history", "chat.postMessage"):
        assert await play.refused(method, channel=old, text="x") == "channel_not_found"
    got = await play.call("conversations.replies", channel=secret.id, **known)
    assert [one["text"] for one in got["messages"]] == ["hello"]
    with pytest.raises(Impossible, match="private"):
        play.acme.share(play.support)


async def test_lists_know_kinds_members_and_archives(play: Play) -> None:
    random = play.acme.channel("random", [play.ada])
    random.archived = True
    secret = play.acme.channel("secret", [play.ada, play.june], private=True)
    alone = play.acme.direct(play.ada, play.june)

    async def ids(method: str, **args: Any) -> set[str]:
        got = await pages(play, method, "channels", **args)
        return {channel["id"] for page in got for channel in page}

    assert await ids("conversations.list") == {play.support.id, random.id}
    assert await ids("conversations.list", exclude_archived=True) == {play.support.id}
    everything = "public_channel,private_channel,im,mpim"
    assert await ids("users.conversations", types=everything) == {
        play.support.id,
        secret.id,
        alone.id,
    }
    assert await play.refused("conversations.list", types="secret") == "invalid_types"
    (members,) = await pages(play, "conversations.members", "members", channel=play.support.id)
    assert set(map(str, members)) == {play.ada.id, play.june.user}


async def test_opening_a_conversation_twice_opens_one(play: Play) -> None:
    first = await play.call("conversations.open", users=play.ada.id)
    second = await play.call("conversations.open", users=[play.ada.id], return_im=True)
    assert (first["already_open"], second["already_open"]) == (False, True)
    assert first["channel"]["id"] == second["channel"]["id"]
    assert second["channel"]["is_im"] is True
    bob = play.acme.person("bob")
    many = await play.call("conversations.open", users=f"{play.ada.id},{bob.id}")
    assert (await play.call("conversations.info", channel=many["channel"]["id"]))["channel"][
        "is_mpim"
    ]
    assert await play.refused("conversations.open") == "users_list_not_supplied"
    assert await play.refused("conversations.open", users="U404") == "user_not_found"


async def test_people_guests_bots_and_strangers(play: Play) -> None:
    guest = play.acme.person("gus", guest="single")
    stranger = play.slack.workspace("globex").person("sam")
    unseen = play.slack.workspace("globex").person("uma")
    play.acme.invite(play.support, [stranger])
    shown = (await play.call("users.info", user=guest.id))["user"]
    assert (shown["is_restricted"], shown["is_ultra_restricted"]) == (True, True)
    shown = (await play.call("users.info", user=stranger.id))["user"]
    assert (shown["is_stranger"], shown["team_id"]) == (True, stranger.user.team)
    assert await play.refused("users.info", user=unseen.id) == "user_not_visible"
    assert await play.refused("users.info", user="U404") == "user_not_found"
    people = (await play.call("users.list"))["members"]
    assert {person["name"] for person in people} == {"ada", "gus", "june"}
    found = await play.call("users.lookupByEmail", email="Ada@acme.example")
    assert found["user"]["id"] == play.ada.id
    bot = await play.call("bots.info", bot=play.june.bot)
    assert bot["bot"]["user_id"] == play.june.user
    assert await play.refused("bots.info", bot="B404") == "bot_not_found"
    assert (await play.call("team.info"))["team"]["name"] == "acme"
    other = play.slack.workspace("globex").id
    assert await play.refused("team.info", team=other) == "team_not_found"


@pytest.mark.parametrize("method", ["conversations.history", "conversations.replies"])
async def test_an_app_that_is_sold_reads_little_and_seldom(method: str) -> None:
    async with playing(limits=Limits()) as play:
        play.app.distributed = True
        root = await play.ada.say(play.support, "root")
        for n in range(20):
            await play.ada.say(play.support, f"r{n}", thread=root if "replies" in method else None)
        args: dict[str, Any] = {"channel": play.support.id, "limit": 100}
        if "replies" in method:
            args["ts"] = root.ts
        got = await play.call(method, **args)
        assert len(got["messages"]) == (16 if "replies" in method else 15), "the root comes on top"
        assert await play.refused(method, **args) == "ratelimited"
        await play.time.advance(60)
        assert (await play.call(method, **args))["ok"]
