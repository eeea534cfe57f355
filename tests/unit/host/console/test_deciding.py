"""Deciding in the console: as ``console:<user>``, about exactly what was shown, and once."""

from __future__ import annotations

import asyncio
from io import StringIO

import pytest

from gateway.approvals.authorise import decide_as
from gateway.cli.out import Out
from gateway.cli.talk.card import card
from gateway.engine.kinds import JsonObject, Speaker
from gateway.engine.outcomes import TurnInput
from tests.unit.host.console.office import Office, Person, office


async def asked(desk: Office, message: str = "call gift 7", session: str = "s1") -> JsonObject:
    answer = await desk.say(message, session)
    assert answer["status"] == "suspended", answer
    request = answer["request"]
    assert isinstance(request, dict)
    return {**request, "turn_id": answer["turn_id"]}


async def decide(person: Person, request: JsonObject, **form: str) -> tuple[int, str]:
    path = f"/console/approvals/{request['id']}"
    done = await person.press("/console", path, digest=str(request["digest"]), **form)
    return done.status, done.to or done.words


async def record(desk: Office, request: JsonObject) -> tuple[str | None, str | None, str | None]:
    found = await desk.gateway.api.runtime.store.find_request(str(request["id"]))
    assert found is not None
    return found.request.outcome, found.request.by, found.request.reason


async def test_the_card_shows_the_exact_arguments_and_who_may_decide() -> None:
    async with office() as desk:
        request = await asked(desk, "call refund 1042")
        ada = await desk.person("ada")
        shown = await ada.get("/console/approvals")
        assert "Refund 1042?" in shown.words
        assert "order 1042" in shown.words
        assert str(request["digest"]) in shown.words
        assert "policy refunds" in shown.words
        assert "moves money" in shown.words
        assert shown.field("digest") == request["digest"]


async def test_who_asked_by_mail_is_quoted_and_how_well_they_are_known() -> None:
    async with office() as desk:
        by = Speaker("email:ada@cust.example", name="<b>Ada", tenant="cust.example", level="domain")
        given = TurnInput(
            message="call refund 1042 <script>",
            turn_id="t1",
            source="email",
            speaker=by,
            event={"attestation": {"reasons": [["not_vouching", "It isn't listed."]]}},
        )
        session = desk.gateway.api.runtime.session("june", "email:x:1")
        await session.start(given)
        assert (await session.result("t1")).status == "suspended"
        ada = await desk.person("ada")
        shown = await ada.get("/console/approvals")
        for told in ("Who asked, by email", "level domain", "not for the person who wrote it. It"):
            assert told in shown.words
        assert '<blockquote class="asked">call refund 1042 &lt;script&gt;</blockquote>' in shown.raw


@pytest.mark.parametrize(
    ("pressed", "outcome", "text"),
    [("approve", "approved", "done: sent"), ("deny", "denied", "done: kept")],
)
async def test_a_press_decides_and_the_turn_goes_on(pressed: str, outcome: str, text: str) -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        here = f"/console/approvals/{request['id']}"
        assert await decide(ada, request, decision=pressed, reason=" It's fine. ") == (
            303,
            f"{here}?came=pressed",
        )
        assert await record(desk, request) == (outcome, "console:ada", "It's fine.")
        shown = await ada.get(f"{here}?came=pressed")
        assert f"You {outcome} this." in shown.words
        assert "It's fine." in shown.words
        session = desk.gateway.api.runtime.session("june", "s1")
        result = await session.result(str(request["turn_id"]))
        assert (result.status, result.text) == ("completed", text)
        waiting = await ada.json("/console/approvals.json")
        assert waiting["approvals"] == []
        decided = await ada.json("/console/approvals.json?show=decided")
        assert isinstance(decided["approvals"], list)
        assert [one["by"] for one in decided["approvals"] if isinstance(one, dict)] == [
            "console:ada"
        ]


async def test_who_comes_second_is_told_who_was_first() -> None:
    async with office() as desk:
        request = await asked(desk)
        ada, lin = await desk.person("ada"), await desk.person("lin")
        assert (await decide(ada, request, decision="deny"))[0] == 303
        status, to = await decide(lin, request, decision="approve")
        assert (status, to) == (303, f"/console/approvals/{request['id']}?came=late")
        words = (await lin.get(to)).words
        assert "Somebody was first. Already denied by console:ada." in words
        assert await record(desk, request) == ("denied", "console:ada", None)


