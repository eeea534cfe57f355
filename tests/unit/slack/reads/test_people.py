"""Who somebody is, once Slack was asked: one of ours, an outsider, nobody, or not to be told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from channels.protocol import Person as Somebody
from channels.slack.api import SlackWeb
from channels.slack.emulator.cast.workspace import Workspace
from channels.slack.emulator.world import tenancy
from channels.slack.parsing.identity import Installed
from channels.slack.reads.people import People, Profile, outsider
from gateway.engine.kinds import JsonObject, Speaker
from gateway.engine.struct import replace
from gateway.testing.slack import Fault, Person
from tests.unit.slack.reads.desk import Desk
from tests.unit.slack.reads.desk import desk as desk_of

UNKNOWN = Speaker("slack:unknown:U", level="none")


async def settled(desk: Desk, who: Person, *, stated: str | None = "") -> Somebody | None:
    """Who the person is that an event named as of the workspace ``stated``, or of none."""
    home = who.user.team if stated == "" else stated
    reply: JsonObject = {"installation": desk.stand.key, "user": who.id}
    if home is not None:
        reply["user_team"] = home
    return await desk.people.person(UNKNOWN, reply)


async def standing(desk: Desk, who: Person) -> str | None:
    found = await settled(desk, who)
    return None if found is None else found.standing


@pytest.mark.parametrize("named", [True, False])
async def test_a_member_is_one_though_the_event_names_no_workspace(desk: Desk, named: bool) -> None:
    ada = desk.play.ada
    found = await settled(desk, ada, stated=desk.play.acme.id if named else None)
    assert found is not None
    assert found.standing == "member"
    assert (found.speaker.id, found.speaker.level) == (
        f"slack:{desk.stand.key}:{ada.id}",
        "provider",
    )


@pytest.mark.parametrize("kind", ["multi", "single"])
async def test_a_guest_is_no_member_and_keeps_their_identity(desk: Desk, kind: str) -> None:
    gus = desk.play.acme.person("gus", "multi" if kind == "multi" else "single")
    found = await settled(desk, gus)
    assert found is not None
    assert found.standing == "outsider"
    assert (found.speaker.id, found.speaker.level) == (f"slack:{desk.stand.key}:{gus.id}", "sender")


@pytest.mark.parametrize("named", [True, False])
async def test_somebody_of_another_company_is_an_outsider(desk: Desk, named: bool) -> None:
    eve = desk.stranger()
    desk.play.acme.channel("shared", [desk.play.ada, desk.play.june, eve])
    found = await settled(desk, eve, stated=eve.user.team if named else None)
    assert found is not None
    assert found.standing == "outsider"
    assert (found.speaker.id, found.speaker.level) == (f"slack:{eve.user.team}:{eve.id}", "sender")


async def test_a_stranger_who_is_said_to_be_of_ours_is_none(desk: Desk) -> None:
    eve = desk.stranger()
    desk.play.acme.channel("shared", [desk.play.ada, desk.play.june, eve])
    found = await settled(desk, eve, stated=desk.play.acme.id)
    assert found is not None
    assert found.standing == "outsider"


async def test_a_bot_is_nobody(desk: Desk) -> None:
    assert await standing(desk, desk.play.acme.bot("deploys")) == "nobody"


async def test_who_has_left_is_nobody(desk: Desk) -> None:
    bob = desk.play.acme.person("bob")
    bob.user.deleted = True
    assert await standing(desk, bob) == "nobody"


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
    assert await standing(desk, desk.play.ada) is None
    desk.play.slack.faults.repair()
    assert await standing(desk, desk.play.ada) == "member"


async def test_a_reply_that_names_nobody_cannot_be_told(desk: Desk) -> None:
    for reply in ({}, {"installation": desk.stand.key}, {"user": desk.play.ada.id}):
        assert await desk.people.person(UNKNOWN, dict(reply)) is None


async def test_who_became_a_guest_is_one_within_a_minute(desk: Desk) -> None:
    ada = desk.play.ada
    assert await standing(desk, ada) == "member"
    ada.user.restricted = True
    assert await standing(desk, ada) == "member", "looked up a moment ago"
    desk.ground.time.ahead(61)
    assert await standing(desk, ada) == "outsider"
    assert desk.stand.calls("users.info") == 2


async def test_a_name_is_asked_for_once_an_hour(desk: Desk) -> None:
    for passed, calls in ((0, 1), (3000, 1), (700, 2)):
        desk.ground.time.ahead(passed)
        found = await desk.people.look(desk.stand.key, desk.play.ada.id)
        assert found is not None
        assert found.name == "ada"
        assert desk.stand.calls("users.info") == calls


@pytest.mark.parametrize("whole", [True, False])
async def test_a_colleague_of_another_workspace_of_ours_is_a_member(whole: bool) -> None:
    """The app is installed in the organisation, or in one workspace of it."""
    async with standing_in(whole) as (people, home, north, south):
        eve = south.person("eve")
        for stated in (north.id, south.id, ""):
            reply: JsonObject = {"installation": home, "user": eve.id, "user_team": stated}
            found = await people.person(UNKNOWN, reply)
            assert found is not None
            assert found.standing == "member"
            assert (found.speaker.id, found.speaker.level) == (f"slack:{home}:{eve.id}", "provider")


@asynccontextmanager
async def standing_in(whole: bool) -> AsyncGenerator[tuple[People, str, Workspace, Workspace]]:
    async with desk_of() as desk:
        slack, stand = desk.play.slack, desk.stand
        bigco = slack.enterprise("bigco")
        north, south = (slack.workspace(name, bigco) for name in ("north", "south"))
        app = slack.app()
        made = tenancy.install(slack.world, app, bigco, app.scopes) if whole else north.install(app)
        tokens = await stand.host(replace(stand.settings(single=True), bot_token=made.token))
        api = SlackWeb(tokens, slack.api_url, waits=stand.ground.waits)
        await api.open()
        try:
            home = bigco.id if whole else north.id
            yield People(api, tokens, stand.ground.waits), home, north, south
        finally:
            await api.close()


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
