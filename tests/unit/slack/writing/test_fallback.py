"""What is written where a stream, a change or a permission isn't to be had."""

from __future__ import annotations

from typing import cast

import pytest
from typing_extensions import override

from channels.contract import Undeliverable
from channels.slack.calls import NotNow, Outcome, Refused
from channels.slack.settings import read_options
from gateway.engine.kinds import JsonObject
from gateway.engine.records import NEW_TURN, DeliveryOpened
from tests.unit.slack.writing.fast import START, FastTime
from tests.unit.slack.writing.model import Slack
from tests.unit.slack.writing.rig import TARGET, Beat, End, Park, Retried, Rig, Turn, Use, say, told

LONG = "Order 1042 left the house on Monday and will be with you on Friday."


@pytest.fixture
def time() -> FastTime:
    return FastTime()


@pytest.fixture
def slack(time: FastTime) -> Slack:
    return Slack(time)


@pytest.mark.parametrize(
    "code", ["channel_type_not_supported", "unknown_method", "restricted_action", "user_not_found"]
)
async def test_without_streams_a_message_grows(slack: Slack, time: FastTime, code: str) -> None:
    slack.refuse["chat.startStream"] = code
    await told([say(LONG, every=2.0), Use("c1"), say("Anything else?"), End()], slack, time)
    assert slack.shown == [[LONG, "[complete] Find order", "Anything else?"]]
    assert slack.count("chat.startStream") == 1
    assert slack.count("chat.postMessage") == 1
    assert slack.count("chat.update") > 2


async def test_no_stream_without_room_for_one(slack: Slack, time: FastTime) -> None:
    rig = Rig(Turn([say(LONG), End()], time, time.clock), slack, time, time.clock)
    rig.pacer.penalise(("T1", "chat.startStream", ""), 30.0)
    async with time.running():
        await rig.deliver()
    assert slack.shown == [[LONG]]
    assert slack.count("chat.startStream") == 0


@pytest.mark.parametrize("code", ["cant_update_message", "edit_window_closed"])
async def test_what_cant_be_changed_is_posted_anew(slack: Slack, time: FastTime, code: str) -> None:
    slack.refuse["chat.update"] = code
    await told([Retried("Order 1042 is lost, I am "), say("It was sent."), End()], slack, time)
    assert slack.shown == [["It was sent."]]
    assert slack.count("chat.delete") == 1


async def test_a_message_that_somebody_removed_is_posted_anew(slack: Slack, time: FastTime) -> None:
    slack.refuse["chat.update"] = "message_not_found"
    slack.refuse["chat.delete"] = "cant_delete_message"
    beats: list[Beat] = [Retried("Order 1042 is lost, I am "), say("It was sent."), End()]
    await told(beats, slack, time)
    assert slack.shown[-1] == ["It was sent."]
    assert slack.count("chat.delete") == 0


class Plain(Slack):
    """Takes no blocks of a kind."""

    kinds: frozenset[str] = frozenset({"markdown", "task_card"})

    @override
    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
        blocks = cast("list[JsonObject]", args.get("blocks") or [])
        if any(block["type"] in self.kinds for block in blocks):
            self.calls.append((method, args))
            return Refused("invalid_blocks", {})
        return await super().call(installation, method, args)


class Bare(Plain):
    kinds = frozenset({"markdown", "task_card", "rich_text"})


@pytest.mark.parametrize("kind", [Plain, Bare])
async def test_refused_blocks_are_said_more_plainly(time: FastTime, kind: type[Slack]) -> None:
    slack = kind(time)
    await told([say("It was **sent**.", every=0), End()], slack, time)
    assert slack.said.replace("*", "") == "It was sent."
    assert len(slack.thread) == 1


@pytest.mark.parametrize("kind", [Plain, Bare])
async def test_a_rewrite_that_is_refused_is_made_more_plainly(
    time: FastTime, kind: type[Slack]
) -> None:
    slack = kind(time)
    await told([Retried("Order 1042 is lost, I am "), say("It was sent."), End()], slack, time)
    assert slack.said == "It was sent."


