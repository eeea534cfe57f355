"""Which part of a turn is shown by whom, and the tool whose call is a file."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from typing_extensions import override

from channels.contract import NotSent, Sent, Undeliverable, Unknown
from channels.slack.calls import CALL_SECONDS, NotNow, Ok, Outcome, Refused
from channels.slack.deliver import deliver, reconcile
from channels.slack.settings import read_options
from channels.slack.words.doc import FILE_TOOL
from channels.slack.writing.acts import target_of
from channels.slack.writing.reconcile import find
from channels.slack.writing.shown import Extra, with_extra
from gateway.engine.errors import LeaseLostError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Delivery, Part
from gateway.engine.struct import replace
from gateway.outbox.journal import RowJournal
from gateway.outbox.tools import attach_file
from tests.unit.slack.writing.fast import START, FastTime
from tests.unit.slack.writing.model import Slack
from tests.unit.slack.writing.rig import TARGET, End, Rig, Turn, say


async def rig_of(time: FastTime, slack: Slack, **changes: Any) -> tuple[Rig, Delivery]:
    turn = Turn([say("Hi."), End()], time, time.clock)
    rig = Rig(turn, slack, time, time.clock, **changes)
    await rig.open()
    return rig, await rig.row()


async def test_a_target_without_a_channel_is_a_dead_letter() -> None:
    time = FastTime()
    slack = Slack(time)
    rig, row = await rig_of(time, slack, target={"source": "slack"})
    with pytest.raises(Undeliverable, match="no channel"):
        await deliver(rig.turn.events(), row, rig.ctx, slack, read_options())
    assert slack.calls == []


def part(**changes: Any) -> Part:
    row = Part(delivery=1, n=1, kind="post", state="opening", nonce="n1", hash="h", opened_at=START)
    return replace(row, **changes)


class Pages(Slack):
    """Two pages of messages, of which the second holds ours."""

    @override
    async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
        self.calls.append((method, args))
        if method == "auth.test":
            return Ok({"bot_id": "B1", "user_id": "UB"})
        if "cursor" not in args:
            other: JsonObject = {"ts": "1.1", "bot_id": "B2", "streaming_state": "in_progress"}
            return Ok({"messages": [other], "response_metadata": {"next_cursor": "c"}})
        payload: JsonObject = {"nonce": "n1"}
        mine: JsonObject = {
            "ts": "1.2",
            "bot_id": "B1",
            "streaming_state": "in_progress",
            "metadata": {"event_type": "june_part", "event_payload": payload},
        }
        return Ok({"messages": [mine], "response_metadata": {"next_cursor": ""}})


async def test_a_post_is_found_by_its_nonce_and_a_stream_by_being_ours() -> None:
    pages = Pages(FastTime())
    assert await find(part(), TARGET, pages) == Sent("slack:T1:C1:1.2", "h")
    assert await find(part(nonce="n2"), TARGET, pages) == NotSent()
    assert await find(part(kind="stream"), TARGET, pages) == Sent("slack:T1:C1:1.2")
    asked: list[str] = []

    async def known(ref: str) -> bool:
        asked.append(ref)
        return True

    assert await find(part(kind="stream"), TARGET, pages, known) == NotSent()
    assert asked == ["slack:T1:C1:1.2"]


async def test_a_card_in_a_channel_is_looked_for_in_the_channel() -> None:
    pages = Pages(FastTime())
    target = {**TARGET, "thread_ts": None}
    assert await find(part(kind="card"), target, pages) == Sent("slack:T1:C1:1.2", "h")
    assert {method for method, _ in pages.calls} == {"conversations.history"}


@pytest.mark.parametrize(
    ("outcome", "after"), [(NotNow(7.0, "busy"), 7.0), (Refused("missing_scope", {}), 30.0)]
)
async def test_what_cant_be_looked_up_is_unknown(outcome: Outcome, after: float) -> None:
    class Blind(Slack):
        @override
        async def call(self, installation: str, method: str, args: JsonObject) -> Outcome:
            return outcome

    found = await find(part(), TARGET, Blind(FastTime()))
    assert isinstance(found, Unknown)
    assert found.retry_after == after


async def test_a_file_that_was_never_uploaded_wasnt_sent() -> None:
    slack = Slack(FastTime())
    assert await find(part(kind="file"), TARGET, slack) == NotSent()
    lost = with_extra(part(kind="file"), Extra(file="f1", upload="F9"))
    assert await find(lost, TARGET, slack) == NotSent()


async def test_only_what_is_open_is_reconciled() -> None:
    time = FastTime()
    slack = Slack(time)
    rig, row = await rig_of(time, slack)
    final = replace(row, parts=(part(state="final"),))
    assert await reconcile(final, slack, rig.ledger) == NotSent()
    assert slack.calls == []


def test_a_target_is_read_back() -> None:
    to = target_of(TARGET)
    assert to is not None
    assert (to.installation, to.channel, to.user_team) == ("T1", "C1", "T1")
    assert to.ref("1.2") == "slack:T1:C1:1.2"
    assert target_of({"channel": "C1"}) is None


def test_the_tool_is_the_one_that_the_document_knows() -> None:
    assert attach_file.name == FILE_TOOL
    assert attach_file.effect == "read"
    assert "attached" in str(attach_file.run(name="a.csv", text="1,2"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "x"),
        ("a/b", "x"),
        ("a" * 101, "x"),
        ("a\u202efdp.exe", "x"),
        ("a\nb", "x"),
        ("a.md", " \n"),
    ],
)
def test_a_file_needs_a_name_and_a_text(name: str, text: str) -> None:
    with pytest.raises(ValueError, match="file"):
        attach_file.run(name=name, text=text)


def test_extras_are_kept_whole() -> None:
    assert part().extra is None
    assert with_extra(part(), Extra()).extra is None


async def test_a_call_isnt_made_where_the_store_used_up_the_time_for_it() -> None:
    """Whoever takes the row next would look for the message before it is there, and send it again."""
    time = FastTime()
    slack = Slack(time)
    rig, _ = await rig_of(time, slack)
    (row,) = await rig.ledger.claim("host", ("slack",), time.clock.now(), Millis(30_000), 1)

    class Slow(RowJournal):
        @override
        async def record(self, *parts: Part) -> None:
            await super().record(*parts)
            if any(one.state == "opening" for one in parts):
                self.until = time.monotonic() + CALL_SECONDS

    rig.journal = Slow(row, rig.ledger, time, time.monotonic() + 1e6, time.clock.now)
    async with time.running(), asyncio.TaskGroup() as tasks:
        telling = tasks.create_task(rig.turn.run())
        with pytest.raises(LeaseLostError):
            await deliver(rig.turn.events(), row, rig.ctx, slack, read_options())
        telling.cancel()
    assert slack.count("chat.startStream", "chat.postMessage") == 0
