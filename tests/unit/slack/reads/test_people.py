"""Who may decide: one of ours, and nobody of whom that can't be told."""

from __future__ import annotations

import pytest

from channels.contract import Answer
from channels.slack.emulator.world import tenancy
from channels.slack.parsing.identity import Installed
from channels.slack.reads.people import Profile, outsider
from gateway.engine.kinds import Speaker
from gateway.testing.slack import Fault, Person
from tests.unit.slack.reads.desk import Desk

NOBODY: frozenset[str] = frozenset()
REFUNDS = frozenset({"refunds"})


def answer(desk: Desk, user: str, *, team: str = "", guest: bool | None = None) -> Answer:
    home = team or desk.play.acme.id
    return Answer(
        event_id="act-1",
        keys=("k",),
        request="r1",
        shown="",
        digest="",
        by=Speaker(f"slack:{home}:{user}", tenant=home, level="provider"),
        guest=guest,
        value=True,
        reply={"installation": desk.stand.key, "user": user, "user_team": home},
    )


async def decides(
    desk: Desk, who: Person, outsiders: frozenset[str] = NOBODY, *, guest: bool | None = None
) -> bool | None:
    found = answer(desk, who.id, team=who.user.team, guest=guest)
    return await desk.people.may_decide(found, "refunds", outsiders)


async def test_a_member_decides(desk: Desk) -> None:
    assert await decides(desk, desk.play.ada) is True


@pytest.mark.parametrize("kind", ["multi", "single"])
async def test_a_guest_decides_where_the_policy_is_opened(desk: Desk, kind: str) -> None:
    gus = desk.play.acme.person("gus", "multi" if kind == "multi" else "single")
    assert await decides(desk, gus) is False
    assert await decides(desk, gus, frozenset({"else"})) is False
    assert await decides(desk, gus, REFUNDS) is True
    free = answer(desk, gus.id)
    assert await desk.people.may_decide(free, None, REFUNDS) is False, "no policy opens nothing"


async def test_a_stranger_decides_where_the_policy_is_opened(desk: Desk) -> None:
    eve = desk.stranger()
    desk.play.acme.channel("shared", [desk.play.ada, desk.play.june, eve])
    assert await decides(desk, eve, guest=None) is False
    asked = desk.stand.calls("users.info")
    assert await decides(desk, eve, guest=True) is False
    assert desk.stand.calls("users.info") == asked, "the click has said it already"
    assert await decides(desk, eve, REFUNDS, guest=True) is True


async def test_a_bot_never_decides(desk: Desk) -> None:
    bot = desk.play.acme.bot("deploys")
    assert await decides(desk, bot) is False
    assert await decides(desk, bot, REFUNDS) is False


async def test_who_has_left_never_decides(desk: Desk) -> None:
    bob = desk.play.acme.person("bob")
    bob.user.deleted = True
    assert await decides(desk, bob) is False
    assert await decides(desk, bob, REFUNDS) is False


@pytest.mark.parametrize(
    "fault",
    [
        Fault("rate_limited", "users.info"),
        Fault("missing_scope", "users.info"),
        Fault("drop_before", "users.info"),
        Fault("not_ok", "users.info", error="user_not_visible"),
    ],
)
async def test_whom_slack_says_nothing_of_cannot_be_told(desk: Desk, fault: Fault) -> None:
    desk.play.slack.faults.add(fault)
    assert await decides(desk, desk.play.ada) is None
    assert await decides(desk, desk.play.ada, REFUNDS) is (None if fault.count is None else True)
    desk.play.slack.faults.repair()
    assert await decides(desk, desk.play.ada) is True


async def test_a_reply_that_names_nobody_cannot_be_told(desk: Desk) -> None:
    found = answer(desk, "")
    assert await desk.people.may_decide(found, None, NOBODY) is None


async def test_who_became_a_guest_is_one_within_a_minute(desk: Desk) -> None:
    ada = desk.play.ada
    assert await decides(desk, ada) is True
    ada.user.restricted = True
    assert await decides(desk, ada) is True, "looked up a moment ago"
    desk.ground.time.ahead(61)
    assert await decides(desk, ada) is False
    assert desk.stand.calls("users.info") == 2


async def test_a_name_is_asked_for_once_an_hour(desk: Desk) -> None:
    for passed, calls in ((0, 1), (3000, 1), (700, 2)):
        desk.ground.time.ahead(passed)
        found = await desk.people.look(desk.stand.key, desk.play.ada.id)
        assert found is not None
        assert found.name == "ada"
        assert desk.stand.calls("users.info") == calls


async def test_a_colleague_of_another_workspace_of_ours_decides(desk: Desk) -> None:
    slack = desk.play.slack
    bigco = slack.enterprise("bigco")
    north, south = (slack.workspace(name, bigco) for name in ("north", "south"))
    eve = south.person("eve")
    made = tenancy.install(slack.world, slack.app(), bigco, slack.app().scopes)
    stand = desk.stand
    from channels.slack.api import SlackWeb
    from channels.slack.reads.people import People
    from gateway.engine.struct import replace

    tokens = await stand.host(replace(stand.settings(single=True), bot_token=made.token))
    api = SlackWeb(tokens, slack.api_url, waits=stand.ground.waits)
    await api.open()
    try:
        found = answer(desk, eve.id, team=south.id)
        found = replace(found, reply={**found.reply, "installation": bigco.id})
        people = People(api, tokens, stand.ground.waits)
        assert await people.may_decide(found, None, NOBODY) is True
    finally:
        await api.close()
    assert north.id != south.id


@pytest.mark.parametrize(
    ("profile", "stated", "foreign"),
    [
        (Profile(name="", team="T1"), "", False),
        (Profile(name="", team="T2"), "", True),
        (Profile(name="", team="T2"), "T1", True),
        (Profile(name="", team="T2", enterprise="E1"), "", False),
        (Profile(name="", team="T1", stranger=True), "T1", True),
        (Profile(name=""), "T1", False),
        (Profile(name=""), "T2", True),
        (Profile(name=""), "", True),
    ],
)
def test_home_is_what_slack_says(profile: Profile, stated: str, foreign: bool) -> None:
    me = Installed(key="T1", team="T1", enterprise="E1")
    assert outsider(me, stated, profile) is foreign
