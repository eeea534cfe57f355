"""Who is heard, by what, and what a turn gets to know."""

from __future__ import annotations

import pytest

from channels.contract import FileRef, Place, Replace
from channels.slack import policy
from channels.slack.parsing.messages import OUTSIDER
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import replace
from tests.unit.slack.payloads import (
    ME,
    ORG,
    altered,
    event,
    ignored,
    inbound,
    opened,
    sample,
    told,
)


def text_only(text: str) -> JsonObject:
    """A post that no client wrote: the mention can only stand in the text."""
    return altered("event.message_mention", "blocks", text=text)


def rich(*elements: Json, kind: str = "rich_text_section") -> list[Json]:
    return [{"type": "rich_text", "elements": [{"type": kind, "elements": list(elements)}]}]


# -- what a turn gets ----------------------------------------------------------------------------------
def test_a_mention_opens_a_turn_in_its_own_thread() -> None:
    found = inbound(told("event.message_mention"))
    assert found.turn_id == found.post == "slack:T1:C1:1700000000.000100"
    assert found.place == Place("slack:T1:C1:1700000000.000100", "slack:T1:C1:1700000000.000100")
    assert found.keys == (
        "slack:event:Ev001",
        "slack:post:T1:C1:1700000000.000100",
        "slack:cmid:T1:0a1b2c3d-0000-4000-8000-000000000001",
    )
    assert (found.speaker.id, found.speaker.level) == ("slack:T1:U1", "provider")
    assert found.text == "where is order 1042?"
    assert (found.author, found.pair, found.replace, found.follow) == (
        *("person", None, False, "thread"),
    )
    assert found.target == {
        "source": "slack",
        "lane": "slack:T1:C1:1700000000.000100",
        "installation": "T1",
        "team": "T1",
        "channel": "C1",
        "thread_ts": "1700000000.000100",
        "user": "U1",
        "user_team": "T1",
        "title": "where is order 1042?",
    }
    assert found.fetch is None


def test_the_kept_event_has_ids_and_marks_only() -> None:
    found = inbound(told("event.message_im"))
    assert found.text == "what about <1042>?"
    assert found.event == {
        "type": "message",
        "id": found.event_id,
        "installation": "T1",
        "channel": "D1",
        "channel_type": "im",
        "ts": "1700000000.000100",
        "thread_ts": None,
        "user": "U1",
        "shared": False,
        "external": False,
        "guest": None,
        "looking_at": [
            {"type": "channel_id", "id": "C2"},
            {"type": "message_context", "id": "C2", "ts": "1699999999.000100"},
        ],
    }


def test_a_reply_names_the_thread_to_read() -> None:
    found = inbound(told("event.message_reply"))
    assert found.place.key == "slack:T1:C1:1700000000.000100"
    assert found.turn_id == "slack:T1:C1:1700000060.000200"
    assert found.root_is_ours is False
    assert found.fetch == {
        "installation": "T1",
        "team": "T1",
        "channel": "C1",
        "ts": "1700000060.000200",
        "thread_ts": "1700000000.000100",
    }


@pytest.mark.parametrize("name", ["event.message_reply_to_us", "event.message_thread_broadcast"])
def test_a_reply_to_a_post_of_ours_says_so(name: str) -> None:
    assert inbound(told(name)).root_is_ours is True


def test_files_are_named_and_left_to_be_fetched() -> None:
    found = inbound(told("event.message_file_share"))
    assert found.files == (
        FileRef(
            id="F1",
            name="receipt.png",
            media_type="image/png",
            size=92582,
            url="https://files.slack.com/files-pri/T1-F1/receipt.png",
        ),
        FileRef(id="F2", name="F2", media_type="", size=0, url=""),
    )
    assert found.fetch is not None
    files = found.fetch["files"]
    assert isinstance(files, list)
    assert [one["id"] for one in files if isinstance(one, dict)] == ["F1", "F2"]


def test_people_in_the_text_are_listed_for_their_names() -> None:
    found = inbound(event(text_only("<@UJUNE> ask <@U2> or <@U3|bo> in <#C2|shop>")))
    assert found.text == "ask @U2 or @bo in #shop"
    assert found.fetch is not None
    assert found.fetch["users"] == ["U2", "U3"]


def test_what_a_message_does_to_turns_under_way_is_the_channels_option() -> None:
    table: list[tuple[policy.ReplaceInFlight, Replace]] = [
        (False, False),
        ("speaker", "speaker"),
        ("thread", True),
    ]
    for given, meant in table:
        rules = policy.rules(replace_in_flight=given)
        assert inbound(told("event.message_mention", ME, rules)).replace == meant


def test_follow_rules_go_with_the_message() -> None:
    rules = policy.rules(follow={"C1": "mention"})
    assert inbound(told("event.message_reply", ME, rules)).follow == "mention"
    assert inbound(told("event.message_reply", ME, policy.rules())).follow == "thread"


def test_without_the_agent_view_a_direct_message_is_just_that() -> None:
    rules = policy.rules(agent_view=False)
    assert inbound(told("event.message_im", ME, rules)).addressed == "direct"


