"""The pages over HTTP: what each shows, to whom, and that its JSON says the same."""

from __future__ import annotations

import re

import pytest

from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Receipt
from gateway.engine.records.companions import DeliveryOpened
from gateway.host.app import make_app
from gateway.host.console.views.deliveries import place
from gateway.host.pages.render import LINKS, POLICY, Link
from gateway.outbox.reference import reference_of
from tests.support.http import connect, on_socket
from tests.unit.host.console.office import Office, Person, office

PAGES = (
    "",
    "/approvals",
    "/approvals?show=decided",
    "/approvals?show=expired",
    "/sessions",
    "/sessions?show=idle",
    "/session?agent=june&key=s1",
    "/turns",
    "/turns?show=failed",
    "/deliveries",
    "/deliveries?show=dead",
    "/schedules",
)


def as_json(path: str) -> str:
    path, mark, query = path.partition("?")
    return f"/console{path}.json{mark}{query}"


async def busy(desk: Office) -> None:
    """A refund that waits, an answer, a failure."""
    assert (await desk.say("call refund 1042"))["status"] == "suspended"
    assert (await desk.say("hello", "s2"))["status"] == "completed"
    assert (await desk.say("fail", "s3"))["status"] == "failed"


async def test_each_page_is_a_page_and_json_small_and_strict() -> None:
    async with office() as desk:
        await busy(desk)
        ada = await desk.person("ada", "viewer")
        for path in PAGES:
            shown = await ada.get(f"/console{path}")
            assert shown.status == 200, (path, shown.raw)
            assert shown.headers["Content-Security-Policy"] == POLICY
            assert shown.headers["Cache-Control"] == "no-store"
            assert shown.headers["X-Content-Type-Options"] == "nosniff"
            assert shown.headers["Referrer-Policy"] == "no-referrer"
            assert len(shown.raw) < 30_000, path
            # Nothing that the policy would stop, or that points elsewhere.
            assert not re.search(r"<style|style=|\son[a-z]+=|<script(?! src=)", shown.raw), path
            assert not re.search(r'(?:src|href|action)="(?!/console|#)', shown.raw), path
            assert await ada.json(as_json(path))


@pytest.mark.parametrize("path", PAGES)
async def test_nobody_sees_a_page_without_signing_in(path: str) -> None:
    async with office() as desk:
        stranger = Person("nobody", "", desk.gateway.client)
        shown = await stranger.get(f"/console{path}")
        assert (shown.status, shown.to.partition("?")[0]) == (303, "/console/sign-in")
        answer = await desk.gateway.client.get(as_json(path))
        assert (answer.status, answer.code) == (401, "unauthenticated")


async def test_a_host_without_a_sign_in_has_no_console() -> None:
    async with office() as desk:
        desk.gateway.api.access = None
        paths = {resource.canonical for resource in make_app(desk.gateway.api).router.resources()}
        assert not [path for path in paths if path.startswith("/console")]


async def test_home_counts_what_needs_somebody_and_is_calm_otherwise() -> None:
    async with office() as desk:
        ada = await desk.person("ada", "viewer")
        assert (await ada.json("/console.json"))["calm"] is True
        assert "All is well." in (await ada.get("/console")).words
        await busy(desk)
        found = await ada.json("/console.json")
        assert (found["calm"], found["approvals"], found["dead"]) == (False, 1, 0)
        assert (found["running"], found["queued"]) == (0, 0)
        today = found["today"]
        assert isinstance(today, dict)
        assert (today["turns"], today["failed"]) == (3, 1)
        words = (await ada.get("/console")).words
        assert "1 approval oldest" in words
        assert "All is well." not in words


async def test_every_number_of_home_is_a_link() -> None:
    async with office() as desk:
        await busy(desk)
        ada = await desk.person("ada", "viewer")
        raw = (await ada.get("/console")).raw
        figures = re.findall(r"<ul class=\"figures\">.*?</ul>", raw, re.DOTALL)
        assert len(figures) == 3
        for part in figures:
            assert part.count("<strong>") == part.count("<a href=") > 0


