"""One fault each in the store, on its host, or in the agent: found, by its own name, with the exact way out."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.cli.doctor.examine import examine
from gateway.cli.doctor.finding import Finding
from gateway.cli.doctor.seen import Disk, Seen
from gateway.cli.doctor.state.disk import MIB, room
from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK, Clock
from gateway.engine.outcomes import TurnInput
from gateway.schedules.plan import ScheduleState
from gateway.schedules.state import change, read
from gateway.testing.slack import Fault
from tests.unit.cli.doctor.clinic import AGENT, DAILY, REFUND, Clinic, clinic, running

HANGS = """
    import asyncio

    async def reply(request):
        await asyncio.sleep(3600)
"""
REFUNDS = """
    from gateway import ModelReply

    def reply(request):
        return ModelReply.call("issue_refund", order_id="1042")
"""


def ahead(ill: Clinic, seconds: float) -> None:
    """Look at it so much later."""
    now = SYSTEM_CLOCK.now
    ill.clock = Clock(
        now=lambda: Millis(now() + round(seconds * 1000)), monotonic=SYSTEM_CLOCK.monotonic
    )


async def begin(ill: Clinic, state: str) -> str:
    """A turn that has come as far as this."""
    assert ill.host is not None
    session = ill.host.runtime.session("june", "cli:desk")
    started = await session.start(TurnInput(message="refund 1042", source="cli"))
    async with asyncio.timeout(10):
        while (await session.snapshot(started.turn_id)).state != state:
            await asyncio.sleep(0.01)
    return started.turn_id


# -- turns -------------------------------------------------------------------------------------------------
async def test_a_turn_under_way_that_no_host_takes_up(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"offline.py": HANGS})
        await ill.start()
        turn = await begin(ill, "running")
        await ill.stop()
        found = await ill.only("state.stranded", "state", online=False)
        assert (found.title, found.evidence) == ("1 turn under way, and no host runs", turn)
        assert found.fix.text == "Start a host: it takes them up where they were"
        assert found.fix.command == "gateway serve"
        await ill.start()
        assert await ill.look("state", online=False) == {}


async def test_turns_of_an_agent_that_the_host_doesnt_have(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"offline.py": HANGS})
        await ill.start()
        turn = await begin(ill, "running")
        await ill.stop()
        ill.agent({"agent.py": AGENT.replace("june", "july") % ill.leads.id})
        await ill.start()
        found = await ill.only("state.stranded", "state", online=False)
        assert found.title == "1 turn of the agent june, which this host doesn't have"
        assert found.evidence == f"{turn}; the host has july"
        assert found.fix.text == "Serve the agent under the name june again until they are done"


async def test_a_request_that_nobody_could_answer_any_more(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"offline.py": REFUNDS, "agent.py": ROUTELESS})
        await ill.start()
        await begin(ill, "suspended")
        await ill.stop()
        assert await ill.look("state", online=False) == {}, "it waits for a person, not for us"
        ill.agent({"agent.py": ROUTELESS.replace("june", "july")})
        await ill.start()
        found = await ill.only("state.stranded", "state", online=False)
        assert found.title == "1 request of the agent june, which this host doesn't have"


async def test_a_turn_that_doesnt_get_on(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"offline.py": HANGS})
        await ill.start()
        turn = await begin(ill, "running")
        ahead(ill, 120)
        assert await ill.look("state", online=False) == {}, "a model may think for two minutes"
        ahead(ill, 400)
        found = await ill.only("state.stranded", "state", online=False)
        assert (found.severity, found.evidence) == ("warning", turn)
        assert found.title == "1 turn didn't get on for over 360 s"
        assert found.fix.command == f"gateway turns show {turn}"


# -- what waits for somebody ---------------------------------------------------------------------------------
async def test_an_answer_that_couldnt_be_delivered(tmp_path: Path) -> None:
    async with running(tmp_path) as ill:
        ill.slack.faults.add(Fault("not_in_channel"))
        await ill.place.ada.mention(ill.place.support, "@june hello")
        host = ill.host
        assert host is not None
        async with asyncio.timeout(15):
            while not (dead := await host.runtime.store.ledger.deliveries(state="dead")):
                await asyncio.sleep(0.02)
        ill.slack.faults.repair()
        found = await ill.only("state.dead")
        assert found.title == "1 answer couldn't be delivered, and somebody waits for it"
        assert "the app is not a member of the channel" in found.evidence
        assert found.fix.command == f"gateway deliveries retry {dead[0].id}"
        assert found.fix.text.startswith("Mend the reason, then send each again")


async def test_a_request_that_everybody_forgot(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"offline.py": REFUNDS})
        await ill.start()
        await begin(ill, "suspended")
        ahead(ill, 23 * 3600)
        assert await ill.look("state", online=False) == {}
        ahead(ill, 49 * 3600)
        found = await ill.only("state.approvals", "state", online=False)
        assert found.severity == "warning"
        assert found.evidence == "the oldest was asked 2 d ago: Refund?"
        assert found.fix.text == "Answer it, or see that those who may decide hear of it"
        assert (found.fix.command or "").startswith("gateway approvals show req_")


# -- schedules ---------------------------------------------------------------------------------------------
FAILS = """
    from gateway import Schedule

    def seed(*, at, services):
        raise ValueError("the shop is closed")

    schedule = Schedule(cron="* * * * *", seed=seed, missed="all")