@pytest.mark.parametrize(
    ("channel", "kind"), [("D1", "agent"), ("G1", "mention"), ("C1", "mention")]
)
def test_a_missing_channel_type_is_read_off_the_channels_id(channel: str, kind: str) -> None:
    payload = altered("event.message_mention", "channel_type", channel=channel)
    assert inbound(event(payload)).addressed == kind


# -- mentions ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        *("<@UJUNE> hi", "hi <@UJUNE>", "<@UJUNE|june>: hi", "a`b`<@UJUNE>", "``` open <@UJUNE>"),
        *("```x``` <@UJUNE>", "&lt;<@UJUNE>&gt;"),
    ],
)
def test_a_token_in_the_text_is_a_mention(text: str) -> None:
    assert inbound(event(text_only(text))).addressed == "mention"


@pytest.mark.parametrize(
    "text",
    [
        *("jane@bot.io", "site/@bot", "@june", "june", "UJUNE", "<@UJUNE2> hi", "<@U2> hi", ""),
        *("`<@UJUNE>`", "```\n<@UJUNE>\n```", "```a``` `<@UJUNE>`", "&lt;@UJUNE&gt;"),
        *("<!here>", "<!channel>", "<#UJUNE>", "```@scope/pkg```", "<mailto:june@UJUNE|@UJUNE>"),
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    found = ignored(event(text_only(text)))
    assert (found.verdict, found.rule) == ("not_addressed", "not-mentioned")


def test_rich_text_decides_where_there_is_some() -> None:
    """What is typed inside code is text there, whatever the plain text makes of it."""
    text = "<@UJUNE> <@UJUNE>"
    code: Json = {"type": "text", "text": "<@UJUNE>", "style": {"code": True}}
    call: Json = {"type": "user", "user_id": "UJUNE"}
    other: Json = {"type": "user", "user_id": "U2"}
    silent: list[Json] = [
        rich(code),
        rich(code, kind="rich_text_preformatted"),
        rich(other),
        [{"type": "rich_text"}],
    ]
    for blocks in silent:
        payload = altered("event.message_mention", text=text, blocks=blocks)
        assert ignored(event(payload)).rule == "not-mentioned"
    for blocks in (rich(code, call), rich(rich(call)[0], kind="rich_text_list")):
        payload = altered("event.message_mention", text="?", blocks=blocks)
        assert inbound(event(payload)).addressed == "mention"


def test_the_bots_user_may_be_known_from_the_event_alone() -> None:
    me = replace(ME, bot_user="", bot_id="")
    assert inbound(told("event.message_mention", me)).addressed == "mention"
    assert ignored(told("event.message_own", me)).verdict == "own_echo"


def test_a_mention_put_in_by_an_edit_is_too_late() -> None:
    payload = altered("event.app_mention", edited={"user": "U1", "ts": "1700000120.000000"})
    found = ignored(event(payload))
    assert (found.verdict, found.rule) == ("not_addressed", "edited-later")


# -- bots ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mark", ["bot_id", "app_id", "user", "bot_profile"])
def test_our_own_words_are_known_by_any_of_our_names(mark: str) -> None:
    ours: dict[str, Json] = {
        "bot_id": "BJUNE",
        "app_id": "A1",
        "user": "UJUNE",
        "bot_profile": {"id": "B1", "app_id": "A1"},
    }
    payload = altered("event.message_bot", "bot_profile", **{mark: ours[mark]})
    assert ignored(event(payload)).verdict == "own_echo"


@pytest.mark.parametrize("channel", ["C1", "D1", "G1"])
def test_our_own_words_are_known_in_every_kind_of_channel(channel: str) -> None:
    payload = altered("event.message_own", "channel_type", channel=channel, text="<@UJUNE> hi")
    found = ignored(event(payload))
    assert (found.verdict, found.rule) == ("own_echo", "own-post")


@pytest.mark.parametrize("listed", ["B9", "A9", "UB9"])
def test_a_listed_bot_is_heard_by_name(listed: str) -> None:
    found = inbound(told("event.message_bot", ME, policy.rules(bots=[listed])))
    assert (found.author, found.addressed) == ("bot", "mention")
    assert found.pair == "slack:T1:C1:1700000090.000100:B9"
    assert (found.speaker.id, found.speaker.level) == ("slack:T1:UB9", "sender")


def test_a_listed_bot_that_doesnt_mention_us_isnt_heard_anywhere() -> None:
    rules = policy.rules(bots=["B9", "B8"])
    found = ignored(told("event.message_bot_classic", ME, rules))
    assert (found.verdict, found.rule) == ("other_bot", "unmentioned")
    payload = altered("event.message_bot", text="done", channel="D1", channel_type="im")
    assert ignored(event(payload, ME, rules)).rule == "unmentioned"
    payload = altered("event.message_bot", text="done", thread_ts="1700000000.000100")
    assert ignored(event(payload, ME, rules)).rule == "unmentioned"


def test_a_bot_without_a_user_speaks_as_its_bot() -> None:
    payload = altered("event.message_bot_classic", text="<@UJUNE> build 7 failed")
    found = inbound(event(payload, ME, policy.rules(bots=["B8"])))
    assert found.speaker.id == "slack:T1:B8"
    assert found.pair == "slack:T1:C1:1700000091.000100:B8"


def test_a_bot_that_calls_itself_june_or_posts_as_a_person_is_a_bot() -> None:
    assert ignored(told("event.message_bot_classic")).verdict == "other_bot"
    payload = altered("event.message_mention", bot_id="B7")
    assert ignored(event(payload)).verdict == "other_bot"
    payload = altered("event.message_mention", user="USLACKBOT")
    assert ignored(event(payload)).verdict == "other_bot"


# -- outsiders -----------------------------------------------------------------------------------------
def test_people_of_another_company_are_told_privately_that_they_arent_answered() -> None:
    found = ignored(told("event.connect_app_mention"))
    assert (found.verdict, found.rule) == ("policy", "external")
    assert found.say == OUTSIDER
    assert found.reply is not None
    assert (found.reply["channel"], found.reply["user"]) == ("C7", "W7")
    assert found.speaker == "slack:E7:W7"


def test_they_are_told_once_though_a_mention_comes_twice() -> None:
    found = ignored(told("event.connect_message"))
    assert (found.verdict, found.rule, found.say) == ("policy", "external", None)
    assert found.speaker == "slack:E7:W7"


def test_where_they_didnt_speak_to_us_nothing_is_said() -> None:
    found = ignored(event(altered("event.connect_message", text="hi")))
    assert (found.verdict, found.rule, found.say) == ("policy", "external", None)


@pytest.mark.parametrize("name", ["event.connect_app_mention", "event.connect_message"])
def test_an_opened_channel_lets_them_talk_but_not_decide(name: str) -> None:
    found = inbound(told(name, ME, policy.rules(external=["C7"])))
    assert (found.author, found.speaker.level) == ("external", "sender")
    assert found.event["external"] is True


def test_a_guest_is_marked_where_the_payload_tells() -> None:
    for mark in ("is_restricted", "is_ultra_restricted", "is_stranger"):
        profile: Json = {"display_name": "gus", mark: True}
        found = inbound(event(altered("event.app_mention", user_profile=profile)))
        assert found.event["guest"] is True
        assert (found.speaker.name, found.speaker.level) == ("gus", "sender")
    profile = {"real_name": "Ada", "is_restricted": False}
    found = inbound(event(altered("event.app_mention", user_profile=profile)))
    assert (found.event["guest"], found.speaker.level) == (False, "provider")


# -- what isn't said to anybody ------------------------------------------------------------------------
@pytest.mark.parametrize(
    "subtype",
    [
        *("channel_join", "channel_leave", "channel_topic", "channel_purpose", "channel_name"),
        *("channel_archive", "channel_posting_permissions", "ekm_access_denied", "reminder_add"),
        *("assistant_app_thread", "huddle_thread", "pinned_item", "tombstone", "Weird Subtype!"),
    ],
)
def test_other_subtypes_start_nothing_even_with_our_name_in_them(subtype: str) -> None:
    found = ignored(event(altered("event.message_mention", subtype=subtype)))
    assert (found.verdict, found.rule) == ("not_addressed", "subtype")
    assert "Weird" not in found.reason


def test_a_hidden_message_starts_nothing() -> None:
    found = ignored(event(altered("event.message_mention", hidden=True)))
    assert (found.verdict, found.rule) == ("not_addressed", "subtype")


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("user", None, "no-author"),
        ("user", "U1:x", "no-author"),
        ("channel", "", "no-post"),
        ("channel", "C1:C2", "no-post"),
        ("channel", {"id": "C1"}, "no-post"),
        ("ts", None, "no-post"),
        ("ts", 1700000000.0001, "no-post"),
        ("ts", "1700000000.000100:e1", "no-post"),
    ],
)
def test_a_message_without_an_author_or_a_place_is_no_message(
    field: str, value: Json, rule: str
) -> None:
    found = ignored(event(altered("event.message_mention", **{field: value})))
    assert (found.verdict, found.rule) == ("unsupported", rule)


def test_a_thread_that_is_no_timestamp_isnt_believed() -> None:
    found = inbound(event(altered("event.message_mention", thread_ts="C9:1")))
    assert found.place.key == "slack:T1:C1:1700000000.000100"


def test_in_an_org_wide_installation_the_workspace_stays_with_the_target() -> None:
    found = inbound(told("event.org_message", ORG))
    assert found.turn_id == "slack:E1:C1:1700000000.000100"
    assert (found.target["installation"], found.target["team"]) == ("E1", "T1")
    assert (found.speaker.id, found.speaker.tenant) == ("slack:E1:W1", "E1")


def test_the_event_id_alone_tells_two_tellings_apart() -> None:
    first, second = told("event.message_mention"), told("event.app_mention")
    assert inbound(first).event_id != inbound(second).event_id
    assert opened("event", sample("event.app_mention")).event_id == inbound(second).event_id
