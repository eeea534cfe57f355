"""One person in two windows: both send the form that is open in both."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from channels.slack.emulator.wire import a_text, objects
from gateway.playground.desk import FIELD
from tests.support.playing import PATIENCE, playing

pytestmark = pytest.mark.timeout(60)


async def test_a_form_that_two_windows_send_at_once_breaks_in_neither(tmp_path: Path) -> None:
    async with playing(tmp_path) as play, aiohttp.ClientSession() as http:
        slack, lead = play.slack, play.office.personas["lead"].person
        asker = play.office.personas["asker"].person
        asked = await asker.say(play.office.home, "@june please refund order 1042")

        def cards() -> list[str]:
            shown = slack.thread(asked.channel, asked.root)
            return [one.ts for one in shown if one.buttons]

        await slack.until(lambda: bool(cards()), PATIENCE)
        form = {"as": "lead", "in": asked.channel, "ts": cards()[0]}
        more = {**form, "action": "june.more", "value": "Deny with a reason"}
        async with http.post(f"{play.url}/click", data=more) as answer:
            assert answer.status == 200
        await slack.until(lambda: lead.modal(play.office.app) is not None, PATIENCE)
        view = lead.modal(play.office.app)
        assert view is not None
        inputs = [b for b in objects(view.view.get("blocks")) if b.get("type") == "input"]
        filled = {f"{FIELD}{a_text(block.get('block_id'))}": "too late" for block in inputs}

        async def send() -> int:
            async with http.post(f"{play.url}/submit", data={**form, **filled}) as answer:
                return answer.status

        async with asyncio.TaskGroup() as tasks:
            sent = [tasks.create_task(send()) for _ in range(2)]
        assert [one.result() for one in sent] == [200, 200]
