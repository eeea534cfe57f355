"""One person, one identity, by whichever payload; and nobody from outside passes for one of ours."""

from __future__ import annotations

import pytest

from channels.slack.parse import Envelope, Installed, installed
from channels.slack.parsing.identity import author, clicker, commander, looked_up
from gateway.engine.kinds import JsonObject, Level
from gateway.engine.ledger.rows import Installation
from gateway.engine.struct import replace
from tests.unit.slack.payloads import ORG, envelope, opened

PLAIN = Installed(key="T1", team="T1")
"""A workspace that belongs to no organisation."""
PART = Installed(key="T1", team="T1", enterprise="E1")
"""One workspace of an organisation."""
ALONE = replace(ORG, teams=frozenset())
"""A whole organisation, its workspaces not listed yet."""


def said(message: JsonObject, **outer: object) -> Envelope:
    payload = {
        "type": "event_callback",
        "event": {"type": "message", "user": "U1", **message},
        **outer,
    }
    return opened("event", payload)  # type: ignore[arg-type]


def pressed(user: JsonObject, **outer: object) -> Envelope:
    payload = {"type": "block_actions", "user": {"id": "U1", **user}, **outer}
    return opened("interactive", payload)  # type: ignore[arg-type]


SHARED = {"is_ext_shared_channel": True}
OURS = {"is_ext_shared_channel": False}
HERE = {"team_id": "T1"}
GRID = {"team_id": "T1", "enterprise_id": "E1"}
AWAY = {"team_id": "T7", "enterprise_id": "E7"}


@pytest.mark.parametrize(
    ("me", "message", "outer", "identity", "external"),
    [
        (PLAIN, {"team": "T1"}, HERE, "slack:T1:U1", False),
        (PLAIN, {}, {**HERE, **OURS}, "slack:T1:U1", False),
        (PLAIN, {}, HERE, "slack:T1:U1", False),
        (PLAIN, {"user_team": "T1", "team": "T7"}, {**AWAY, **SHARED}, "slack:T1:U1", False),
        # A mention from a shared channel calls our own side its team.
        (PLAIN, {"user_team": "T7", "team": "T1"}, {**HERE, **SHARED}, "slack:T7:U1", True),
        (PLAIN, {"source_team": "T7", "team": "T1"}, {**HERE, **SHARED}, "slack:T7:U1", True),
        (PLAIN, {"user_profile": {"team": "T7"}, "team": "T1"}, HERE, "slack:T7:U1", True),
        # One side names the organisation, the other the workspace.
        (PLAIN, {"user_team": "E7", "team": "T1"}, {**HERE, **SHARED}, "slack:E7:U1", True),
        (PLAIN, {"team": "T7"}, {**AWAY, **SHARED}, "slack:E7:U1", True),
        (PLAIN, {"team": "T7"}, {"team_id": "T7", **SHARED}, "slack:T7:U1", True),
        # Not told.
        (PLAIN, {}, {**HERE, **SHARED}, "slack:unknown:U1", True),
        # A flag alone makes nobody one of us.
        (PLAIN, {"team": "T7"}, {**HERE, **OURS}, "slack:T7:U1", True),
        # On Enterprise Grid.
        (PART, {"team": "T1"}, GRID, "slack:T1:U1", False),
        (PART, {"user_team": "E1", "team": "T1"}, {**GRID, **SHARED}, "slack:T1:U1", False),
        (PART, {"team": "T2"}, {**GRID, **OURS}, "slack:T1:U1", False),
        (PART, {"team": "T2"}, {"team_id": "T2", "enterprise_id": "E1"}, "slack:T1:U1", False),
        (PART, {"team": "T2"}, {**GRID, **SHARED}, "slack:T2:U1", None),
        (PART, {"user_team": "E7"}, {**GRID, **SHARED}, "slack:E7:U1", True),
        (PART, {"team": "T7"}, {**AWAY, **SHARED}, "slack:E7:U1", True),
        (ORG, {"team": "T2"}, {**GRID, **SHARED}, "slack:E1:U1", False),
        (ORG, {"user_team": "E1"}, {**GRID, **SHARED}, "slack:E1:U1", False),
        (ORG, {"team": "T7"}, {**AWAY, **SHARED}, "slack:E7:U1", True),
        (ALONE, {"team": "T1"}, {**GRID, **OURS}, "slack:E1:U1", False),
        (ALONE, {"team": "T2"}, {**GRID, **OURS}, "slack:E1:U1", False),
        (ALONE, {"team": "T2"}, {**GRID, **SHARED}, "slack:T2:U1", None),
        (
            ALONE,
            {"team": "T2"},
            {**AWAY, "context_team_id": "T2", "context_enterprise_id": "E1", **SHARED},
            "slack:E1:U1",
            False,
        ),
    ],
)
def test_who_wrote(
    me: Installed,
    message: JsonObject,
    outer: dict[str, object],
    identity: str,
    external: bool | None,
) -> None:
    found = author(said(message, **outer), me, {"user": "U1", **message})
    assert (found.speaker.id, found.external) == (identity, external)
    level = "none" if ":unknown:" in identity else "provider" if external is False else "sender"
    assert found.speaker.level == level


