"""Journey 1, sentence by sentence: june is asked in a thread, and answers there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gateway.engine.kinds import JsonObject
from gateway.testing.fake_anthropic import (
    Answer,
    Call,
    FakeAnthropic,
    Reply,
    Say,
    Stall,
    overloaded,
)
from gateway.testing.slack import Fault, Message
from tests.journeys.slack_stage import Stage, altered, orders, staged

pytestmark = pytest.mark.timeout(90)

ABOVE = (
    ("colleague", "the kettle for a café in Lyon came back in pieces"),
    ("lead", "the second one this week"),
    ("colleague", "same carrier as last time"),
    ("lead", "did somebody write to them?"),
    ("colleague", "I did, yesterday at noon"),
    ("lead", "then let us see what june knows"),
)
QUESTION = "@june where is order 1042?"
END = "Is there anything else?"
LATER = "who has it in the van for today and rings twice, as always, in the afternoon."
MODEL = {"GATEWAY_MODEL": "", "ANTHROPIC_API_KEY": "made-up"}


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Stage]:
    async with staged(tmp_path) as stage:
        yield stage


async def thread(on: Stage) -> Message:
    """Six messages by two colleagues."""
    office = on.office
    root: Message | None = None
    for who, words in ABOVE:
        person = office.lead if who == "lead" else office.colleague
        root = root or await person.say(office.orders, words)
        if words != ABOVE[0][1]:
            await person.say(office.orders, words, thread=root)
    assert root is not None
    return root


# -- within a moment -----------------------------------------------------------------------------------
async def test_its_first_sign_is_a_status_with_a_stop_and_no_message(on: Stage) -> None:
    office, calls = on.office, on.slack.journal.calls
    root = await thread(on)
    before: list[tuple[str, int]] = []

    def look() -> None:
        """How the thread stands when june begins to write, before anything of it is carried out."""
        if not before and calls and calls[-1].method == "chat.startStream":
            before.append((office.status(root), len(office.by_june(root))))

    on.slack.journal.watchers.append(look)
    await on.ask(QUESTION, root)
    await on.says(root, "Order 1042")
    assert before == [("processing", 0)]
    (session,) = on.slack.world.sessions.values()
    assert (session.title, session.initiator) == ("where is order 1042?", office.asker.id)
    assert on.slack.journal.count("reactions.add", "chat.postMessage", "chat.postEphemeral") == 0


async def test_stop_is_offered_while_it_works(tmp_path: Path) -> None:
    held = Reply(content=[Say("One moment, I look into it.")], stall=Stall(700, 60))
    async with FakeAnthropic(lambda _: held) as model:
        settings = {**MODEL, "ANTHROPIC_BASE_URL": model.url}
        async with staged(tmp_path, settings) as on:
            asked = await on.ask(QUESTION)
            await on.until(lambda: on.office.status(asked) == "processing")
            await on.office.asker.stop(on.slack.app(), asked)
            said = await on.says(asked, "Stopped.")
            assert said.streaming != "in_progress"
            assert on.office.status(asked) == "active"


# -- a reply ---------------------------------------------------------------------------------------------
async def test_a_task_line_turns_complete_and_then_the_answer_stands_in_the_thread(
    on: Stage,
) -> None:
    root = await thread(on)
    title, seen = "Looking up order 1042", list[tuple[str, str]]()

    def look() -> None:
        for shown in on.office.by_june(root):
            now = next((task.status for task in shown.tasks if task.title == title), "")
            words = "answer" if "is delivered" in shown.text else ""
            if (now, words) not in seen:
                seen.append((now, words))

    on.slack.journal.watchers.append(look)
    await on.ask(QUESTION, root)
    said = await on.says(root, "Order 1042")
    (only,) = on.office.by_june(root)
    assert only == said
    assert [(task.title, task.status) for task in said.tasks] == [(title, "complete")]
    assert said.text.index(title) < said.text.index("Order 1042 (1 glass kettle, $42.50)")
    answered = seen.index(("complete", "answer"))
    assert {status for status, words in seen[:answered] if not words} <= {
        "",
        "in_progress",
        "complete",
    }
    assert all(status == "complete" for status, words in seen if words)


async def test_it_knows_what_was_said_above_by_name_and_reads_it_once(on: Stage) -> None:
    root = await thread(on)
    await on.ask(QUESTION, root)
    await on.says(root, "Order 1042")
    await on.office.colleague.say(on.office.orders, "and 1043?", thread=root)
    await on.says(root, "Order 1043")
    known = await on.opening(root)
    last = 0
    for who, words in ABOVE:
        place = known.index(words)
        assert known.rfind(who, last, place) >= 0, (who, words)
        last = place
    assert on.slack.journal.count("conversations.replies", "conversations.history") == 1


async def test_nobody_is_pinged_that_the_text_names(on: Stage) -> None:
    """What june repeats were live mentions when it was written."""
    await on.says(await on.ask("@june note on order 1042: tell @colleague and @here"), "Noted")
    asked = await on.ask(QUESTION)
    said = await on.says(asked, "Order 1042")
    assert "@here" in said.text
    assert "@colleague" in said.text or f"@{on.office.colleague.id}" in said.text
    assert [ping for ping in on.slack.pinged if ping.by == on.office.june.user] == []


# -- who it is for ---------------------------------------------------------------------------------------
async def test_a_reply_without_a_mention_is_answered_since_it_takes_part(on: Stage) -> None:
    root = await thread(on)
    await on.ask(QUESTION, root)
    await on.says(root, "Order 1042")
    followed = await on.office.colleague.say(on.office.orders, "and 1043?", thread=root)
    await on.says(root, "Order 1043")
    (why,) = await on.gateway("why", f"{followed.channel}:{followed.ts}")
    assert (why["verdict"], why["rule"]) == ("accepted", "thread")


async def test_where_the_rule_is_mention_there_is_silence_and_why_names_it(
    tmp_path: Path,
) -> None:
    rule = ('replace_in_flight="speaker",', 'replace_in_flight="speaker", follow="mention",')
    agent = await asyncio.to_thread(altered, tmp_path, "channels/slack.py", *rule)
    async with staged(tmp_path / "state", {"GATEWAY_AGENT": str(agent)}) as on:
        root = await thread(on)
        await on.ask(QUESTION, root)
        await on.says(root, "Order 1042")
        await on.office.colleague.say(on.office.orders, "and 1043?", thread=root)
        event = on.slack.journal.events("message")[-1]
        await on.slack.settled()
        (why,) = await on.gateway("why", event.id)
        assert (why["verdict"], why["rule"]) == ("not_addressed", "channel-rule-mention")
        # What came after it was taken, so it wasn't merely slow.
        await on.ask("@june and 1044?", root)
        await on.says(root, "Order 1044")
        assert on.office.saying(root, "1043") == []


async def test_a_correction_supersedes_the_reply_that_is_being_written(tmp_path: Path) -> None:
    async with FakeAnthropic(slow_about("1042")) as model:
        settings = {**MODEL, "ANTHROPIC_BASE_URL": model.url}
        async with staged(tmp_path, settings) as on:
            root = await on.ask(QUESTION)
            await on.until(lambda: bool(on.office.saying(root, "Order 1042 was")))
            await on.ask("sorry, 1044", root)
            await on.says(root, "Order 1044 was handed to the carrier")
            first, second = on.office.by_june(root)
            assert first.text.endswith("(superseded by a newer message)")
            assert END not in first.text
            assert second.text.endswith(END)
            assert first.streaming != "in_progress"


async def test_delivered_twice_and_as_two_events_it_is_answered_once(on: Stage) -> None:
    for kind in ("app_mention", "message"):
        on.slack.faults.add(Fault("event_twice", f"event:{kind}"))
    root = await on.ask(QUESTION)
    await on.says(root, "Order 1042")
    sent = on.slack.journal.deliveries
    assert sorted(one.type for one in sent) == ["app_mention", *["message"] * (len(sent) - 1)]
    assert sum(len(one.attempts) for one in sent if one.payload) >= 4
    assert len(on.office.by_june(root)) == 1
    turns = await on.gateway("turns", "list")
    assert len(turns) == 1


# -- the model is overloaded -----------------------------------------------------------------------------
async def test_overloaded_for_a_minute_the_status_stays_and_then_it_answers(
    tmp_path: Path,
) -> None:
    brain, asked_at = slow_about("nothing"), list[float]()

    def busy(body: JsonObject) -> Answer:
        asked_at.append(on.time.monotonic())
        seen.append((on.office.status(root), len(on.office.by_june(root))))
        return overloaded("1") if len(asked_at) <= 2 else brain(body)

    seen: list[tuple[str, int]] = []
    async with FakeAnthropic(busy) as model:
        settings = {**MODEL, "ANTHROPIC_BASE_URL": model.url}
        async with staged(tmp_path, settings, speed=40) as on:
            root = await on.ask(QUESTION)
            await on.says(root, "Order 1042 was handed to the carrier")
            assert asked_at[2] - asked_at[0] >= 60
            # The first request may go out while the status still does.
            assert {messages for _, messages in seen[:3]} == {0}
            assert {status for status, _ in seen[1:3]} == {"processing"}
            assert len(on.office.by_june(root)) == 1


async def test_where_it_stays_down_one_polite_line_gives_a_reference(tmp_path: Path) -> None:
    async with FakeAnthropic(lambda _: overloaded("1")) as model:
        settings = {**MODEL, "ANTHROPIC_BASE_URL": model.url}
        async with staged(tmp_path, settings, speed=40) as on:
            root = await on.ask(QUESTION)
            said = await on.says(root, "Sorry")
            assert on.office.by_june(root) == [said]
            assert "verload" not in said.text
            assert "\n" not in said.text.strip()
            reference = said.text.rpartition(" ")[2]
            verdicts = await on.gateway("why", reference)
            turn_id = f"slack:{on.office.june.key}:{root.channel}:{root.ts}"
            assert {why["turn_id"] for why in verdicts} == {turn_id}
            (turn,) = await on.gateway("turns", "show", reference)
            assert (turn["turn_id"], turn["state"]) == (turn_id, "failed")
            assert "verloaded" in str(turn["error"])


# -- a model that is slow ----------------------------------------------------------------------------------
class slow_about:  # noqa: N801 - used as a function
    """Looks up the order that was named last, and tells of it; of one of them so slowly that it never
    comes to the end."""

    def __init__(self, order: str) -> None:
        self._order = order

    def __call__(self, body: JsonObject) -> Answer:
        messages = body["messages"]
        assert isinstance(messages, list)
        told = [str(message) for message in messages]
        asked = next(text for text in reversed(told) if "'role': 'user'" in text and orders(text))
        number = orders(asked)[-1]
        if "tool_result" not in told[-1]:
            return Reply(content=[Call("find_order", {"order_id": number})])
        words = [Say(f"Order {number} was handed to the carrier, {LATER} {END}")]
        if number == self._order:
            return Reply(content=words, stall=Stall(900, 60))
        return Reply(content=words)