async def test_of_two_at_the_same_moment_one_decides(where: str) -> None:
    async with office(where) as desk:
        request = await asked(desk)
        people = [await desk.person(name) for name in ("ada", "lin", "kim")]
        async with asyncio.TaskGroup() as tasks:
            pressed = [
                tasks.create_task(decide(person, request, decision="approve")) for person in people
            ]
        ways = sorted(to.result()[1].partition("=")[2] for to in pressed)
        assert ways == ["late", "late", "pressed"]


async def test_an_address_cant_claim_what_didnt_happen() -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        for came in ("pressed", "late", "forged"):
            words = (await ada.get(f"/console/approvals/{request['id']}?came={came}")).words
            assert "You approved" not in words
            assert "Already" not in words


async def test_what_was_shown_is_what_is_decided() -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        for digest in ("", "0" * 64):
            stale = {**request, "digest": digest}
            status, to = await decide(ada, stale, decision="approve")
            assert (status, to.partition("=")[2]) == (303, "late")
            assert "Look at it again." in (await ada.get(to)).words
        assert (await record(desk, request))[0] is None


async def test_a_policy_is_asked_and_its_no_is_said() -> None:
    async with office() as desk:
        request = await asked(desk, "call refund 1042")
        ada = await desk.person("ada")
        status, words = await decide(ada, request, decision="approve")
        assert status == 403
        assert "only the policy 'refunds' may answer this request" in words
        assert "Approvals 1 waiting Sessions" in words, "the console's own page"
        assert (await record(desk, request))[0] is None
        assert desk.gateway.world.refunds == []


async def test_who_isnt_named_sees_why_and_no_buttons() -> None:
    async with office() as desk:
        request = await asked(desk, "call ask console:lin")
        ada, lin = await desk.person("ada"), await desk.person("lin")
        here = f"/console/approvals/{request['id']}"
        for path in ("/console/approvals", here):
            shown = await ada.get(path)
            assert "Only console:lin may decide this, and you are console:ada." in shown.words
            assert 'class="decide"' not in shown.raw
            assert 'class="decide"' in (await lin.get(path)).raw
        status, words = await decide(ada, request, value="yes")
        assert status == 403
        assert "only console:lin may answer this request" in words
        assert "Approvals 1 waiting Sessions" in words, "the console's own page"
        assert (await decide(lin, request, value="yes"))[0] == 303


# -- votes -------------------------------------------------------------------------------------------
async def vote(desk: Office, request: JsonObject, by: str) -> None:
    runtime = desk.gateway.api.runtime
    found = await runtime.store.find_request(str(request["id"]))
    assert found is not None
    await decide_as(
        runtime.session("june", "s1"),
        found,
        True,
        by=by,
        principal=Speaker(id=by, level="provider"),
        reason=None,
        digest=str(request["digest"]),
    )


async def test_votes_of_two_kinds_of_names_dont_add_up_and_the_page_says_so() -> None:
    async with office() as desk:
        request = await asked(desk, "call vote")
        ada, lin = await desk.person("ada"), await desk.person("lin")
        await vote(desk, request, "slack:T1:LEAD")
        status, to = await decide(ada, request, decision="approve")
        assert (status, await record(desk, request)) == (303, (None, None, None))
        why = "it doesn't add up with that of slack:T1:LEAD: they may be one person by two names"
        for path in (to, "/console/approvals"):
            shown = await ada.get(path)
            assert "1 of 2 votes" in shown.words
            assert f"Your vote is kept, but {why}. 1 of 2 so far." in shown.words
            assert "slack:T1:LEAD approves" in shown.words
            assert f"not counted {why}" in shown.words
            assert 'value="approve"' not in shown.raw
            assert 'value="deny"' in shown.raw, "one no decides, whoever says it"
            assert 'value="approve"' in (await lin.get(path)).raw
        # The API, and with it the command line, counts alike.
        told = (await desk.gateway.client.get(f"/approvals/{request['id']}")).json
        assert told["votes"] == 1
        assert isinstance(told["cast"], list)
        assert [(one["by"], one["counts"]) for one in told["cast"] if isinstance(one, dict)] == [
            ("slack:T1:LEAD", True),
            ("console:ada", False),
        ]
        out = StringIO()
        card(Out(stdout=out, stderr=out), told)
        assert "1 of 2" in out.getvalue()
        assert f"console:ada (kept, not counted: {why})" in out.getvalue()
        assert (await decide(lin, request, decision="approve"))[0] == 303
        assert (await record(desk, request))[0] == "approved"