async def test_a_broken_agent_directory_is_said_on_the_first_page() -> None:
    async with office() as desk:
        ada = await desk.person("ada", "viewer")
        desk.gateway.api.mistakes = ("agent/tools/refund.py:3: has no docstring",)
        shown = await ada.get("/console")
        assert "agent/tools/refund.py:3: has no docstring" in shown.words
        assert "All is well." not in shown.words


async def test_a_room_may_add_a_way_to_the_navigation() -> None:
    async with office() as desk:
        app = make_app(desk.gateway.api)
        app[LINKS] = [Link("/playground", "Playground & more")]
        ada = await desk.person("ada", "viewer")
        async with on_socket(app) as url, connect(url) as client:
            shown = await Person("ada", ada.token, client).get("/console")
            assert '<a href="/playground">Playground &amp; more</a>' in shown.raw


async def test_where_there_is_a_playground_an_empty_home_leads_to_it() -> None:
    async with office() as desk:
        ada = await desk.person("ada", "viewer")
        assert "playground" not in (await ada.get("/console")).words
        app = make_app(desk.gateway.api)
        app[LINKS] = [Link("/playground", "Playground")]
        async with on_socket(app) as url, connect(url) as client:
            shown = await Person("ada", ada.token, client).get("/console")
            assert 'Say something: <a href="/playground">in the playground</a>' in shown.raw


async def test_what_the_model_and_people_wrote_stays_text() -> None:
    hostile = "<script>alert(1)</script> \u202egnp.exe"
    async with office() as desk:
        await desk.say(hostile)
        ada = await desk.person("ada", "viewer")
        for path in ("/session?agent=june&key=s1", "/turns", ""):
            raw = (await ada.get(f"/console{path}")).raw
            assert "<script>" not in raw, path
            assert "\u202e" not in raw, path
        assert "\\u202e" in (await ada.get("/console/session?agent=june&key=s1")).words


async def test_a_session_shows_what_was_said_and_each_step() -> None:
    async with office() as desk:
        await busy(desk)
        ada = await desk.person("ada", "viewer")
        found = await ada.json("/console/session.json?agent=june&key=s1")
        turn = found["turn"]
        assert isinstance(turn, dict)
        steps = turn["steps"]
        assert isinstance(steps, list)
        told = [(one["kind"], one["word"]) for one in steps if isinstance(one, dict)]
        assert told == [
            ("turn", "started"),
            ("model", "calls"),
            ("tool", "waits"),
            ("approval", "waits"),
        ]
        words = (await ada.get("/console/session?agent=june&key=s1")).words
        assert "call refund 1042" in words
        assert "at least once, under one key" in words


async def test_a_long_session_is_never_shown_whole() -> None:
    async with office() as desk:
        for number in range(40):
            await desk.say(f"message {number}")
        ada = await desk.person("ada", "viewer")
        path = "/console/session.json?agent=june&key=s1"
        seen: list[int] = []
        older: object = ""
        while older is not None:
            found = await ada.json(f"{path}&before={older}" if older else path)
            messages, older = found["messages"], found["older"]
            assert isinstance(messages, list)
            assert 0 < len(messages) <= 50
            page = [one["index"] for one in messages if isinstance(one, dict)]
            seen = [int(str(index)) for index in page] + seen
        assert seen == list(range(80))


async def test_a_reset_conversation_is_still_there() -> None:
    async with office() as desk:
        first = await desk.say("hello")
        await desk.gateway.client.post("/agents/june/sessions/s1/reset")
        await desk.say("anew")
        ada = await desk.person("ada", "viewer")
        now = await ada.get("/console/session?agent=june&key=s1")
        assert "anew" in now.words
        before = await ada.get(f"/console/session?agent=june&key=s1&turn={first['turn_id']}")
        assert "This is an archived part of the conversation." in before.words
        assert "you said: hello" in before.words


