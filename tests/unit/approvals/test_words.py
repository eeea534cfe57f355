"""A request in one line, as surfaces without cards say it."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.approvals.words import deciders, standing
from gateway.engine.kinds import JsonObject
from tests.unit.slack.cards.samples import ADA, by, card


@pytest.mark.parametrize(
    ("answerers", "said"),
    [
        ({"anyone": True}, "anyone"),
        ({"user": ADA}, ADA),
        ({"policy": "refunds"}, "the policy refunds"),
        ({"policy": "refunds", "quorum": 2}, "2 of the policy refunds"),
        ({"policy": "refunds", "not_requester": True}, "the policy refunds, but not whoever asked"),
    ],
)
def test_who_may_decide(answerers: JsonObject, said: str) -> None:
    assert deciders(answerers) == said


APPROVED = {"outcome": "approved", "decided": by(ADA)}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "It waits for the policy refunds to decide."),
        (
            {"quorum": 2, "votes": (by(ADA),)},
            "1 of 2 so far; it waits for the policy refunds to decide.",
        ),
        ({**APPROVED, "call": "runs"}, f"Approved by {ADA}; it runs now."),
        ({**APPROVED, "call": "waits"}, f"Approved by {ADA}."),
        ({**APPROVED, "call": "done"}, f"Approved by {ADA}."),
        ({**APPROVED, "call": "failed"}, f"Approved by {ADA}; it was tried and failed."),
        (
            {**APPROVED, "call": "dropped"},
            f"Approved by {ADA}; it was not carried out: the turn ended first.",
        ),
        (
            {**APPROVED, "call": "dropped", "why_dropped": "reset"},
            f"Approved by {ADA}; it was not carried out: the conversation was reset.",
        ),
        ({"outcome": "denied", "decided": by(ADA, False), "call": "failed"}, f"Denied by {ADA}."),
        ({"outcome": "denied", "decided": by(ADA, False, "no")}, f"Denied by {ADA}: no"),
        ({"outcome": "expired", "decided": by("timer")}, "Expired: nobody decided in time."),
        (
            {"outcome": "cancelled", "why_dropped": "requested"},
            "No longer needed: the turn was stopped.",
        ),
        ({"outcome": "cancelled"}, "No longer needed: the turn ended before anybody decided."),
    ],
)
def test_how_it_stands(fields: dict[str, Any], said: str) -> None:
    assert standing(card(**fields)) == said


def test_a_surface_may_name_people_its_own_way() -> None:
    assert standing(card(), "@leads") == "It waits for @leads to decide."
    assert standing(card(**APPROVED, call="done"), "ada") == "Approved by ada."