@pytest.mark.parametrize(
    ("me", "user", "outer", "identity", "external"),
    [
        (PLAIN, {"team_id": "T1"}, {"team": {"id": "T1"}}, "slack:T1:U1", False),
        (PLAIN, {"team_id": "T7"}, {"team": {"id": "T1"}}, "slack:T7:U1", True),
        (PLAIN, {}, {"team": {"id": "T1"}}, "slack:unknown:U1", True),
        (
            PART,
            {"team_id": "T1"},
            {"team": {"id": "T1", "enterprise_id": "E1"}},
            "slack:T1:U1",
            False,
        ),
        (
            PART,
            {"team_id": "E1"},
            {"team": {"id": "T1", "enterprise_id": "E1"}},
            "slack:T1:U1",
            False,
        ),
        # Any workspace that a member also belongs to: only Slack knows whether it is one of ours.
        (
            PART,
            {"team_id": "T3"},
            {"team": {"id": "T1", "enterprise_id": "E1"}},
            "slack:T3:U1",
            None,
        ),
        (
            PART,
            {"team_id": "E7"},
            {"team": {"id": "T1", "enterprise_id": "E1"}},
            "slack:E7:U1",
            True,
        ),
        (ORG, {"team_id": "T2"}, {"team": None, "enterprise": {"id": "E1"}}, "slack:E1:U1", False),
        (ORG, {"team_id": "T7"}, {"team": None, "enterprise": {"id": "E1"}}, "slack:T7:U1", None),
        (ALONE, {"team_id": "T2"}, {"team": None, "enterprise": {"id": "E1"}}, "slack:T2:U1", None),
        (
            ALONE,
            {"team_id": "T2"},
            {"team": {"id": "T2", "enterprise_id": "E1"}},
            "slack:E1:U1",
            False,
        ),
        (
            ALONE,
            {"team_id": "E1"},
            {"team": None, "enterprise": {"id": "E1"}},
            "slack:E1:U1",
            False,
        ),
    ],
)
def test_who_pressed(
    me: Installed, user: JsonObject, outer: dict[str, object], identity: str, external: bool | None
) -> None:
    found = clicker(pressed(user, **outer), me)
    assert (found.speaker.id, found.external) == (identity, external)
    assert (found.speaker.level == "provider") is (external is False)


@pytest.mark.parametrize(
    ("me", "fields", "identity"),
    [
        (PLAIN, {"team_id": "T1"}, "slack:T1:U1"),
        (PART, {"team_id": "T2", "enterprise_id": "E1"}, "slack:T1:U1"),
        (ORG, {"team_id": "T1", "enterprise_id": "E1"}, "slack:E1:U1"),
        (ALONE, {"team_id": "T2", "enterprise_id": "E1"}, "slack:E1:U1"),
    ],
)
def test_who_typed(me: Installed, fields: JsonObject, identity: str) -> None:
    given = opened("command", {"command": "/june", "user_id": "U1", **fields})
    assert commander(given, me).speaker.id == identity


def test_slack_is_asked_where_a_click_left_it_open() -> None:
    """A member whose other workspace the click named becomes who wrote the message."""
    left_open = clicker(pressed({"team_id": "T3"}, team={"id": "T1", "enterprise_id": "E1"}), PART)
    wrote = author(said({"team": "T1"}, **GRID), PART, {"user": "U1", "team": "T1"})
    assert left_open.external is None
    settled = looked_up(PART, "U1", team="T3", enterprise="E1")
    assert settled.speaker.id == wrote.speaker.id
    assert (settled.external, settled.speaker.level) == (False, "provider")


@pytest.mark.parametrize(
    ("team", "enterprise", "level"),
    [("T7", "E7", "sender"), ("T7", "", "sender"), ("", "", "none"), ("", "E7", "none")],
)
def test_whom_slack_doesnt_call_ours_is_an_outsider(
    team: str, enterprise: str, level: Level
) -> None:
    settled = looked_up(PART, "U1", team=team, enterprise=enterprise)
    assert (settled.external, settled.speaker.level) == (True, level)


def test_a_guest_is_less_than_one_of_ours_and_has_the_same_identity() -> None:
    guest, member = (
        looked_up(PART, "U1", team="T1", enterprise="E1", guest=g) for g in (True, False)
    )
    assert guest.speaker.id == member.speaker.id
    assert (guest.speaker.level, member.speaker.level) == ("sender", "provider")


def test_where_a_shared_channel_names_nobodys_home_our_organisation_isnt_it() -> None:
    """An organisation's installation names no workspace, which is nobody's home."""
    event = said({}, enterprise_id="E1", **SHARED)
    found = author(event, ALONE, {"user": "U1"})
    assert (found.speaker.id, found.speaker.level) == ("slack:unknown:U1", "none")


def test_slack_connect_with_a_grid_organisation_both_copies_of_a_mention() -> None:
    """The shapes that bolt-python records."""
    one, other = envelope("event.connect_app_mention"), envelope("event.connect_message")
    found = [author(e, PLAIN, e.payload["event"]).speaker.id for e in (one, other)]  # type: ignore[arg-type]
    assert found == ["slack:E7:W7", "slack:E7:W7"]


def test_empty_ids_of_an_installation_own_nobody() -> None:
    nobody = Installed(key="T1")
    assert not nobody.owns("")
    assert author(said({"team": "T7"}, **SHARED), nobody, {"user": "U1", "team": "T7"}).external


def test_a_stored_installation_is_read_as_ourselves() -> None:
    row = Installation(
        key="E1", app="A1", enterprise="E1", org=True, bot_user="UJUNE", bot_id="BJUNE", sealed=b""
    )
    assert installed(row, ["T1", "T2"]) == ORG
    assert not installed(replace(row, state="revoked")).active