async def test_lists_have_pages_of_fifty_rows() -> None:
    async with office() as desk:
        for number in range(53):
            await desk.say("hello", f"s{number}")
        ada = await desk.person("ada", "viewer")
        first = await ada.json("/console/sessions.json")
        rows = first["sessions"]
        assert isinstance(rows, list)
        assert (len(rows), first["older"], first["newer"]) == (50, 2, None)
        second = await ada.json("/console/sessions.json?page=2")
        rest = second["sessions"]
        assert isinstance(rest, list)
        assert (len(rest), second["older"], second["newer"]) == (3, None, 1)
        shown = await ada.get("/console/sessions")
        assert 'href="/console/sessions?show=all&amp;page=2"' in shown.raw


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/session?agent=june&key=nobody", 404),
        ("/session?agent=other&key=s1", 404),
        ("/session?agent=june&key=s1&turn=none", 404),
        ("/session?agent=june&key=%00", 400),
        ("/session?agent=june&key=" + "k" * 600, 400),
        ("/approvals/none", 404),
        ("/approvals/%01", 404),
        ("/deliveries/7", 404),
        ("/deliveries/%D9%A3", 404),
        ("/deliveries/99999999999999999999", 404),
        ("/schedules/none", 404),
        ("/sessions?page=x", 200),
        ("/sessions?page=-1", 200),
        ("/sessions?page=99999", 200),
        ("/session?agent=june&key=s1&before=x", 200),
        ("/approvals?show=everything", 200),
    ],
)
async def test_what_isnt_there_is_a_page_that_says_so(path: str, status: int) -> None:
    async with office() as desk:
        await desk.say("hello")
        ada = await desk.person("ada", "viewer")
        shown = await ada.get(f"/console{path}")
        assert shown.status == status, shown.words
        assert shown.headers["Content-Type"].startswith("text/html")


async def test_an_unknown_address_is_a_page_with_the_navigation() -> None:
    async with office() as desk:
        ada = await desk.person("ada", "viewer")
        for path in ("/nothing", "/approvals/a/b", "/turns/t1"):
            shown = await ada.get(f"/console{path}")
            assert shown.status == 404
            assert f"/console{path} is no page here" in shown.words
            assert 'aria-label="Pages"' in shown.raw
            assert "This page as JSON" not in shown.words
        answer = await desk.gateway.client.get("/console/nothing")
        assert (answer.status, answer.json["code"]) == (404, "not_found")
        stranger = await Person("nobody", "x" * 43, desk.gateway.client).get("/console/nothing")
        assert (stranger.status, "Approvals" in stranger.words) == (404, False)


async def test_a_turn_is_found_by_the_reference_that_somebody_was_told() -> None:
    async with office() as desk:
        await desk.say("hello", "s1")
        turn_id = str((await desk.say("fail", "s2"))["turn_id"])
        ada = await desk.person("ada", "viewer")
        for wanted in (reference_of(turn_id), turn_id, "S2", "FAIL"):
            found = (await ada.json(f"/console/turns.json?find={wanted}"))["turns"]
            assert isinstance(found, list)
            assert [one["turn_id"] for one in found if isinstance(one, dict)] == [turn_id], wanted
        nothing = await ada.get("/console/turns?find=%3Cb%3E")
        assert "None of the latest turns has that." in nothing.words
        assert "<b>" not in nothing.raw


async def test_turns_are_in_the_navigation() -> None:
    async with office() as desk:
        ada = await desk.person("ada", "viewer")
        assert (
            '<a href="/console/turns" aria-current="page">Turns'
            in (await ada.get("/console/turns")).raw
        )


