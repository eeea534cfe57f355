"""The next step, one state at a time."""

from __future__ import annotations

from typing import Any, cast

import pytest

from channels.slack.calls import Ambiguous, NotNow, Ok, Outcome, Refused
from channels.slack.words.doc import Task
from channels.slack.writing.acts import Act, Look, Rest, Status, Target, Wait, target_of
from channels.slack.writing.came import came
from channels.slack.writing.desk import Desk
from channels.slack.writing.plan import next_act
from channels.slack.writing.sheet import Sheet
from channels.slack.writing.shown import Extra, digest, extra_of, with_extra
from channels.slack.writing.tempo import Tempo
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Delivery, Part
from gateway.engine.struct import replace
from tests.unit.slack.writing.fast import START
from tests.unit.slack.writing.rig import LANE, TARGET

TEXT = "Order 1042 is sent. "
NOW = Millis(START + 100_000)
TO = cast("Target", target_of(TARGET))

ROW = Delivery(
    id=1,
    agent="june",
    session="s1",
    turn=1,  # type: ignore[arg-type]
    turn_id="t1",
    part="reply",
    source="slack",
    target=TARGET,
    lane=LANE,
    request=None,
    state="sending",
    wanted=1,
    shown=0,
    hash=None,
    seq=0,
    ref=None,
    attempts=1,
    next_try=START,
    error=None,
    revive_on=None,
    remind_at=None,
    token=1,
    at=START,
)


def sheet(text: str = TEXT, **changes: Any) -> Sheet:
    made = Sheet(text=text, sayable=len(text), committed=len(text))
    return replace(made, **changes)


def live(shown: str = "Order 1042 ", **changes: Any) -> Part:
    row = Part(
        delivery=1,
        n=1,
        kind="stream",
        state="live",
        ref="slack:T1:C1:1.1",
        nonce="n1",
        end=len(shown),
        acked=len(shown),
        hash=digest(shown),
        opened_at=Millis(NOW - 60_000),
        started_at=Millis(NOW - 60_000),
    )
    return replace(row, **changes)


def desk(
    shows: Sheet,
    *parts: Part,
    busy: tuple[str, ...] = (),
    status: Status = "processing",
    **touched: int,
) -> Desk:
    tempo = Tempo(status=status)
    tempo.touched = {int(n[1:]): Millis(at) for n, at in touched.items()}
    return Desk(
        sheet=shows,
        parts=parts,
        delivery=ROW,
        to=TO,
        tempo=tempo,
        budget=lambda method: 2.0 if method in busy else 0.0,
        now=NOW,
    )


def act_of(at: Desk) -> Act:
    step = next_act(at)
    assert isinstance(step, Act), step
    return step


def test_the_first_sign_comes_before_anything_else() -> None:
    assert act_of(desk(sheet(), status="active")).method == "agents.sessions.setStatus"
    busy = desk(sheet(), status="active", busy=("agents.sessions.setStatus",))
    assert act_of(busy).method == "chat.startStream"


def test_nothing_to_show_is_nothing_to_do() -> None:
    assert next_act(desk(sheet(""))) == Wait(None)
    assert next_act(desk(sheet("", resting=True, status="active"), status="active")) == Rest()


def test_a_live_message_takes_what_follows() -> None:
    act = act_of(desk(sheet(), live()))
    assert act.method == "chat.appendStream"
    assert act.args["chunks"] == [{"type": "markdown_text", "text": "is sent. "}]
    assert act.part is not None
    assert (act.part.acked, act.part.hash) == (len(TEXT), digest(TEXT))


def test_a_live_message_is_touched_once_a_second() -> None:
    assert next_act(desk(sheet(), live(), n1=NOW - 400)) == Wait(Millis(NOW + 600))
    busy = desk(sheet(), live(), busy=("chat.appendStream",))
    assert next_act(busy) == Wait(
        Millis(NOW + 2_309)
    )  # of the budget, and its own part of what spreads waiters


@pytest.mark.parametrize(
    ("age", "committed", "method"),
    [
        (239_000, 0, "chat.appendStream"),
        (241_000, len(TEXT), "chat.stopStream"),
        (241_000, 0, "chat.appendStream"),
        (271_000, 0, "chat.stopStream"),
    ],
)
def test_an_old_stream_ends_where_it_can(age: int, committed: int, method: str) -> None:
    part = live(started_at=Millis(NOW - age))
    act = act_of(desk(sheet(committed=committed), part))
    assert act.method == method
    if method == "chat.stopStream":
        assert act.args["session_status"] == "processing"


def test_a_contradicted_stream_is_stopped_and_rewritten() -> None:
    act = act_of(desk(sheet("It was sent on Monday. "), live()))
    assert (act.method, act.kind) == ("chat.stopStream", "end")
    assert act.part is not None
    assert (act.part.state, act.part.hash) == ("open", live().hash)
    again = act_of(desk(sheet("It was sent on Monday. "), act.part))
    assert again.method == "chat.update"