"""


async def test_a_schedule_that_fails(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"schedules/daily.md": None, "schedules/nightly.py": FAILS})
        host = await ill.start()
        await change(host.runtime.store.ledger, "june", "nightly", since_a_while)
        await ill.stop()
        await ill.start()
        await noticed(ill, "nightly")
        found = await ill.only("state.schedule", "state", online=False)
        assert found.title == "the schedule nightly fails, so nothing comes of it"
        assert found.fix.text == "Mend that, then have it run once"
        assert found.fix.command == "gateway schedules run nightly"


def since_a_while(_: ScheduleState | None) -> ScheduleState:
    """Nobody has looked for two minutes: two ticks are due."""
    return ScheduleState(line="* * * * * UTC", seen=Millis(SYSTEM_CLOCK.now() - 120_000))


async def noticed(ill: Clinic, name: str) -> None:
    assert ill.host is not None
    ledger = ill.host.runtime.store.ledger
    async with asyncio.timeout(10):
        while (held := (await read(ledger, "june", name)).state) is None or not held.problem:
            await asyncio.sleep(0.02)


async def test_a_schedule_whose_last_turn_failed(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"offline.py": BROKEN})
        host = await ill.start()
        assert host.api.schedules is not None
        fired = await host.api.schedules.run("daily", "cli:desk")
        assert fired is not None
        await host.runtime.session("june", fired.session).result(fired.turn_id)
        found = await ill.only("state.schedule", "state", online=False)
        assert found.title == "the last turn of the schedule daily came to nothing"
        assert found.evidence == f"{fired.turn_id} failed"
        assert found.fix.command == f"gateway turns show {fired.turn_id}"


BROKEN = """
    def reply(request):
        raise ValueError("no words")
"""


async def test_a_schedule_that_the_host_was_never_told_of(tmp_path: Path) -> None:
    """Declared, valid, and it would never fire."""
    async with running(tmp_path) as ill:
        ill.agent({"schedules/weekly.md": DAILY % ill.place.support.id})
        found = await ill.only("state.schedule")
        assert found.title == "the running host doesn't have the schedule weekly"
        assert (found.fix.text, found.fix.command) == ("Restart the host", "gateway serve")


# -- the store ---------------------------------------------------------------------------------------------
async def test_a_database_that_a_newer_release_wrote(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        await ill.start()
        await ill.stop()
        with closing(sqlite3.connect(tmp_path / "state/gateway.db")) as db, db:
            db.execute("INSERT INTO gw_schema (version, at) VALUES (999, 0)")
        found = await ill.only("state.schema", "state", online=False)
        assert found.title == "the database is newer than this release, which leaves it alone"
        assert "has schema version 999" in found.evidence
        assert found.fix.text == "install the release that wrote it, or a newer one"
        assert found.fix.command == "gateway db status"


async def test_a_database_that_is_none(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        (tmp_path / "state").mkdir()
        (tmp_path / "state/gateway.db").write_text("the shopping list " * 100)
        found = await ill.only("state.look", online=False)
        assert "can't be read as a database" in found.evidence
        assert found.fix.text == "point DATABASE_URL at another file"


async def test_a_store_that_somebody_else_holds(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        await ill.start()
        (tmp_path / "state/host.json").unlink()
        found = await ill.only("state.host", "state", online=False)
        assert found.evidence.endswith("holds the store, and serves no API here")
        assert (found.fix.command or "").startswith("kill ")


async def test_a_log_that_isnt_emptied(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        await ill.start()
        await ill.stop()
        with (tmp_path / "state/gateway.db-wal").open("wb") as log:
            log.truncate(300 * MIB)
        ill.changes["DATABASE_URL"] = f"sqlite:///{tmp_path}/state/gateway.db"
        found = (await ill.look("state", online=False))["state.log"]
        assert found.evidence.endswith("gateway.db-wal has 300 MiB")
        assert found.fix.text == (
            "End whatever else reads the database for long, then restart the gateway"
        )


@pytest.mark.parametrize(("free", "severity"), [(64, "error"), (512, "warning"), (2048, None)])
async def test_a_disk_that_is_almost_full(tmp_path: Path, free: int, severity: str | None) -> None:
    """Filling one is no test's business: this one is only told of."""
    async with clinic(tmp_path) as ill:
        disk = Disk(place="/srv/gateway.db", free=free * MIB, size=MIB, log=0)
        found = list(room(Seen(settings=ill.settings(), now=SYSTEM_CLOCK.now(), disk=disk)))
        assert [one.severity for one in found] == ([severity] if severity else [])
        if found:
            assert found[0].evidence == f"{free} MiB are free beside /srv/gateway.db"
            assert found[0].fix.command == "du -h /srv/gateway.db*"