async def test_empty_pages_say_what_to_do_next() -> None:
    async with office() as desk:
        desk.gateway.api.schedules = None
        ada = await desk.person("ada", "viewer")
        for path, told in {
            "/approvals": "Nothing waits for a decision.",
            "/sessions": "gateway chat",
            "/turns": "gateway chat",
            "/deliveries": "Answers that a channel shows are listed here",
            "/schedules": "gateway add schedule",
        }.items():
            assert told in (await ada.get(f"/console{path}")).words, path


# -- deliveries --------------------------------------------------------------------------------------
async def dead_delivery(desk: Office) -> Delivery:
    """A delivery that its channel refused for good."""
    await desk.say("hello")
    store, now = desk.gateway.api.runtime.store, desk.gateway.api.runtime.clock.now()
    (turn,) = await store.list_turns(limit=1)
    opened = DeliveryOpened(
        turn=turn.turn.row,
        part="reply",
        source="slack",
        target={"channel": "C1"},
        lane="C1",
        at=now,
    )
    await store.ledger.note([opened])
    (row,) = await store.ledger.claim("test", ["slack"], now, Millis(60_000), 1)
    return await store.ledger.settle(
        Receipt(
            delivery=row.id,
            token=row.token,
            satisfied=0,
            state="dead",
            seq=0,
            error="failed: the channel is archived",
        )
    )


async def test_a_dead_delivery_says_why_and_is_retried_by_a_button() -> None:
    async with office() as desk:
        row = await dead_delivery(desk)
        ada = await desk.person("ada")
        home = await ada.json("/console.json")
        assert (home["dead"], home["calm"]) == (1, False)
        shown = await ada.get("/console/deliveries?show=dead")
        assert "given up" in shown.words
        assert "The channel or the network failed: the channel is archived" in shown.words
        done = await ada.press(
            "/console/deliveries?show=dead", f"/console/deliveries/{row.id}/retry"
        )
        assert (done.status, done.to) == (303, f"/console/deliveries/{row.id}")
        kept = await desk.gateway.api.runtime.store.ledger.delivery(row.id)
        assert kept is not None
        assert kept.state == "due"
        # Somebody else's second press finds it alive, and breaks nothing.
        again = await ada.press("/console", f"/console/deliveries/{row.id}/retry")
        assert again.status == 303


async def test_a_delivery_says_its_place_and_its_tries_in_words() -> None:
    async with office() as desk:
        row = await dead_delivery(desk)
        ada = await desk.person("ada")
        words = (await ada.get(f"/console/deliveries/{row.id}")).words
        assert "Place #C1 Tries 1 try that didn't get it through" in words
        await ada.press("/console", f"/console/deliveries/{row.id}/retry")
        words = (await ada.get(f"/console/deliveries/{row.id}")).words
        assert "Place #C1" in words
        assert "Tries" not in words, "nothing failed since"
        assert '<td class="number"></td>' in (await ada.get("/console/deliveries")).raw


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ({"channel": "C1", "thread_ts": "17.5"}, "#C1, thread 17.5"),
        ({"channel": "D1", "thread_ts": ""}, "direct messages D1"),
        ({"mailbox": "m"}, ""),
    ],
)
def test_a_place_in_words(target: JsonObject, told: str) -> None:
    assert place(target) == told


async def test_a_viewer_may_not_retry() -> None:
    async with office() as desk:
        row = await dead_delivery(desk)
        eve = await desk.person("eve", "viewer")
        page = await eve.get("/console/deliveries?show=dead")
        assert "Retry" not in page.words
        done = await eve.press("/console", f"/console/deliveries/{row.id}/retry")
        assert done.status == 403


async def test_the_hosts_bare_name_leads_a_person_to_the_console_and_tells_a_program_where() -> (
    None
):
    async with office() as desk:
        ada = await desk.person("ada")
        shown = await ada.get("/")
        assert (shown.status, shown.to) == (303, "/console")
        told = await desk.gateway.client.get("/")
        assert (told.status, told.json["fix"]) == (404, "see GET /openapi.json for what is")
