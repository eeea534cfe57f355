"""Selects, checkboxes and their like: what a person may choose, and what the app is sent of it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from channels.slack.emulator import Impossible, Message
from gateway.engine.kinds import JsonObject
from tests.unit.emulator.stage import Listener, Play


def option(label: str) -> JsonObject:
    return {"text": {"type": "plain_text", "text": label}, "value": label.lower()}


async def posted(play: Play, app: Listener, *elements: JsonObject) -> Message:
    await play.slack.connect(play.app, app.url)
    play.app.events.clear()
    blocks = [{"type": "actions", "block_id": "b", "elements": [*elements]}]
    made = await play.post("pick", blocks=blocks)
    return play.slack.world.message(play.support.id, made["ts"])


def actions(app: Listener) -> list[dict[str, Any]]:
    return [cast("Any", heard.payload["actions"])[0] for heard in app.heard]


async def test_the_app_is_sent_the_whole_option(play: Play, app: Listener) -> None:
    select: JsonObject = {"type": "static_select", "action_id": "kind", "options": [option("Full")]}
    message = await posted(play, app, select)
    await play.ada.click(message, "kind", "full")
    await play.ada.click(message, "kind", "Full")
    assert [action["selected_option"] for action in actions(app)] == [option("Full")] * 2


async def test_what_isnt_offered_cant_be_chosen(play: Play, app: Listener) -> None:
    menu: JsonObject = {"type": "overflow", "action_id": "more", "options": [option("Full")]}
    message = await posted(play, app, menu)
    with pytest.raises(Impossible, match="'half' isn't offered there; there is Full"):
        await play.ada.click(message, "more", "half")
    assert app.heard == []


async def test_a_choice_may_come_from_a_group_or_be_several(play: Play, app: Listener) -> None:
    group: JsonObject = {
        "label": {"type": "plain_text", "text": "Size"},
        "options": [option("Half")],
    }
    select: JsonObject = {"type": "static_select", "action_id": "kind", "option_groups": [group]}
    offered = [option("Late"), option("Lost")]
    boxes: JsonObject = {"type": "checkboxes", "action_id": "why", "options": [*offered]}
    message = await posted(play, app, select, boxes)
    await play.ada.click(message, "kind", "Half")
    await play.ada.click(message, "why", ["Late", "lost"])
    one, several = actions(app)
    assert one["selected_option"] == option("Half")
    assert several["selected_options"] == offered


async def test_a_date_is_anybodys_choice(play: Play, app: Listener) -> None:
    message = await posted(play, app, {"type": "datepicker", "action_id": "when"})
    await play.ada.click(message, "when", "2026-01-31")
    (action,) = actions(app)
    assert action["selected_date"] == "2026-01-31"
