"""Buttons, modals, commands, shortcuts, and answers by address: who may press what, and what is sent."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from aiohttp import web
from slack_sdk.webhook.async_client import AsyncWebhookClient

from channels.slack.emulator import Impossible, Message, Shortcut
from channels.slack.emulator.world import tenancy
from tests.unit.emulator.stage import Listener, Play, buttons

MODAL: dict[str, Any] = {
    "type": "modal",
    "callback_id": "why",
    "private_metadata": "r1",
    "notify_on_close": True,
    "title": {"type": "plain_text", "text": "Why"},
    "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [
        {
            "type": "input",
            "block_id": "reason",
            "label": {"type": "plain_text", "text": "Reason"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        },
        {
            "type": "input",
            "block_id": "size",
            "optional": True,
            "label": {"type": "plain_text", "text": "How much"},
            "element": {"type": "static_select", "action_id": "pick", "options": []},
        },
    ],
}


@pytest.fixture
async def heard(play: Play, app: Listener) -> Listener:
    await play.slack.connect(play.app, app.url)
    play.app.events.clear()
    return app


async def card(play: Play, *labels: str, **more: Any) -> Message:
    posted = await play.post("card", blocks=buttons(*labels, **more))
    return play.slack.world.message(play.support.id, posted["ts"])


async def pressed(play: Play, heard: Listener) -> dict[str, Any]:
    """Press a button; what the app got."""
    await play.ada.click(await card(play, "Go"), "Go")
    return cast("dict[str, Any]", heard.heard[-1].payload)


async def open_modal(play: Play, heard: Listener) -> str:
    trigger = (await pressed(play, heard))["trigger_id"]
    opened = await play.call("views.open", trigger_id=trigger, view=MODAL)
    return str(opened["view"]["id"])


# -- clicks --------------------------------------------------------------------------------------------
async def test_a_click_says_who_where_and_what(play: Play, heard: Listener) -> None:
    root = await play.ada.say(play.support, "root")
    posted = await play.post("card", blocks=buttons("Approve", "Deny"), thread_ts=root.ts)
    (shown,) = play.slack.thread(play.support, root)[1:]
    assert [button.label for button in shown.buttons] == ["Approve", "Deny"]
    await play.ada.click(shown, "Deny")
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert payload["user"] == {
        "id": play.ada.id,
        "username": "ada",
        "name": "ada",
        "team_id": play.acme.id,
    }
    assert payload["team"] == {"id": play.acme.id, "domain": "acme"}
    assert (payload["api_app_id"], payload["is_enterprise_install"]) == (play.app.id, False)
    assert payload["container"] == {
        "type": "message",
        "message_ts": posted["ts"],
        "channel_id": play.support.id,
        "is_ephemeral": False,
        "thread_ts": root.ts,
    }
    (action,) = payload["actions"]
    assert (action["action_id"], action["value"], action["block_id"]) == (
        "deny",
        "value-Deny",
        "choice",
    )
    assert payload["message"]["ts"] == posted["ts"]
    assert {
        "trigger_id",
        "response_url",
        "state",
        "token",
        "enterprise",
        "channel",
    } <= payload.keys()


async def test_in_an_organisation_the_team_says_which(play: Play, heard: Listener) -> None:
    bigco = play.slack.enterprise("bigco")
    north = play.slack.workspace("north", bigco)
    made, eve = north.install(), north.person("eve")
    room = north.channel("room", [eve, made])
    client = play.client(made.token)
    posted = await client.chat_postMessage(channel=room.id, text="card", blocks=buttons("Go"))
    message = play.slack.world.message(room.id, str(posted["ts"]))
    await eve.click(message, "Go")
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert payload["team"] == {
        "id": north.id,
        "domain": "north",
        "enterprise_id": bigco.id,
        "enterprise_name": "bigco",
    }
    tenancy.install(play.slack.world, play.app, bigco, play.app.scopes)
    play.slack.uninstall(made)
    await eve.click(message, "Go")
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert (payload["team"], payload["is_enterprise_install"]) == (None, True)
    assert payload["enterprise"] == {"id": bigco.id, "name": "bigco"}


async def test_a_button_that_isnt_there_cant_be_pressed(play: Play, heard: Listener) -> None:
    message = await card(play, "Approve")
    with pytest.raises(Impossible, match="there is Approve"):
        await play.ada.click(message, "Delete all")
    await play.call("chat.update", channel=play.support.id, ts=message.ts, text="decided")
    with pytest.raises(Impossible, match="there is nothing"):
        await play.ada.click(message, "Approve")
    await play.call("chat.delete", channel=play.support.id, ts=message.ts)
    with pytest.raises(Impossible, match="isn't there any more"):
        await play.ada.click(message, "Approve")
    assert heard.heard == []


async def test_a_button_for_some_is_no_button_for_others(play: Play, heard: Listener) -> None:
    bob = play.acme.person("bob")
    message = await card(play, "Go", visible_to_user_ids=[bob.id])
    with pytest.raises(Impossible):
        await play.ada.click(message, "Go")
    assert (await bob.click(message, "Go")).good
    assert len(heard.heard) == 1


async def test_a_stranger_and_a_guest_press_as_who_they_are(play: Play, heard: Listener) -> None:
    sam = play.slack.workspace("globex").person("sam")
    gus = play.acme.person("gus", guest="multi")
    message = await card(play, "Go")
    for person in (sam, gus):
        await person.click(message, "Go")
    users = [cast("dict[str, Any]", h.payload["user"]) for h in heard.heard]
    assert [(u["id"], u["team_id"]) for u in users] == [
        (sam.id, sam.user.team),
        (gus.id, play.acme.id),
    ]
    assert {cast("dict[str, Any]", h.payload["team"])["id"] for h in heard.heard} == {play.acme.id}


async def test_a_click_can_be_forged_on_purpose(play: Play, heard: Listener) -> None:
    message = await card(play, "Go")
    await play.ada.forged(
        message, [{"action_id": "go", "value": "somebody-elses", "type": "button"}]
    )
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert payload["actions"][0]["value"] == "somebody-elses"


async def test_a_click_is_sent_once_whatever_comes_of_it(play: Play, heard: Listener) -> None:
    heard.answers = [web.Response(status=500)]
    reply = await play.ada.click(await card(play, "Go"), "Go")
    assert (reply.outcome, reply.status) == ("http_error", 500)
    await play.time.advance(600)
    assert len(heard.heard) == 1


# -- modals --------------------------------------------------------------------------------------------
async def test_a_trigger_opens_one_modal_within_three_seconds(play: Play, heard: Listener) -> None:
    trigger = (await pressed(play, heard))["trigger_id"]
    assert (
        await play.refused("views.open", trigger_id="made-up", view=MODAL) == "invalid_trigger_id"
    )
    bad = {**MODAL, "title": None}
    assert await play.refused("views.open", trigger_id=trigger, view=bad) == "invalid_arguments"
    await play.call("views.open", trigger_id=trigger, view=MODAL)
    assert (
        await play.refused("views.open", trigger_id=trigger, view=MODAL) == "exchanged_trigger_id"
    )
    late = (await pressed(play, heard))["trigger_id"]
    await play.time.advance(3)
    assert await play.refused("views.open", trigger_id=late, view=MODAL) == "expired_trigger_id"


async def test_what_was_filled_in_arrives(play: Play, heard: Listener) -> None:
    name = await open_modal(play, heard)
    with pytest.raises(Impossible, match="'Reason' has to be filled in"):
        await play.ada.submit(play.app)
    with pytest.raises(Impossible, match="no 'Colour'"):
        await play.ada.submit(play.app, {"Reason": "late", "Colour": "red"})
    await play.ada.submit(play.app, {"Reason": "late", "pick": "full"})
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert payload["type"] == "view_submission"
    view = payload["view"]
    assert (view["id"], view["callback_id"], view["private_metadata"]) == (name, "why", "r1")
    values = view["state"]["values"]
    assert values["reason"] == {"text": {"type": "plain_text_input", "value": "late"}}
    assert values["size"]["pick"]["selected_option"]["value"] == "full"
    assert play.ada.modal(play.app) is None


async def test_a_strangers_modal_is_sent_from_their_workspace(play: Play, heard: Listener) -> None:
    sam = play.slack.workspace("globex").person("sam")
    play.acme.invite(play.support, [sam])
    await sam.click(await card(play, "Go"), "Go")
    await play.call("views.open", trigger_id=heard.heard[-1].payload["trigger_id"], view=MODAL)
    await sam.submit(play.app, {"Reason": "late"})
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert payload["team"]["id"] == payload["view"]["team_id"] == sam.user.team
    assert payload["view"]["app_installed_team_id"] == play.acme.id
    assert payload["view"]["bot_id"] == play.june.bot


async def test_what_an_app_may_answer_to_a_submission(play: Play, heard: Listener) -> None:
    name = await open_modal(play, heard)
    wrong = {"response_action": "errors", "errors": {"reason": "too short"}}
    again = {"response_action": "update", "view": {**MODAL, "callback_id": "again"}}
    above = {"response_action": "push", "view": {**MODAL, "callback_id": "above"}}
    for answer in (wrong, again, above, {"response_action": "clear"}):
        heard.answers.append(web.json_response(answer))
    await play.ada.submit(play.app, {"Reason": "a"})
    modal = play.ada.modal(play.app)
    assert modal is not None
    assert (modal.id, modal.errors) == (name, {"reason": "too short"})
    await play.ada.submit(play.app, {"Reason": "a"})
    assert (modal.view["callback_id"], modal.errors) == ("again", {})
    await play.ada.submit(play.app, {"Reason": "a"})
    pushed = play.ada.modal(play.app)
    assert pushed is not None
    assert (pushed.view["callback_id"], pushed.previous, pushed.root) == ("above", name, name)
    await play.ada.submit(play.app, {"Reason": "a"})
    assert play.ada.modal(play.app) is None


async def test_a_submission_that_fails_leaves_the_modal_open(play: Play, heard: Listener) -> None:
    name = await open_modal(play, heard)
    heard.answers = [web.Response(status=500)]
    assert not (await play.ada.submit(play.app, {"Reason": "a"})).good
    modal = play.ada.modal(play.app)
    assert modal is not None
    assert modal.id == name
    assert "view_submission" in play.slack.journal.trouble[0]


async def test_closing_is_told_to_those_who_asked(play: Play, heard: Listener) -> None:
    name = await open_modal(play, heard)
    await play.ada.close(play.app)
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert (payload["type"], payload["view"]["id"]) == ("view_closed", name)
    with pytest.raises(Impossible, match="no modal open"):
        await play.ada.close(play.app)


async def test_modals_are_updated_and_stacked(play: Play, heard: Listener) -> None:
    name = await open_modal(play, heard)
    modal = play.ada.modal(play.app)
    assert modal is not None
    changed = {**MODAL, "callback_id": "changed"}
    assert await play.refused("views.update", view_id="V404", view=changed) == "not_found"
    assert (
        await play.refused("views.update", view_id=name, view=changed, hash="old")
        == "hash_conflict"
    )
    await play.call("views.update", view_id=name, view=changed, hash=modal.hash)
    assert modal.view["callback_id"] == "changed"
    for _ in range(2):
        trigger = (await pressed(play, heard))["trigger_id"]
        await play.call("views.push", trigger_id=trigger, view=MODAL)
    trigger = (await pressed(play, heard))["trigger_id"]
    assert await play.refused("views.push", trigger_id=trigger, view=MODAL) == "push_limit_reached"


async def test_a_home_tab_is_published_for_one_person(play: Play) -> None:
    home: dict[str, Any] = {"type": "home", "blocks": [{"type": "divider"}]}
    first = await play.call("views.publish", user_id=play.ada.id, view=home)
    second = await play.call("views.publish", user_id=play.ada.id, view=home)
    assert first["view"]["id"] == second["view"]["id"]
    assert (
        await play.refused("views.publish", user_id=play.ada.id, view=MODAL) == "invalid_arguments"
    )


# -- commands and shortcuts ----------------------------------------------------------------------------
async def test_a_command_and_its_answer(play: Play, heard: Listener) -> None:
    with pytest.raises(Impossible, match="no app here has the command"):
        await play.ada.command(play.support, "/june reset")
    play.app.commands["/june"] = ""
    heard.answers = [
        web.Response(text="Reset."),
        web.json_response({"response_type": "in_channel", "text": "All of it."}),
    ]
    await play.ada.command(play.support, "/june reset now")
    fields = heard.heard[-1].payload
    assert (fields["command"], fields["text"]) == ("/june", "reset now")
    assert (fields["user_id"], fields["channel_id"]) == (play.ada.id, play.support.id)
    assert [m.text for m in play.slack.private(play.ada)] == ["Reset."]
    await play.ada.command(play.support, "/june")
    assert [m.text for m in play.slack.shown(play.support)] == ["All of it."]


async def test_shortcuts_of_both_kinds(play: Play, heard: Listener) -> None:
    play.app.shortcuts["reset"] = Shortcut("reset", "message")
    play.app.shortcuts["start"] = Shortcut("start", "global")
    said = await play.ada.say(play.support, "hello")
    with pytest.raises(Impossible):
        await play.ada.shortcut(play.app, "reset")
    await play.ada.shortcut(play.app, "reset", said)
    await play.ada.shortcut(play.app, "start")
    on_message, anywhere = [cast("dict[str, Any]", h.payload) for h in heard.heard]
    assert (on_message["type"], on_message["callback_id"]) == ("message_action", "reset")
    assert (on_message["message_ts"], on_message["message"]["text"]) == (said.ts, "hello")
    assert (anywhere["type"], anywhere["user"]["id"]) == ("shortcut", play.ada.id)
    assert "channel" not in anywhere
    assert "container" not in on_message
    assert {"response_url", "trigger_id", "action_ts", "token"} <= on_message.keys()


# -- answers by address --------------------------------------------------------------------------------
async def test_an_address_takes_five_answers(play: Play, heard: Listener) -> None:
    url = (await pressed(play, heard))["response_url"]
    client = AsyncWebhookClient(url, retry_handlers=[])
    for n in range(5):
        assert (await client.send(text=str(n))).status_code == 200
    sixth = await client.send(text="6")
    assert (sixth.status_code, json.loads(sixth.body)["error"]) == (404, "used_url")
    assert [m.text for m in play.slack.private(play.ada)] == ["0", "1", "2", "3", "4"]


async def test_an_address_lives_half_an_hour(play: Play, heard: Listener) -> None:
    url = (await pressed(play, heard))["response_url"]
    await play.time.advance(1800)
    late = await AsyncWebhookClient(url, retry_handlers=[]).send(text="late")
    assert json.loads(late.body)["error"] == "expired_url"


async def test_answering_in_place_aloud_and_by_removal(play: Play, heard: Listener) -> None:
    message = await card(play, "Go")
    await play.ada.click(message, "Go")
    client = AsyncWebhookClient(str(heard.heard[-1].payload["response_url"]), retry_handlers=[])
    await client.send(text="done", replace_original=True)
    assert [(m.text, m.buttons) for m in play.slack.shown(play.support)] == [("done", [])]
    await client.send(text="aloud", response_type="in_channel")
    assert [m.text for m in play.slack.shown(play.support)] == ["done", "aloud"]
    await client.send(delete_original=True)
    assert [m.text for m in play.slack.shown(play.support)] == ["aloud"]
    empty = await client.send_dict({"response_type": "in_channel"})
    assert (empty.status_code, json.loads(empty.body)["error"]) == (400, "no_text")


async def test_a_private_note_can_be_pressed_and_replaced(play: Play, heard: Listener) -> None:
    note = {"channel": play.support.id, "user": play.ada.id, "text": "sure?"}
    await play.call("chat.postEphemeral", **note, blocks=buttons("Yes"))
    (shown,) = play.slack.private(play.ada)
    await play.ada.click(shown, "Yes")
    payload = cast("dict[str, Any]", heard.heard[-1].payload)
    assert payload["container"]["is_ephemeral"] is True
    assert "message" not in payload
    client = AsyncWebhookClient(payload["response_url"], retry_handlers=[])
    await client.send(text="noted", replace_original=True)
    assert [m.text for m in play.slack.private(play.ada)] == ["noted"]
    await client.send(delete_original=True)
    assert play.slack.private(play.ada) == []