@pytest.mark.parametrize(
    ("code", "revived"),
    [("token_revoked", "installation:T1"), ("is_archived", None), ("not_in_channel", None)],
)
async def test_what_cant_be_delivered_is_a_dead_letter(
    slack: Slack, time: FastTime, code: str, revived: str | None
) -> None:
    slack.refuse = dict.fromkeys(["chat.startStream", "chat.postMessage"], code)
    rig = await told([say(LONG), End()], slack, time)
    assert isinstance(rig.letter, Undeliverable)
    assert (rig.letter.reason, rig.letter.revive_on) == (code, revived)
    row = await rig.row()
    assert row.state == "dead"
    assert {part.state for part in row.parts} == {"gone"}, "a retry would look for it first"


@pytest.mark.parametrize("code", ["token_revoked", "not_in_channel"])
async def test_a_letter_that_was_mended_leaves_its_thread_at_rest(
    slack: Slack, time: FastTime, code: str
) -> None:
    beats: list[Beat] = [say("I'll ask."), Park(), say("It is refunded."), End()]
    rig = Rig(Turn(beats, time, time.clock), slack, time, time.clock)
    answer = rig.turn.answer

    async def shut_out() -> None:
        assert slack.status == "suspended"
        methods = ["chat.startStream", "chat.postMessage", "agents.sessions.setStatus"]
        slack.refuse = dict.fromkeys([*methods, "assistant.threads.setStatus"], code)
        await answer()

    rig.turn.answer = shut_out  # type: ignore[method-assign]
    async with time.running():
        assert (await rig.deliver()).state == "dead"
        await rig.turn.run()
        slack.refuse.clear()
        assert (await rig.retried()).state == "done"
    assert slack.shown == [["I'll ask."], ["It is refunded."]]
    assert slack.status == "active"


async def test_a_refused_post_of_no_known_kind_is_a_dead_letter(
    slack: Slack, time: FastTime
) -> None:
    slack.refuse = dict.fromkeys(["chat.startStream", "chat.postMessage"], "out_of_cheese")
    rig = await told([say(LONG), End()], slack, time)
    assert rig.letter is not None
    assert rig.letter.reason == "out_of_cheese"
    assert slack.count("chat.postMessage") == 3
    assert slack.status == "active"


async def test_an_app_that_is_no_agent_has_the_older_status(slack: Slack, time: FastTime) -> None:
    slack.refuse["agents.sessions.setStatus"] = "not_agent_app"
    await told([Use("c1", 200.0), say("It was sent."), End()], slack, time)
    statuses = [args["status"] for m, args in slack.calls if m == "assistant.threads.setStatus"]
    assert statuses.count("is working on it…") >= 3
    assert slack.count("agents.sessions.setStatus") == 1
    assert slack.shown == [["[complete] Find order", "It was sent."]]


async def test_a_reply_doesnt_need_a_status(slack: Slack, time: FastTime) -> None:
    slack.refuse = dict.fromkeys(
        ["agents.sessions.setStatus", "assistant.threads.setStatus"], "not_allowed_token_type"
    )
    await told([say("It was sent."), End()], slack, time)
    assert slack.shown == [["It was sent."]]


async def test_a_person_stops_a_stream(slack: Slack, time: FastTime) -> None:
    call = slack.call

    async def stopped(installation: str, method: str, args: JsonObject) -> Outcome:
        if method == "chat.appendStream":
            slack.thread[0].state = "completed"
            return Refused("stopped_by_user", {})
        return await call(installation, method, args)

    slack.call = stopped  # type: ignore[method-assign]
    await told([End("cancelled", amid=LONG)], slack, time)
    assert slack.shown == [[f"{LONG}\n\nStopped."]]


async def test_a_person_stops_a_stream_whose_start_was_lost(slack: Slack, time: FastTime) -> None:
    slack.trouble[2] = "lost"
    call = slack.call

    async def stopped(installation: str, method: str, args: JsonObject) -> Outcome:
        if method == "conversations.replies":
            slack.thread[0].state = "completed"
        return await call(installation, method, args)

    slack.call = stopped  # type: ignore[method-assign]
    await told([say("One moment."), End("cancelled")], slack, time)
    assert slack.shown == [["One moment.\n\nStopped."]]


