"""Schedules in the console: what they say, and who may have them run."""

from __future__ import annotations

from gateway.definition.author import Schedule
from gateway.engine.kinds import JsonObject
from gateway.host.channels.context import Context
from gateway.host.console.views.schedules import came
from gateway.schedules.book import Book
from tests.unit.host.console.office import Office, office


def with_schedules(desk: Office) -> None:
    api = desk.gateway.api
    schedules = {
        "digest": Schedule(cron="0 9 * * 1-5", seed="hello", timezone="Europe/Paris"),
        "quiet": Schedule(cron="0 9 * * *", seed=lambda *, at, services: None),
    }
    room = Context(api.runtime, api.agent, api.registry)
    api.schedules = Book(api.runtime, api.agent, schedules, room)


async def test_a_schedule_says_when_it_runs_in_words() -> None:
    async with office() as desk:
        with_schedules(desk)
        eve = await desk.person("eve", "operator")
        words = (await eve.get("/console/schedules")).words
        assert "weekdays at 09:00, Europe/Paris" in words
        assert "has not run yet" in words
        assert "Run now" not in words
        home = (await eve.get("/console")).words
        assert "digest on next in" in home


async def test_run_now_begins_a_turn_by_whoever_pressed() -> None:
    async with office() as desk:
        with_schedules(desk)
        ada = await desk.person("ada", "admin")
        done = await ada.press("/console/schedules", "/console/schedules/digest/run")
        assert done.status == 303
        assert done.to.startswith("/console/session?agent=june&key=cron%3Adigest%3A")
        assert "console:ada" in (await ada.get(done.to)).words
        found = await ada.json("/console/schedules/digest.json")
        history = found["history"]
        assert isinstance(history, list)
        (one,) = history
        assert isinstance(one, dict)
        assert (one["outcome"], one["by"]) == ("fired", "console:ada")
        assert "by console:ada" in (await ada.get("/console/schedules/digest")).words


async def test_nothing_to_ask_leads_back_to_the_schedule_that_says_so() -> None:
    async with office() as desk:
        with_schedules(desk)
        ada = await desk.person("ada", "admin")
        done = await ada.press("/console/schedules", "/console/schedules/quiet/run")
        assert (done.status, done.to) == (303, "/console/schedules/quiet")
        assert "skipped" in (await ada.get(done.to)).words
        assert "nothing to ask" in (await ada.get(done.to)).words


async def test_pause_and_resume() -> None:
    async with office() as desk:
        with_schedules(desk)
        ada = await desk.person("ada", "admin")
        await ada.press("/console/schedules", "/console/schedules/digest/pause")
        shown = await ada.get("/console/schedules/digest")
        assert "paused by console:ada" in shown.words
        await ada.press("/console/schedules", "/console/schedules/digest/resume")
        assert "paused by" not in (await ada.get("/console/schedules/digest")).words


async def test_a_viewer_has_nothing_run_or_paused() -> None:
    async with office() as desk:
        with_schedules(desk)
        eve = await desk.person("eve", "viewer")
        for act in ("run", "pause", "resume"):
            done = await eve.press("/console", f"/console/schedules/digest/{act}")
            assert done.status == 403
        found = await eve.json("/console/schedules/digest.json")
        assert (found["history"], found["paused_by"]) == ([], None)


def tick(**over: object) -> JsonObject:
    made = {
        "due": 0,
        "outcome": "fired",
        "by": "cron:digest",
        "why": "",
        "at": 0,
        "session": "cron:digest:x",
        "turn_id": "t",
        "state": "completed",
        "quiet": None,
        "delivery": None,
    }
    return made | over  # type: ignore[return-value]


def test_that_it_fired_isnt_yet_that_it_arrived() -> None:
    def word(**over: object) -> object:
        return came(tick(**over), "june")["word"]

    assert word(delivery={"id": 1, "state": "done"}) == "delivered"
    assert word(delivery={"id": 1, "state": "dead"}) == "given up"
    assert word(delivery={"id": 1, "state": "due"}) == "to be sent"
    assert word(state="failed", delivery={"id": 1, "state": "done"}) == "failed"
    assert word(state="running") == "running"
    assert word(quiet="no orders", delivery={"id": 1, "state": "silent"}) == "nothing to report"
    assert word(outcome="skipped", why="paused") == "skipped"
    assert word(outcome="failed", why="it raised") == "failed"
    assert came(tick(why="late by 20 min"), "june")["late"] is True