def test_words_that_may_be_taken_back_are_rewritten_late() -> None:
    part = live(state="open")
    shows = sheet("It was sent on Monday. ", committed=0)
    assert next_act(desk(shows, part, n1=NOW - 1_000)) == Wait(Millis(NOW + 9_000))
    firm = replace(shows, committed=len(shows.text))
    assert next_act(desk(firm, part, n1=NOW - 1_000)) == Wait(Millis(NOW + 2_000))
    assert act_of(desk(firm, part, n1=NOW - 3_000)).method == "chat.update"


def test_words_that_come_again_are_waited_for() -> None:
    shows = sheet("Order ", committed=0)
    assert next_act(desk(shows, live(), n1=NOW - 1_000)) == Wait(Millis(NOW + 9_000))


def test_what_may_have_been_sent_is_looked_for_first() -> None:
    part = live(state="opening", ref=None)
    assert next_act(desk(sheet(), part)) == Look(part)


def test_a_broken_stream_is_stopped_and_nothing_of_it_believed() -> None:
    act = act_of(desk(sheet(), live(state="broken")))
    assert act.kind == "end"
    assert act.part is not None
    assert (act.part.state, act.part.hash) == ("open", "")


def test_a_task_changes_its_line_and_no_other() -> None:
    task = Task("c1", "Looking", "in_progress", 0)
    begun = act_of(desk(sheet("", tasks=(task,))))
    assert begun.part is not None
    part = replace(begun.part, state="live", ref="slack:T1:C1:1.1", started_at=NOW)
    assert next_act(desk(sheet("", tasks=(task,)), part)) == Wait(Millis(NOW + 240_000))
    done = replace(task, state="complete")
    changed = act_of(desk(sheet("", tasks=(done,)), part))
    assert [chunk["status"] for chunk in changed.args["chunks"]] == ["complete"]  # type: ignore[index,call-overload,union-attr]


# -- outcomes --------------------------------------------------------------------------------------------
def outcome_of(act: Act, outcome: Outcome) -> Any:
    return came(act, outcome, TO, NOW)


APPEND = act_of(desk(sheet(), live()))
START_ = act_of(desk(sheet()))


@pytest.mark.parametrize(
    ("outcome", "state", "kept"),
    [
        (Ambiguous("cut"), "broken", False),
        (Refused("message_not_in_streaming_state", {}), "open", False),
        (Refused("stopped_by_user", {}), "open", True),
        (Refused("invalid_chunks", {}), "broken", False),
        (Refused("message_not_found", {}), "gone", True),
    ],
)
def test_what_an_append_leaves(outcome: Outcome, state: str, kept: bool) -> None:
    (part,) = outcome_of(APPEND, outcome).parts
    assert part.state == state
    assert bool(part.hash) == kept


def test_nothing_was_done() -> None:
    found = outcome_of(APPEND, NotNow(3.0, "busy"))
    assert (found.parts, found.again) == ((), 3.0)
    (gone,) = outcome_of(START_, NotNow(3.0, "busy")).parts
    assert (gone.state, gone.ref) == ("gone", None)


def test_a_start_is_noted_with_its_moment() -> None:
    (part,) = outcome_of(START_, Ok({"ts": "1.5"})).parts
    assert (part.state, part.ref, part.started_at) == ("live", "slack:T1:C1:1.5", NOW)
    assert outcome_of(START_, Ambiguous("cut")).parts == ()


def test_a_post_that_is_refused_is_made_more_plainly_each_time() -> None:
    act = act_of(desk(sheet(resting=True), status="active"))
    looks, found = [], None
    for _ in range(3):
        found = outcome_of(act, Refused("invalid_blocks", {}))
        (gone,) = found.parts
        looks.append(extra_of(gone).plain)
        if found.lost is None:
            act = act_of(desk(sheet(resting=True), gone, status="active"))
    assert looks == [1, 2, 2]
    assert found is not None
    assert found.lost is not None
    assert "blocks" not in act.args


def test_a_message_that_cant_be_changed_goes() -> None:
    part = with_extra(live(state="open", hash=""), Extra())
    act = act_of(desk(sheet(), part))
    (dropped,) = outcome_of(act, Refused("cant_update_message", {})).parts
    assert act_of(desk(sheet(), dropped)).method == "chat.delete"


def test_with_no_stream_to_be_had_a_quick_answer_is_posted_once_and_whole() -> None:
    busy = ("chat.startStream",)
    early = desk(sheet(), busy=busy)
    early.tempo.begun = NOW
    assert next_act(early) == Wait(Millis(NOW + 3_000))
    whole = desk(sheet(ended=True, resting=True), busy=busy)
    whole.tempo.begun = NOW
    assert act_of(whole).method == "chat.postMessage"
    assert act_of(desk(sheet(), busy=busy)).method == "chat.postMessage"
