"""The ledger of who would have been disturbed, and what would have been fetched."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.slack.emulator.blocks.text import in_blocks, links, mentions
from gateway.engine.kinds import JsonObject
from tests.unit.emulator.stage import Play, chunk, task


def pinged(play: Play) -> list[tuple[str, str]]:
    return [(ping.kind, ping.id) for ping in play.slack.pinged]


def rich(*elements: JsonObject) -> list[JsonObject]:
    return [
        {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [*elements]}]}
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<@U1> and <@W2|wendy>", [("user", "U1"), ("user", "W2")]),
        ("<!subteam^S1> <!subteam^S2|@leads>", [("group", "S1"), ("group", "S2")]),
        ("<!here> <!channel|x> <!everyone> <!group>", ["here", "channel", "everyone", "channel"]),
        ("`<!here>` and ```\n<@U1>\n```", [("user", "U1"), ("broadcast", "here")]),
        ("&lt;!here&gt; @here @ada < @U1> <#C1> <https://a.example|<!b>", []),
        ("<\u2060!here> <\u2060@U1>", []),
        ("<@u1> <@U1 > <!subteam^>", []),
    ],
)
def test_what_is_live_in_marked_up_text(text: str, found: list[Any]) -> None:
    wanted = [item if isinstance(item, tuple) else ("broadcast", item) for item in found]
    assert list(mentions(text)) == wanted


def test_only_elements_ping_in_rich_text() -> None:
    dead = rich(
        {"type": "text", "text": "<!here> <@U1>"}, {"type": "link", "url": "https://a/<@U1>"}
    )
    assert list(in_blocks([*dead])) == []
    live = rich(
        {"type": "user", "user_id": "U1"},
        {"type": "usergroup", "usergroup_id": "S1"},
        {"type": "broadcast", "range": "here"},
    )
    assert list(in_blocks([*live])) == [("user", "U1"), ("group", "S1"), ("broadcast", "here")]


def test_plain_text_never_pings_and_the_others_do() -> None:
    def section(kind: str) -> JsonObject:
        return {"type": "section", "text": {"type": kind, "text": "<!here>"}}

    assert list(in_blocks([section("plain_text")])) == []
    assert list(in_blocks([section("mrkdwn")])) == [("broadcast", "here")]
    assert list(in_blocks([{"type": "markdown", "text": "`<@U1>`"}])) == [("user", "U1")]
    assert list(in_blocks([{"type": "task_card", "title": "<@U1>"}])) == [("user", "U1")]


@given(st.text(alphabet="<>@!#^|&;U1S`ab \n", max_size=40))
def test_a_text_whose_openings_are_broken_pings_nobody(text: str) -> None:
    broken = text.replace("<", "<\u2060")
    assert not list(mentions(broken))


async def test_a_ping_counts_once_for_each_message(play: Play) -> None:
    posted = await play.post(f"<@{play.ada.id}>")
    where = {"channel": play.support.id, "ts": posted["ts"], "parse": "none"}
    await play.call("chat.update", **where, text=f"<@{play.ada.id}> again")
    assert pinged(play) == [("user", play.ada.id)]
    await play.call("chat.update", **where, text="<!here>")
    assert pinged(play)[1:] == [("broadcast", "here")]
    await play.post(f"<@{play.june.user}>")
    assert len(play.slack.pinged) == 2, "nobody pings themselves"
    assert {ping.by for ping in play.slack.pinged} == {play.june.bot}


async def test_people_may_ping_whom_they_like(play: Play) -> None:
    await play.ada.say(play.support, "@here @june look")
    assert play.slack.pinged == []


async def test_an_update_reads_plain_words_unless_told_not_to(play: Play) -> None:
    text = "@ada and @channel, not @nobody or a@here.example"
    posted = await play.post(text)
    where = {"channel": play.support.id, "ts": posted["ts"], "text": text}
    await play.call("chat.update", **where, parse="none")
    assert pinged(play) == [], "a post parses nothing by itself"
    await play.call("chat.update", **where)
    assert set(pinged(play)) == {("broadcast", "channel"), ("user", play.ada.id)}


async def test_link_names_does_the_same_for_a_post(play: Play) -> None:
    await play.post("@ada", link_names=True)
    assert pinged(play) == [("user", play.ada.id)]


async def test_a_token_in_two_chunks_is_one(play: Play) -> None:
    _, ts = await play.start()
    where: dict[str, Any] = {"channel": play.support.id, "ts": ts}
    await play.call("chat.appendStream", **where, chunks=[chunk("now <")])
    await play.call("chat.appendStream", **where, chunks=[chunk("!chan")])
    assert pinged(play) == []
    await play.call("chat.appendStream", **where, chunks=[chunk("nel>")])
    assert pinged(play) == [("broadcast", "channel")]


async def test_tasks_last_blocks_and_the_fallback_count_too(play: Play) -> None:
    _, ts = await play.start()
    where: dict[str, Any] = {"channel": play.support.id, "ts": ts}
    title = {**task("1", "complete"), "title": "<!here>"}
    await play.call(
        "chat.appendStream", **where, chunks=[title, task("2", "complete", details="<@U9>")]
    )
    last = {"type": "section", "text": {"type": "mrkdwn", "text": "<!subteam^S1>"}}
    await play.call("chat.stopStream", **where, blocks=[last])
    await play.post("<!everyone>", blocks=[{"type": "divider"}])
    assert set(pinged(play)) == {
        ("broadcast", "here"),
        ("user", "U9"),
        ("group", "S1"),
        ("broadcast", "everyone"),
    }


async def test_an_ephemeral_note_pings_as_well(play: Play) -> None:
    await play.call(
        "chat.postEphemeral", channel=play.support.id, user=play.ada.id, text="<!channel>"
    )
    assert pinged(play) == [("broadcast", "channel")]


async def test_what_would_be_fetched_is_written_down(play: Play) -> None:
    await play.post("https://a.example/x", unfurl_links=False, unfurl_media=False)
    assert play.slack.journal.unfurled == []
    await play.post("see <https://a.example/x|here> and https://b.example.", unfurl_media=False)
    assert [u.url for u in play.slack.journal.unfurled] == [
        "https://a.example/x",
        "https://b.example.",
    ]


def test_links_in_blocks() -> None:
    blocks = rich(
        {"type": "link", "url": "https://a.example"}, {"type": "link", "url": "mailto:a@b"}
    )
    assert links("", [*blocks]) == ["https://a.example"]
