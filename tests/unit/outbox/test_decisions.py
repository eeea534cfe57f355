"""The pure parts: words, trouble, budgets, what is old."""

from __future__ import annotations

from itertools import pairwise

import pytest

from channels.protocol import Card, TurnView
from gateway.engine.kinds import CancelReason, Millis, TurnState
from gateway.outbox.pacing import MOST, Budgets
from gateway.outbox.reference import reference_of
from gateway.outbox.trouble import GIVE_UP, LONGEST, TRIES, back_off, trouble
from gateway.outbox.words import closing, queued

NOW = Millis(1_700_000_000_123)


# -- words ---------------------------------------------------------------------------------------------
def turn(state: TurnState, cancelled: CancelReason | None = None) -> TurnView:
    return TurnView(
        turn_id="t1",
        state=state,
        reference=reference_of("t1"),
        speaker=None,
        event=None,
        cancelled=cancelled,
    )


@pytest.mark.parametrize("state", ["failed", "timed_out"])
@pytest.mark.parametrize("said", [True, False])
def test_who_gets_no_answer_gets_a_reference_and_nothing_of_the_inside(
    state: TurnState, said: bool
) -> None:
    line = closing(turn(state), said)
    assert line.endswith(reference_of("t1"))
    assert "\n" not in line


@pytest.mark.parametrize(
    ("reason", "said", "line"),
    [
        ("requested", True, "Stopped."),
        ("requested", False, "Stopped."),
        ("replaced", True, "(superseded by a newer message)"),
        ("replaced", False, ""),
        ("reset", False, "Conversation reset."),
    ],
)
def test_a_turn_that_was_ended_says_how(reason: CancelReason, said: bool, line: str) -> None:
    assert closing(turn("cancelled", reason), said) == line


def test_an_answer_needs_no_closing_line_and_an_empty_one_does() -> None:
    assert closing(turn("completed"), True) == ""
    assert closing(turn("completed"), False) == "I have nothing to add."
    open_states: tuple[TurnState, ...] = ("queued", "running", "suspended")
    assert {closing(turn(state), False) for state in open_states} == {""}


def test_a_note_names_who_decides_and_on_what() -> None:
    card = Card(
        request="r1",
        turn_id="t1",
        name="ok",
        tool="refund",
        prompt="Refund\norder 1042? " + "x" * 500,
        arguments={},
        schema={},
        answerers={},
        digest="d",
        quorum=1,
        votes=(),
        created_at=NOW,
        expires_at=None,
        outcome=None,
        decided=None,
        call="waits",
    )
    note = queued(card, "@support-leads")
    assert "@support-leads" in note
    assert "Refund order 1042?" in note
    assert note.endswith("…")
    assert len(note) < 350
    assert "somebody who may" in queued(card, "")


# -- trouble -------------------------------------------------------------------------------------------
def test_trouble_knows_since_when() -> None:
    first = trouble(None, "later", "too many requests", NOW)
    assert str(first) == "later: too many requests (since 2023-11-14T22:13:20.123Z)"
    later = trouble(str(first), "failed", "ValueError", Millis(NOW + GIVE_UP - 1))
    assert later.since == NOW
    assert not later.over(Millis(NOW + GIVE_UP - 1), TRIES)
    assert not later.over(Millis(NOW + GIVE_UP), TRIES - 1)
    assert later.over(Millis(NOW + GIVE_UP), TRIES)


@pytest.mark.parametrize("before", [None, "", "gave_up: x, for a whole day", "x (since 20T3:1Z)"])
def test_other_words_are_no_trouble_that_lasts(before: str | None) -> None:
    assert trouble(before, "later", "x", NOW).since == NOW


def test_tries_grow_apart_to_a_minute_and_dont_fall_together() -> None:
    waits = [back_off(tries, 1.0) for tries in range(1, 12)]
    assert waits[:4] == [1, 2, 4, 8]
    assert all(one <= two for one, two in pairwise(waits))
    assert waits[-1] == back_off(100_000, 1.0) == LONGEST
    assert 0.5 < back_off(0, 0.0) < back_off(1, 0.9)


# -- budgets -------------------------------------------------------------------------------------------
class Time:
    at = 0.0

    def __call__(self) -> float:
        return self.at


POST = ("T1", "chat.postMessage", "C1")


def test_a_bucket_lets_a_burst_through_and_then_one_at_its_rate() -> None:
    time = Time()
    budgets = Budgets(time, {"chat.postMessage": (60.0, 2)})
    for _ in range(2):
        assert budgets.ready(POST) == 0
        budgets.take(POST)
    assert budgets.ready(POST) == pytest.approx(1.0)
    time.at += 0.25
    assert budgets.ready(POST) == pytest.approx(0.75)
    time.at += 0.75
    assert budgets.ready(POST) == 0
    budgets.take(POST)
    time.at += 3600  # it holds no more than a burst
    for _ in range(2):
        assert budgets.ready(POST) == 0
        budgets.take(POST)
    assert budgets.ready(POST) > 0


def test_workspaces_methods_and_channels_have_budgets_of_their_own() -> None:
    budgets = Budgets(Time(), {"chat.postMessage": (60.0, 1)}, default=(60.0, 1))
    budgets.take(POST)
    assert budgets.ready(POST) > 0
    for other in (("T2", *POST[1:]), (*POST[:2], "C2"), ("T1", "chat.update", "C1")):
        assert budgets.ready(other) == 0


def test_a_refusal_closes_the_method_for_as_long_as_was_said() -> None:
    time = Time()
    budgets = Budgets(time, {"chat.postMessage": (60.0, 5)})
    budgets.penalise(POST, 30)
    budgets.penalise(POST, 10)
    assert budgets.ready(POST) == pytest.approx(30)
    time.at += 30
    assert budgets.ready(POST) == 0
    budgets.take(POST)
    assert budgets.ready(POST) == pytest.approx(1.0)  # and no burst comes after it


def test_who_takes_without_asking_waits_for_it() -> None:
    time = Time()
    budgets = Budgets(time, {"chat.postMessage": (60.0, 1)})
    for _ in range(4):
        budgets.take(POST)
    assert budgets.ready(POST) == pytest.approx(4.0)


def test_budgets_that_say_nothing_are_forgotten() -> None:
    time = Time()
    budgets = Budgets(time, default=(60.0, 1))
    for n in range(MOST):
        budgets.take(("T1", "chat.postMessage", f"C{n}"))
    budgets.penalise(POST, 3600)
    time.at += 10
    budgets.take(("T1", "chat.postMessage", "new"))
    assert len(budgets._buckets) <= 2 + 1
    assert budgets.ready(POST) == pytest.approx(3590)