# -- the agent ---------------------------------------------------------------------------------------------
async def test_money_that_nobody_has_to_approve(tmp_path: Path) -> None:
    """Whoever may talk to it may have it paid: nothing else says who decides."""
    async with clinic(tmp_path) as ill:
        free = REFUND.replace(', answerers={"policy": "refunds"}', "")
        inbox = "def channel(env): ..."
        ill.agent(
            {"tools/issue_refund.py": free, "agent.py": ROUTELESS, "channels/email.py": inbox}
        )
        found, by_mail = await examine(ill.settings(), ["agent"])
        assert (found.id, by_mail.id) == ("agent.approvers", "agent.taint")
        assert by_mail.title.startswith("what a mail asks of issue_refund isn't done")
        assert found.severity == "warning"
        assert found.title == "issue_refund moves money, and nothing says who approves it"
        assert found.fix.text == (
            'In tools/issue_refund.py, ask with answerers={"policy": "refunds"}, and decide in'
            " authorize_answer"
        )


ROUTELESS = """
    from gateway import Agent

    async def decides(**asked):
        return False

    agent = Agent(name="june", model="claude-sonnet-5-5", authorize_answer=decides)
"""


async def test_a_policy_that_names_nobody(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        nobody = AGENT.replace("        authorize_answer=decides,\n", "") % ill.leads.id
        ill.agent({"agent.py": nobody})
        found = await examine(ill.settings(), ["agent"])
        assert {one.id for one in found} == {"agent.approvers"}
        first: Finding = found[0]
        assert first.title == "nobody can approve: the agent has no authorize_answer"
        assert "asks the policy 'refunds', but nobody can ever answer it" in first.evidence
        assert first.fix.text == (
            "In agent.py, give Agent an authorize_answer that says who may decide"
        )


async def test_an_agent_that_no_host_would_start_with(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        ill.agent({"schedules/daily.md": "---\ncron: never\n---\nWrite.\n"})
        found = await ill.only("agent.definition", "agent", online=False)
        assert "schedules/daily.md:2 has a cron that" in found.title
        assert found.fix.command == "gateway check"


async def test_a_model_without_its_key(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        found = await ill.only("agent.model", online=False, GATEWAY_MODEL="")
        assert (found.severity, found.title) == ("error", "the model claude-sonnet-5-5 needs a key")
        assert found.fix.text == (
            "set ANTHROPIC_API_KEY, or GATEWAY_MODEL=scripted to run offline.py instead"
        )
        assert await ill.look(online=False, GATEWAY_MODEL="", ANTHROPIC_API_KEY="sk-1") == {}
        await ill.start()
        await ill.paste()
        assert await ill.look(online=False, GATEWAY_MODEL="") == {}, "the host that runs has one"


async def test_one_look_that_fails_keeps_no_other_from_its_word(tmp_path: Path) -> None:
    async with clinic(tmp_path) as ill:
        settings = replace(ill.settings(), database_url="postgresql://127.0.0.1:1/none")
        found = {one.id for one in await examine(settings, online=True)}
        assert found == {"state.look", "slack.reached"}