async def test_a_vote_that_counts_is_told_so() -> None:
    async with office() as desk:
        request = await asked(desk, "call vote")
        ada = await desk.person("ada")
        _, to = await decide(ada, request, decision="approve")
        words = (await ada.get(to)).words
        assert "Your vote counts: 1 of 2 so far." in words
        assert "not counted" not in words


async def test_a_viewer_looks_and_doesnt_decide() -> None:
    async with office() as desk:
        request = await asked(desk)
        eve = await desk.person("eve", "viewer")
        assert "You may look, not decide" in (await eve.get("/console/approvals")).words
        assert (await decide(eve, request, decision="approve"))[0] == 403
        assert (await record(desk, request))[0] is None


@pytest.mark.parametrize("csrf", ["", "forged", "theirs"])
async def test_a_form_of_another_page_decides_nothing(csrf: str) -> None:
    async with office() as desk:
        request = await asked(desk)
        ada, lin = await desk.person("ada"), await desk.person("lin")
        token = (await lin.get("/console")).field("csrf") if csrf == "theirs" else csrf
        path = f"/console/approvals/{request['id']}"
        form = {"csrf": token, "digest": str(request["digest"]), "decision": "approve"}
        assert (await ada.post(path, form)).status == 403
        assert (await record(desk, request))[0] is None


async def test_a_stranger_decides_nothing() -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        csrf = (await ada.get("/console")).field("csrf")
        stranger = Person("nobody", "x" * 43, desk.gateway.client)
        form = {"csrf": csrf, "digest": str(request["digest"]), "decision": "approve"}
        done = await stranger.post(f"/console/approvals/{request['id']}", form)
        assert (done.status, done.to) == (303, "/console/sign-in")
        assert (await record(desk, request))[0] is None


async def test_a_word_is_answered_and_must_fit() -> None:
    async with office() as desk:
        request = await asked(desk, "call ask")
        ada = await desk.person("ada")
        assert 'maxlength="5"' in (await ada.get("/console/approvals")).raw
        status, words = await decide(ada, request, value="far too long")
        assert status == 422
        assert "doesn't fit" in words
        assert (await decide(ada, request, value="yes"))[0] == 303
        assert (await record(desk, request))[0] == "answered"


@pytest.mark.parametrize("form", [{}, {"decision": "perhaps"}, {"value": "true"}])
async def test_a_form_without_a_decision_is_refused(form: dict[str, str]) -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        assert (await decide(ada, request, **form))[0] == 400
        assert (await record(desk, request))[0] is None


async def test_a_reason_may_be_long_but_not_endless() -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        status, words = await decide(ada, request, decision="deny", reason="😀" * 2001)
        assert (status, "2,000 characters" in words) == (422, True)
        assert (await decide(ada, request, decision="deny", reason="😀" * 2000))[0] == 303


async def test_a_form_that_never_ends_or_is_none_is_refused() -> None:
    async with office() as desk:
        request = await asked(desk)
        ada = await desk.person("ada")
        path = f"/console/approvals/{request['id']}"
        assert (await ada.post(path, {"reason": "x" * 300_000})).status == 413
        assert (await ada.post(path, {str(n): "x" for n in range(60)})).status == 400


async def test_a_money_request_of_a_stopped_turn_is_listed_as_not_decided() -> None:
    async with office() as desk:
        request = await asked(desk)
        turn = f"/agents/june/sessions/s1/turns/{request['turn_id']}/cancel"
        assert (await desk.gateway.client.post(turn)).status == 200
        ada = await desk.person("ada")
        past = await ada.json("/console/approvals.json?show=expired")
        assert isinstance(past["approvals"], list)
        assert [one["outcome"] for one in past["approvals"] if isinstance(one, dict)] == [
            "cancelled"
        ]
        words = (await ada.get(f"/console/approvals/{request['id']}?came=late")).words
        assert "This decision is no longer needed." in words
        assert "The call never ran." in words
