"""Events on their way to an app: what they hold, how they are signed, and when they come again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web
from slack_sdk.signature import Clock, SignatureVerifier
from typing_extensions import override

from channels.slack.emulator import Fault, SlackEmulator, VirtualTime, fresh_ids
from channels.slack.emulator.world import posting, tenancy
from gateway.testing.slack import furnish
from tests.unit.emulator.stage import Listener, Play, serving

ENVELOPE = {
    *(
        "token",
        "team_id",
        "context_team_id",
        "context_enterprise_id",
        "api_app_id",
        "event",
        "type",
    ),
    *("event_id", "event_time", "authorizations", "is_ext_shared_channel", "event_context"),
}


@pytest.fixture
async def heard(play: Play, app: Listener) -> Listener:
    """The app is connected."""
    await play.slack.connect(play.app, app.url)
    return app


async def arrived(play: Play, heard: Listener, count: int) -> list[Any]:
    await play.slack.until(lambda: len(heard.heard) >= count)
    return heard.heard


# -- what they hold ------------------------------------------------------------------------------------
async def test_of_two_lives_only_who_and_where_have_the_same_ids(app: Listener) -> None:
    seen: list[tuple[set[str], set[str]]] = []
    for life in (0, fresh_ids()):
        async with SlackEmulator(time=VirtualTime()) as slack:
            slack.world.ids_after = life
            stage = furnish(slack)
            await slack.connect(slack.app(), app.url)
            await stage.ada.say(stage.support, "@june look", files={"a.txt": b"a"})
            await slack.settled()
            happened = {str(sent.payload["event_id"]) for sent in slack.journal.deliveries}
            seen.append(
                ({stage.ada.id, stage.support.id, stage.acme.id}, happened | {*slack.world.files})
            )
    (lasting, before), (again, after) = seen
    assert lasting == again
    assert not before & after
    assert len(before) == len(after) >= 3


async def test_a_mention_is_two_events_about_one_post(play: Play, heard: Listener) -> None:
    asked = await play.ada.mention(play.support, "@june where is 1042?")
    await play.slack.settled()
    (message,), (mention,) = heard.events("message"), heard.events("app_mention")
    assert message.payload["event_id"] != mention.payload["event_id"]
    assert message.event["ts"] == mention.event["ts"] == asked.ts
    assert message.event["client_msg_id"] == mention.event["client_msg_id"]
    assert message.event["text"] == f"<@{play.june.user}> where is 1042?"
    assert message.event["channel_type"] == "channel"
    assert "channel_type" not in mention.event
    (block,) = message.event["blocks"]
    assert block["elements"][0]["elements"][0] == {"type": "user", "user_id": play.june.user}
    assert set(message.payload) == ENVELOPE
    assert set(mention.payload) == ENVELOPE - {"context_team_id", "context_enterprise_id"}
    for sent in (message, mention):
        assert sent.payload["authorizations"] == [
            {
                "enterprise_id": None,
                "team_id": play.acme.id,
                "user_id": play.june.user,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ]


async def test_the_signature_is_slacks(play: Play, heard: Listener) -> None:
    await play.ada.say(play.support, "straße")
    (sent,) = await arrived(play, heard, 1)

    class Then(Clock):
        @override
        def now(self) -> float:
            return play.time.now() / 1000

    verifier = SignatureVerifier(play.slack.signing_secret, Then())
    assert verifier.is_valid_request(sent.raw, sent.headers)
    assert not verifier.is_valid_request(sent.raw + b" ", sent.headers)


@pytest.mark.parametrize("first", ["message", "app_mention"])
async def test_either_of_the_two_may_come_first(app: Listener, first: str) -> None:
    async with SlackEmulator(time=VirtualTime(), mention_first=first == "app_mention") as slack:
        acme = slack.workspace("acme")
        ada, june = acme.person("ada"), acme.install()
        await slack.connect(slack.app(), app.url)
        await ada.mention(acme.channel("support", [ada, june]), "@june")
        await slack.settled()
        assert slack.journal.deliveries[0].type == first


async def test_an_app_hears_itself(play: Play, heard: Listener) -> None:
    await play.post("hello")
    (echo,) = await arrived(play, heard, 1)
    assert (echo.event["bot_id"], echo.event["user"]) == (play.june.bot, play.june.user)
    assert echo.event["bot_profile"]["app_id"] == play.app.id
    await play.post(f"<@{play.june.user}>")
    await play.slack.settled()
    assert heard.events("app_mention") == [], "its own words mention nobody to it"


async def test_edits_previews_and_deletions(play: Play, heard: Listener) -> None:
    said = await play.ada.say(play.support, "one https://a.example")
    await play.ada.edit(said, "two @june")
    preview: dict[str, Any] = {"title": "A"}
    posting.unfurl(play.slack.world, said, [preview])
    await play.ada.delete(said)
    await play.slack.settled()
    assert heard.events("app_mention") == [], "a mention that an edit brings starts nothing"
    by_type = {h.event.get("subtype", ""): h.event for h in heard.events("message")}
    edit, preview_event = [
        h.event for h in heard.events("message") if h.event.get("subtype") == "message_changed"
    ]
    if "attachments" in edit["message"]:
        edit, preview_event = preview_event, edit
    assert edit["hidden"] is True
    assert edit["message"]["edited"]["user"] == play.ada.id
    assert edit["previous_message"]["text"].startswith("one")
    assert edit["message"]["ts"] == said.ts != edit["ts"]
    assert preview_event["message"]["text"] == preview_event["previous_message"]["text"]
    assert preview_event["message"]["edited"] == edit["message"]["edited"], "nobody edited it again"
    gone = by_type["message_deleted"]
    assert (gone["deleted_ts"], gone["previous_message"]["user"]) == (said.ts, play.ada.id)


async def test_a_root_that_was_answered_leaves_a_tombstone(play: Play, heard: Listener) -> None:
    root = await play.ada.say(play.support, "one")
    await play.ada.say(play.support, "two", thread=root)
    await play.ada.delete(root)
    await play.post("three", thread_ts=root.ts)
    await play.slack.settled()
    changes = [h.event for h in heard.events("message") if h.event.get("subtype")]
    (gone,) = [event for event in changes if event["subtype"] == "message_changed"]
    assert gone["message"]["subtype"] == "tombstone"
    assert (gone["message"]["ts"], gone["previous_message"]["text"]) == (root.ts, "one")
    there = [shown.text for shown in play.slack.thread(play.support, root)]
    assert there == ["This message was deleted.", "two", "three"]


async def test_files_and_broadcasts_have_their_subtypes(play: Play, heard: Listener) -> None:
    root = await play.ada.say(play.support, "", files={"log.txt": b"hello"})
    await play.ada.say(play.support, "to all", thread=root, broadcast=True)
    await play.slack.settled()
    subtypes = {h.event["subtype"]: h.event for h in heard.events("message")}
    assert set(subtypes) == {"file_share", "thread_broadcast"}
    (file,) = subtypes["file_share"]["files"]
    assert (file["name"], file["mimetype"], file["size"]) == ("log.txt", "text/plain", 5)
    assert subtypes["thread_broadcast"]["thread_ts"] == root.ts


async def test_only_what_it_subscribed_to_where_it_is(play: Play, heard: Listener) -> None:
    elsewhere = play.acme.channel("random", [play.ada])
    await play.ada.mention(elsewhere, "@june")
    play.app.events.discard("message.channels")
    await play.ada.mention(play.support, "@june")
    alone = play.acme.direct(play.ada, play.june)
    await play.ada.mention(alone, "@june")
    await play.slack.settled()
    kinds = [(h.event["type"], h.event["channel"]) for h in heard.heard]
    assert sorted(kinds) == sorted([("app_mention", play.support.id), ("message", alone.id)])


async def test_another_bot_is_heard_as_a_bot(play: Play, heard: Listener) -> None:
    crier = play.acme.bot("crier")
    play.acme.invite(play.support, [crier])
    await crier.say(play.support, "@june build failed")
    await play.slack.settled()
    (mention,) = heard.events("app_mention")
    assert (mention.event["bot_id"], mention.event["app_id"]) == (crier.user.bot, crier.user.app)
    assert "client_msg_id" not in mention.event


async def test_people_of_another_company_are_marked(play: Play, heard: Listener) -> None:
    sam = play.slack.workspace("globex").person("sam")
    play.acme.invite(play.support, [sam])
    await sam.mention(play.support, "@june", thread=await play.ada.say(play.support, "hello"))
    await play.slack.settled()
    (mention,) = heard.events("app_mention")
    assert mention.payload["is_ext_shared_channel"] is True
    assert mention.payload["authorizations"][0]["team_id"] == play.acme.id  # type: ignore[index,call-overload]
    assert (mention.event["team"], mention.event["user_team"]) == (play.acme.id, sam.user.team)
    (copy,) = [h for h in heard.events("message") if h.event["user"] == sam.id]
    assert copy.payload["team_id"] == copy.event["team"] == sam.user.team
    assert copy.payload["context_team_id"] == play.acme.id
    assert copy.event["parent_user_id"] == play.ada.id


async def test_an_organisation_installs_once_for_all(play: Play, heard: Listener) -> None:
    bigco = play.slack.enterprise("bigco")
    north = play.slack.workspace("north", bigco)
    made = tenancy.install(play.slack.world, play.app, bigco, play.app.scopes)
    eve = north.person("eve")
    assert eve.id.startswith("W")
    await eve.mention(north.channel("room", [eve, made]), "@june")
    await play.slack.settled()
    (mention,) = heard.events("app_mention")
    assert mention.payload["team_id"] == north.id
    assert mention.payload["enterprise_id"] == bigco.id
    assert mention.payload["authorizations"] == [
        {
            "enterprise_id": bigco.id,
            "team_id": None,
            "user_id": made.user,
            "is_bot": True,
            "is_enterprise_install": True,
        }
    ]


async def test_opening_the_app_and_looking_elsewhere(play: Play, heard: Listener) -> None:
    home = await play.ada.open_home(play.app)
    await play.ada.look_at(
        play.app, [{"type": "slack#/types/channel_id", "value": play.support.id}]
    )
    await play.slack.settled()
    opened = heard.events("app_home_opened")[0].event
    assert (opened["tab"], opened["channel"], opened["user"]) == ("messages", home.id, play.ada.id)
    (looked,) = heard.events("app_context_changed")
    assert looked.event["context"]["entities"][0]["value"] == play.support.id


async def test_too_many_events_are_announced(play: Play, heard: Listener) -> None:
    await play.slack.outlet.rate_limited(play.app, play.acme.id)
    (told,) = heard.heard
    assert (told.payload["type"], told.payload["team_id"]) == ("app_rate_limited", play.acme.id)
    assert int(str(told.payload["minute_rate_limited"])) % 60 == 0


# -- whether they arrive -------------------------------------------------------------------------------
async def test_an_address_has_to_pass_the_challenge(play: Play) -> None:
    async def deaf(_: web.Request) -> web.Response:
        return web.Response(text="welcome")

    async with serving(deaf) as url:
        with pytest.raises(ValueError, match="challenge"):
            await play.slack.connect(play.app, url)
    assert play.app.request_url == ""


async def test_three_more_times_at_once_after_a_minute_after_five(
    play: Play, heard: Listener
) -> None:
    heard.answers = [web.Response(status=503) for _ in range(9)]
    start = play.time.monotonic()
    await play.ada.say(play.support, "hello")
    await arrived(play, heard, 2)
    await play.time.advance(59)
    assert len(heard.heard) == 2
    await play.time.advance(1)
    await arrived(play, heard, 3)
    await play.time.advance(300)
    await play.slack.settled()
    assert [h.retry for h in heard.heard] == ["", "1", "2", "3"]
    assert [h.headers.get("x-slack-retry-reason") for h in heard.heard[1:]] == ["http_error"] * 3
    assert len({h.payload["event_id"] for h in heard.heard}) == 1
    (sent,) = play.slack.journal.deliveries
    assert [round((a.at - sent.attempts[0].at) / 1000) for a in sent.attempts] == [0, 0, 60, 360]
    assert not sent.acked
    assert play.time.monotonic() - start == 360


async def test_a_retry_that_succeeds_is_the_last(play: Play, heard: Listener) -> None:
    heard.answers = [web.Response(status=500)]
    await play.ada.say(play.support, "hello")
    await play.slack.settled()
    assert [h.retry for h in heard.heard] == ["", "1"]


async def test_no_retry_is_honoured_on_a_refusal(play: Play, heard: Listener) -> None:
    heard.answers = [web.Response(status=400, headers={"X-Slack-No-Retry": "1"})]
    await play.ada.say(play.support, "hello")
    await play.slack.settled()
    assert len(heard.heard) == 1


async def test_after_three_seconds_it_comes_again_while_the_first_is_at_work(
    play: Play, heard: Listener
) -> None:
    heard.hang = asyncio.Event()
    await play.ada.say(play.support, "hello")
    await arrived(play, heard, 1)
    await play.time.advance(2.9)
    assert len(heard.heard) == 1
    await play.time.advance(0.1)
    await arrived(play, heard, 2)
    assert heard.heard[1].headers["x-slack-retry-reason"] == "http_timeout"
    heard.hang.set()
    await play.slack.settled()
    (sent,) = play.slack.journal.deliveries
    assert [a.outcome for a in sent.attempts] == ["http_timeout", "acked"]


async def test_nobody_at_home(play: Play, heard: Listener) -> None:
    play.app.request_url = "http://127.0.0.1:9/slack"
    await play.ada.say(play.support, "hello")
    (sent,) = play.slack.journal.deliveries
    await play.slack.until(lambda: len(sent.attempts) > 1)
    assert sent.attempts[0].outcome == sent.attempts[1].reason == "connection_failed"
    play.app.request_url = heard.url
    await play.time.advance(60)
    await play.slack.settled()
    assert sent.acked
    assert heard.heard[0].headers["x-slack-retry-reason"] == "connection_failed"


@pytest.mark.parametrize(
    ("kind", "retries"), [("event_twice", ["", "1"]), ("ack_lost", ["", "1"]), ("event_late", [""])]
)
async def test_faults_of_one_event(
    play: Play, heard: Listener, kind: Any, retries: list[str]
) -> None:
    play.slack.faults.add(Fault(kind, "event:app_mention", seconds=5))
    await play.ada.mention(play.support, "@june")
    await play.slack.until(lambda: len(heard.events("message")) == 1)
    await play.time.advance(5)
    await play.slack.settled()
    mentions = heard.events("app_mention")
    assert [h.retry for h in mentions] == retries
    assert len({h.payload["event_id"] for h in mentions}) == 1
    assert len(heard.events("message")) == 1


async def test_an_event_overtaken_by_the_next(play: Play, heard: Listener) -> None:
    play.slack.faults.add(Fault("event_reordered", "event:message"))
    await play.ada.say(play.support, "first")
    await play.ada.say(play.support, "second")
    await play.slack.settled()
    assert {h.event["text"] for h in heard.heard} == {"first", "second"}
    first, second = play.slack.journal.deliveries
    assert first.attempts[0].at >= second.attempts[0].at
    play.slack.faults.add(Fault("event_reordered", "event:message"))
    await play.ada.say(play.support, "alone")
    play.slack.outlet.release()
    await play.slack.settled()
    assert heard.heard[-1].event["text"] == "alone"


async def test_an_app_that_fails_nearly_always_is_switched_off(play: Play, heard: Listener) -> None:
    play.slack.outlet.http.disable_from = 3
    refuse = {"X-Slack-No-Retry": "1"}
    heard.answers = [web.Response(status=400, headers=refuse) for _ in range(9)]
    for n in range(5):
        await play.ada.say(play.support, str(n))
        await play.slack.settled()
    assert len(heard.heard) == 3
    assert play.app.disabled
    assert "5 %" in play.slack.journal.trouble[0]
    heard.answers = []
    await play.slack.connect(play.app, heard.url)
    await play.ada.say(play.support, "back")
    await play.slack.settled()
    assert heard.heard[-1].event["text"] == "back"
