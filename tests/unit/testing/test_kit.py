"""The author's test kit keeps its promises; its fixtures are those that an author's tests get."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway import ModelReply
from gateway.engine.errors import NotFoundError
from gateway.engine.kinds import Json, Speaker
from gateway.testing import (
    AgentUnderTest,
    FakeClock,
    MailUnderTest,
    ResumeAuthorizationError,
    SlackUnderTest,
    Turn,
    script,
)
from tests.support.cli import ROOT
from tests.unit.definition.directories import write

BROKEN = r"nothing was written at 'after tool:9'. passed were: before enter, after enter"


@pytest.fixture
def agent_directory() -> Path:
    return ROOT / "agent"


@pytest.fixture
def agent_env() -> dict[str, str]:
    return {"REFUND_APPROVERS": "slack:T1:LEAD"}


@pytest.fixture
def another(
    agent_directory: Path, tmp_path: Path, agent_loop: asyncio.Runner, clock: FakeClock
) -> Callable[[str], AgentUnderTest]:
    """One that the test closes itself."""
    return lambda database: AgentUnderTest(
        agent_directory,
        tmp_path / "another",
        loop=agent_loop,
        clock=clock,
        env={},
        database=database,
    )


def refund(agent: AgentUnderTest) -> None:
    agent.script([ModelReply.call("issue_refund", order_id="1042", amount="42.50"), "Settled."])


def output(turn: Turn, name: str = "") -> Json:
    (call,) = turn.calls
    return call.output[name] if isinstance(call.output, dict) else call.output


class TestTurns:
    def test_offline_py_plays_the_model(self, agent: AgentUnderTest) -> None:
        turn = agent.ask("where is order 1042?")
        assert (turn.status, turn.parked, turn.request, turn.error) == (
            "completed", False, None, None,
        )  # fmt: skip
        assert "1042" in turn.text
        (call,) = turn.calls
        assert (call.name, call.input, call.failed) == ("find_order", {"order_id": "1042"}, False)

    def test_a_script_does_instead_and_each_turn_begins_it_anew(
        self, agent: AgentUnderTest
    ) -> None:
        agent.script([lambda request: ModelReply.say(request.text.upper())])
        assert [agent.ask(word).text for word in ("one", "two")] == ["ONE", "TWO"]

    def test_a_script_that_is_too_short_fails_the_turn(self, agent: AgentUnderTest) -> None:
        agent.script([ModelReply.call("find_order", order_id="1042")])
        turn = agent.ask("go")
        assert turn.status == "failed"
        assert "the script has 1 lines" in str(turn.error)

    def test_only_who_may_decides(self, agent: AgentUnderTest) -> None:
        refund(agent)
        turn = agent.ask("refund 1042", speaker=Speaker(id="slack:T1:ADA", level="provider"))
        assert turn.parked
        assert turn.prompt.startswith("Refund $42.50 on order 1042")
        assert output(turn) is None
        with pytest.raises(ResumeAuthorizationError):
            turn.approve(by="slack:T1:OTHER")
        assert turn.approve(by="slack:T1:LEAD").text == "Settled."
        assert output(turn, "refunded") is True

    def test_a_no_is_told_with_its_reason(self, agent: AgentUnderTest) -> None:
        refund(agent)
        turn = agent.ask("refund 1042").deny(by="slack:T1:LEAD", reason="too late")
        assert output(turn, "refunded") is False
        with pytest.raises(AssertionError, match="waits for nobody: it is completed"):
            turn.approve()

    def test_a_parked_turn_can_be_cancelled(self, agent: AgentUnderTest) -> None:
        refund(agent)
        assert agent.ask("refund 1042").cancel().status == "cancelled"

    def test_a_parked_turn_waits_for_days(self, agent: AgentUnderTest, clock: FakeClock) -> None:
        refund(agent)
        turn = agent.ask("refund 1042")
        clock.tick("30d")
        agent.restart()
        assert turn.approve(by="slack:T1:LEAD").text == "Settled."

    def test_turns_are_the_latest_first_and_by_session(self, agent: AgentUnderTest) -> None:
        ids = [agent.ask("hello", session=name).id for name in ("s1", "s2", "s1")]
        assert [turn.id for turn in agent.turns()] == ids[::-1]
        assert [turn.id for turn in agent.turns("s1")] == [ids[2], ids[0]]


class TestCrashes:
    @pytest.mark.parametrize("when", ["before", "after"])
    @pytest.mark.parametrize(
        "point", ["enter", "model:", "start tool:", "suspend", "decide_answer", "begin", "tool:"]
    )
    def test_wherever_it_comes_the_end_is_the_same(
        self, agent: AgentUnderTest, when: str, point: str
    ) -> None:
        refund(agent)
        (agent.crash_before if when == "before" else agent.crash_after)(point)
        turn = agent.ask("refund 1042")
        assert turn.approve(by="slack:T1:LEAD").text == "Settled."
        assert agent.crashes == 1
        assert [call.name for call in turn.calls] == ["issue_refund"]

    def test_the_points_that_were_passed_are_told(self, agent: AgentUnderTest) -> None:
        agent.ask("hello")
        assert agent.points == ["before enter", "after enter", "before model:1", "after model:1"]

    def test_one_that_never_comes_fails_the_test(
        self, another: Callable[[str], AgentUnderTest], tmp_path: Path
    ) -> None:
        agent = another(f"sqlite:///{tmp_path / 'other.db'}")
        agent.crash_after("tool:9")
        agent.ask("hello")
        with pytest.raises(AssertionError, match=BROKEN):
            agent.close()
        with pytest.raises(AssertionError, match="doesn't run any more"):
            agent.ask("hello")

    def test_what_keeps_nothing_cant_come_back(
        self, another: Callable[[str], AgentUnderTest]
    ) -> None:
        agent = another("memory://")
        assert agent.ask("hello").status == "completed"
        for crash in (agent.restart, lambda: agent.crash_after("enter")):
            with pytest.raises(AssertionError, match="nothing outlives a process here"):
                crash()
        agent.close()


class TestTime:
    @pytest.fixture
    def agent_directory(self, tmp_path: Path) -> Path:
        daily = '---\ncron: "0 9 * * *"\ntimezone: Europe/Paris\n---\nWrite the digest.\n'
        odd = "from gateway import Schedule\nschedule = Schedule(cron='0 9 * * *', seed=lambda: 1 / 0)"
        return write(tmp_path / "shop", {"schedules/daily.md": daily, "schedules/odd.py": odd})

    def test_a_schedule_comes_when_it_is_due(self, agent: AgentUnderTest, clock: FakeClock) -> None:
        agent.script(["All is well."])
        before = clock.now()
        turns = [agent.fire("daily") for _ in range(3)]
        assert [turn.text for turn in turns] == ["All is well."] * 3
        assert all(turn.session.startswith("cron:daily:") for turn in turns)
        assert clock.now() - before > 2 * 86_400_000
        assert len(agent.turns()) == 3

    def test_one_that_fails_says_why(self, agent: AgentUnderTest) -> None:
        with pytest.raises(AssertionError, match="odd began no turn: it was failed"):
            agent.fire("odd")

    def test_one_that_isnt_there_is_said(self, agent: AgentUnderTest) -> None:
        with pytest.raises(NotFoundError, match="no schedule 'weekly'"):
            agent.fire("weekly")

    async def test_who_sleeps_wakes_when_the_time_has_come(self) -> None:
        clock, woken = FakeClock(), list[str]()

        async def sleep(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            woken.append(name)

        async with asyncio.TaskGroup() as tasks:
            long = tasks.create_task(sleep("long", 86_400))
            tasks.create_task(sleep("short", 3_600))
            await asyncio.sleep(0.01)
            clock.tick("2h")
            await asyncio.sleep(0.01)
            assert woken == ["short"]
            clock.tick(86_400.0)
            await long
        assert woken == ["short", "long"]

    def test_a_span_that_is_none_is_refused(self) -> None:
        with pytest.raises(ValueError, match="must be a duration"):
            FakeClock().tick("soon")


class TestSlack:
    @pytest.fixture
    def agent_env(self, slack: SlackUnderTest) -> dict[str, str]:
        return {"REFUND_APPROVERS": slack.identity("lead")}

    def test_a_refund_by_button(self, agent: AgentUnderTest, slack: SlackUnderTest) -> None:
        thread = slack.mention("refund 1042, it arrived broken")
        thread.click("Approve", by="outsider")
        slack.until(lambda: slack.told("outsider") or None, "a word to the outsider")
        assert slack.told("outsider") == ["This one is for @support-leads to decide."]
        thread.click("Approve", by="lead")
        thread.until("Refunded $42.50")
        thread.reply("and where is 1043?")
        thread.until("1043")
        assert len(agent.turns()) == 2

    def test_a_reason_is_filled_in(self, agent: AgentUnderTest, slack: SlackUnderTest) -> None:
        thread = slack.mention("refund 1042, it arrived broken")
        thread.click("june.more", "Deny with a reason", by="lead")
        slack.fill({"Reason": "send a new one"}, by="lead")
        thread.until("send a new one")
        assert agent.turns()[0].status == "completed"

    def test_a_crash_shows_nobody_anything(
        self, agent: AgentUnderTest, slack: SlackUnderTest
    ) -> None:
        agent.crash_after("model:1")
        thread = slack.mention("where is order 1042?")
        thread.until("1042")
        assert agent.crashes == 1
        assert len(thread.texts) == 2

    def test_what_never_comes_is_told_with_the_thread(
        self, agent: AgentUnderTest, slack: SlackUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("gateway.testing.beside.PATIENCE", 0.5)
        agent.script(["Hello."])
        thread = slack.mention("hi")
        with pytest.raises(AssertionError, match=r"'Goodbye' didn't come") as failed:
            thread.until("Goodbye")
        assert "the thread:" in str(failed.value)


class TestMail:
    def test_a_refund_by_mail(self, agent: AgentUnderTest, mail: MailUnderTest) -> None:
        thread = mail.write("please refund order 1042, it arrived broken")
        thread.until("A colleague has to confirm this first.")
        assert agent.turns()[0].approve(by="slack:T1:LEAD").status == "completed"
        thread.until("Refunded $42.50")
        assert len(thread.letters) == 2
        thread.reply("Thank you!")
        thread.until("You're welcome!")
        assert len({turn.session for turn in agent.turns()}) == 1

    def test_a_forger_is_held_and_the_failure_says_so(
        self, agent: AgentUnderTest, mail: MailUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        thread = mail.write("where is order 1042?", dmarc="fail")
        assert thread.verdict == "held (unattested)"
        with pytest.raises(AssertionError, match="no letter to reply to yet"):
            thread.reply("hello?")
        monkeypatch.setattr("gateway.testing.beside.PATIENCE", 0.1)
        with pytest.raises(AssertionError, match=r"the mail: held \(unattested\)"):
            thread.until("Order 1042")
        assert agent.turns() == []


def test_who_runs_pytest_for_something_else_loads_nothing() -> None:
    told = "import sys, gateway.testing.plugin; print(*(m for m in sys.modules if 'gateway.' in m))"
    done = subprocess.run(
        [sys.executable, "-c", told], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["gateway.testing", "gateway.testing.plugin"]


def test_a_script_is_a_reply_function_like_any_other(agent: AgentUnderTest) -> None:
    replies = script(["one", ModelReply.say("two")])
    seen: list[str] = []

    def model(request: object) -> ModelReply:
        reply = replies(request)  # type: ignore[arg-type]
        seen.append(reply.text)
        return reply

    agent.script([model])
    assert agent.ask("go").text == "one"
    assert seen == ["one"]
