"""People and channels by name wherever an operator looks, with the real channel and a Slack to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.playing import PATIENCE, playing

pytestmark = pytest.mark.timeout(60)


async def test_ids_of_slack_have_names_and_a_page_costs_no_call(tmp_path: Path) -> None:
    async with playing(tmp_path) as play:
        asker = play.office.personas["asker"].person
        asked = await asker.say(play.office.home, "@june where is order 1042?")
        await play.said(asked, "Order 1042")
        place = f"slack:{play.office.june.key}:{asked.channel}:{asked.root}"
        who = f"slack:{play.office.june.key}:{asker.id}"
        names, journal = play.host.api.names, play.slack.journal

        assert play.host.api.names.of("slack:nonsense") is None
        for word in (place, who, place, f"slack:{asked.channel}"):
            names.of(word)  # the first look asks
        await play.slack.until(lambda: bool(names.of(place) and names.of(who)), PATIENCE)
        assert names.shown(who) == "asker"
        assert names.shown(place).startswith("#orders, ")
        assert names.shown(f"slack:{asked.channel}") == "#orders"
        (turn,) = await play.host.runtime.store.list_turns()
        row = names.beside({"session": turn.ref.key, "speaker": turn.turn.speaker})
        assert row["speaker_name"] == "asker"
        before = len(journal.of("conversations.info", "users.info"))
        for _ in range(20):
            names.of(place)
        assert len(journal.of("conversations.info", "users.info")) == before
        assert len(journal.of("conversations.info")) == 1