async def test_a_thread_leaves_work_though_its_last_call_had_to_wait(
    slack: Slack, time: FastTime
) -> None:
    rig = Rig(Turn([say(LONG), End()], time, time.clock), slack, time, time.clock)
    call, stops = slack.call, list[str]()

    async def busy(installation: str, method: str, args: JsonObject) -> Outcome:
        if method != "chat.stopStream":
            return await call(installation, method, args)
        stops.append(method)
        if len(stops) == 1:
            rig.pacer.penalise(("T1", "agents.sessions.setStatus", ""), 20.0)
            return NotNow(2.0, "too many")
        slack.thread[0].state = "completed"
        return Refused("stopped_by_user", {})

    slack.call = busy  # type: ignore[method-assign]
    async with time.running():
        await rig.deliver()
    assert slack.shown == [[LONG]]
    assert slack.status == "active"


async def test_words_that_only_slack_remembers_stay_when_a_turn_was_stopped(
    slack: Slack, time: FastTime
) -> None:
    slack.trouble[4] = "killed before"
    beats: list[Beat] = [End("cancelled", amid="Order 1042 left the house on Monday and will be")]
    rig = Rig(Turn(beats, time, time.clock), slack, time, time.clock)
    async with time.running():
        turn, die = rig.turn, rig.turn.die

        def die_and_stop() -> None:
            die()
            turn.beats = [End("cancelled")]

        turn.die = die_and_stop  # type: ignore[method-assign]
        await rig.deliver()
    ((shown,),) = slack.shown
    assert shown.startswith("Order 1042 left")
    assert shown.endswith("Stopped.")


async def test_who_is_waited_for_is_said_where_the_card_isnt(slack: Slack, time: FastTime) -> None:
    options = read_options(policy_words={"refunds": "@support-leads"})
    rig = await told(
        [say("I'll ask."), Park(), say("Done."), End()],
        slack,
        time,
        options=options,
        answer_at_rest=False,
    )
    assert (await rig.row()).state == "resting"
    assert slack.shown == [["I'll ask.\n\n_Waiting for @support-leads to decide._"]]
    assert slack.status == "suspended"


async def test_nothing_is_said_above_the_card_itself(slack: Slack, time: FastTime) -> None:
    card = DeliveryOpened(
        turn=NEW_TURN,
        part="card:r1",
        source="email",
        target=dict(TARGET),
        lane="elsewhere",
        request="r1",
        at=START,
    )
    here = DeliveryOpened(
        turn=NEW_TURN,
        part="card:r1",
        source="slack",
        target=dict(TARGET),
        lane="later",
        request="r1",
        at=START,
    )
    await told([say("I'll ask."), Park()], slack, time, beside=(card,), answer_at_rest=False)
    assert "Waiting for" in slack.said
    other = Slack(time)
    await told([say("I'll ask."), Park()], other, time, beside=(here,), answer_at_rest=False)
    assert other.shown == [["I'll ask."]]


class NoStatus(Slack):
    """Slack can't set a status now, and goes on saying so."""

    @override
    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
        if "setStatus" in method:
            self.calls.append((method, args))
            return NotNow(1.0, "Slack answered 500 without a result")
        return await super().call(installation, method, args)


async def test_a_thread_goes_on_without_its_status(time: FastTime) -> None:
    slack = NoStatus(time)
    slack.refuse["chat.startStream"] = "unknown_method"
    rig = Rig(
        Turn([say("Let me see."), Park()], time, time.clock),
        slack,
        time,
        time.clock,
        answer_at_rest=False,
    )
    async with time.running(1.0):
        row = await rig.deliver()
    assert row.state == "resting"
    assert time.monotonic() < 120


@pytest.mark.parametrize("after", [2.0, 30.0])
async def test_a_thread_leaves_work_though_that_was_refused_again_and_again(
    slack: Slack, time: FastTime, after: float
) -> None:
    slack.refuse["chat.startStream"] = "unknown_method"
    call, left = slack.call, iter([NotNow(after, "too many")] * 5)

    async def busy(installation: str, method: str, args: JsonObject) -> Outcome:
        if args.get("status") == "active" and (refused := next(left, None)) is not None:
            return refused
        return await call(installation, method, args)

    slack.call = busy  # type: ignore[method-assign]
    await told([say("It is sent."), End()], slack, time, step=1.0)
    assert slack.shown == [["It is sent."]]
    assert slack.status == "active"
