"""What was reported of other gateways in Slack, on the way in and on the way out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.testing.slack import Fault, Message
from tests.journeys.slack_clerk import (
    clerk,
    desk,
    rest,
    said,
    slow_way_back,
    tell_again,
    told,
    verdicts,
)
from tests.journeys.slack_stage import Stage

pytestmark = pytest.mark.timeout(90)

FAST = 40.0
NUMBERED = re.compile(r"Line (\d+) of a long story\.")


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with clerk(tmp_path, FAST) as stage:
        yield stage


# -- one post, however it is told --------------------------------------------------------------------------
async def told_twice(on: Stage, post: Message) -> bool:
    """Whether each of its two events came again. On a busy machine Slack itself may have been impatient, too."""
    found = await verdicts(on, post)
    return len(found) == 2 and all(row.copies >= 2 for row in found)


async def test_a_post_whose_first_deliveries_never_arrived_is_answered_once(on: Stage) -> None:
    app = on.slack.app()
    there, app.request_url = app.request_url, "http://127.0.0.1:9/"
    post = await on.ask("@june hello")
    await on.until(lambda: all(len(sent.attempts) >= 2 for sent in told(on, post)))
    assert told(on, post)
    assert not any(sent.acked for sent in told(on, post))
    app.request_url = there
    await on.says(post, "You said: hello")
    assert {attempt.number for sent in told(on, post) for attempt in sent.attempts} >= {1, 2}
    tell_again(on, post)
    await rest(on, post)
    assert await told_twice(on, post)
    assert len(desk(on).asked) == 1
    assert [shown.text for shown in on.office.by_june(post)] == ["You said: hello"]


async def test_four_copies_at_once_of_what_cant_be_answered_are_one_turn_and_one_line(
    on: Stage,
) -> None:
    held = on.slack.faults.add(Fault("event_reordered", "event:*", count=None))
    post = await on.ask("@june fail")
    on.slack.faults.planned.remove(held)
    tell_again(on, post, 4)
    await rest(on, post)
    words = Counter(row.verdict for row in await verdicts(on, post))
    assert words["accepted"] == 1
    assert set(words) == {"accepted", "duplicate"}
    (line,) = on.office.by_june(post)
    assert "couldn't finish" in line.text


@pytest.mark.parametrize("after", [305.0, 600.0, 6 * 86_400.0])
async def test_a_copy_that_comes_late_and_after_a_restart_says_nothing_again(
    on: Stage, after: float
) -> None:
    post = await on.ask("@june hello")
    await rest(on, post)
    before = on.slack.journal.count("chat.startStream", "chat.postMessage")
    await on.redeploy(after=after)
    tell_again(on, post)
    await rest(on, post)
    assert await told_twice(on, post)
    assert desk(on).asked == []
    assert [shown.text for shown in on.office.by_june(post)] == ["You said: hello"]
    assert on.slack.journal.count("chat.startStream", "chat.postMessage") == before
    assert on.slack.journal.trouble == []


async def test_an_acknowledgement_that_takes_four_seconds_to_arrive_costs_nothing(
    on: Stage,
) -> None:
    async with slow_way_back(on, 4.0):
        post = await on.ask("@june hello")
        await rest(on, post)
    tries = [[attempt.outcome for attempt in sent.attempts] for sent in told(on, post)]
    assert tries == [["http_timeout", "http_timeout", "acked"]] * 2
    assert len(desk(on).asked) == 1
    assert [shown.text for shown in on.office.by_june(post)] == ["You said: hello"]


# -- what Slack refuses --------------------------------------------------------------------------------------
async def test_a_refusal_inside_a_200_is_a_dead_letter_that_can_be_sent_again(on: Stage) -> None:
    for method in ("chat.startStream", "chat.postMessage"):
        on.slack.faults.add(Fault("not_ok", method, count=None, error="channel_not_found"))
    post = await on.ask("@june hello")
    await rest(on, post)
    ledger = on.host.runtime.store.ledger
    (dead,) = await ledger.deliveries(state="dead")
    assert (dead.error or "").startswith("channel_not_found")
    assert on.office.by_june(post) == []
    on.slack.faults.repair()
    await ledger.retry(id=dead.id, now=on.host.runtime.clock.now())
    await on.says(post, "You said: hello")
    assert len(desk(on).asked) == 1


@pytest.mark.parametrize("method", ["conversations.replies", "users.info"])
async def test_who_may_not_ask_slack_answers_without_having_asked(on: Stage, method: str) -> None:
    root = await on.office.colleague.say(on.office.orders, "the kettle is broken")
    refused = on.slack.faults.add(Fault("rate_limited", method, count=None, seconds=60))
    await on.ask("@june hello", root)
    answer = await on.says(root, "You said: hello")
    assert refused.struck in range(1, 4)
    assert [shown.ts for shown in on.office.by_june(root)] == [answer.ts]
    if method == "conversations.replies":
        assert "could not be read" in desk(on).asked[0]
    assert on.slack.journal.of("users.list") == []


# -- length and time ---------------------------------------------------------------------------------------
async def test_an_answer_of_one_word_is_one_message(on: Stage) -> None:
    post = await on.ask("@june hello")
    await on.says(post, "You said: hello")
    assert len(on.office.by_june(post)) == 1
    assert on.slack.journal.count("chat.startStream", "chat.postMessage") == 1


@pytest.mark.parametrize("code", ["", " in code"])
@pytest.mark.parametrize("characters", [3_001, 12_001, 13_300, 41_000, 45_000])
async def test_an_answer_of_any_length_is_whole_in_the_thread(
    tmp_path: Path, characters: int, code: str
) -> None:
    async with clerk(tmp_path) as on:
        await whole(on, characters, code)


async def whole(on: Stage, characters: int, code: str) -> None:
    post = await on.ask(f"@june long {characters}{code}")
    await rest(on, post)
    shown = on.office.by_june(post)
    lines = [int(number) for number in NUMBERED.findall("\n".join(one.text for one in shown))]
    assert lines == list(range(len(lines)))
    assert (len(lines) + 1) * len("Line 1000 of a long story.\n\n") > characters
    assert await on.host.runtime.store.ledger.deliveries(state="dead") == []
    refused = [call.error for call in on.slack.journal.calls if call.error]
    assert refused == []


async def test_six_minutes_between_two_halves_lose_nothing_and_say_nothing_twice(
    tmp_path: Path,
) -> None:
    """Longer than Slack lets a stream live."""
    async with clerk(tmp_path, 100.0) as on:
        post = await on.ask("@june in two halves")
        await on.until(lambda: "The first half." in said(on, post))
        await on.time.sleep(360.0)
        desk(on).gate.set()
        await on.until(lambda: "The second half." in said(on, post))
        await rest(on, post)
        whole = said(on, post)
        assert whole.count("The first half.") == 1
        assert whole.count("The second half.") == 1
        assert whole.index("first") < whole.index("second")
        assert not any(
            shown.broken or shown.streaming == "in_progress" for shown in on.office.by_june(post)
        )


# -- bounded by what is said ---------------------------------------------------------------------------------
async def test_what_only_looks_like_its_name_wakes_nobody(on: Stage) -> None:
    root = await on.office.colleague.say(on.office.orders, "write to jane@june.io or @june-tools")
    await on.slack.settled(20.0)
    found = await verdicts(on, root)
    assert found
    assert {row.verdict for row in found} == {"not_addressed"}
    assert desk(on).asked == []
