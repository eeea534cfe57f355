"""``gateway schedules``: on the store itself, and through a host."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gateway.cli.exits import Exit
from gateway.cli.operate.schedules import came_of, delivered
from gateway.cli.out import Out, plain
from gateway.engine.kinds import JsonObject
from gateway.outbox.reference import reference_of
from tests.support.cli import ROOT, Serving, Shell

pytestmark = pytest.mark.timeout(90)

DIGEST = """---
cron: "0 9 * * 1-5"
timezone: Europe/Paris
---
Give me the digest.
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    agent = tmp_path / "agent"
    (agent / "schedules").mkdir(parents=True)
    (agent / "schedules" / "digest.md").write_text(DIGEST)
    (agent / "instructions.md").write_text("You help.\n")
    (agent / "agent.py").write_text(
        "from gateway import Agent\n\nagent = Agent(name='june', model='claude-sonnet-5-5')\n"
    )
    (agent / "offline.py").write_text(
        "from gateway import ModelReply\n\n\ndef reply(request):\n"
        "    if len(request.turn) > 1:\n        return ModelReply.say('done')\n"
        "    return ModelReply.call('nothing_to_report', reason='all is calm')\n"
    )
    return Shell(tmp_path, GATEWAY_AGENT=str(agent), PYTHONPATH=str(ROOT))


def test_without_a_host_they_are_listed_run_paused_and_resumed(shell: Shell) -> None:
    fields = shell.ok("schedules").out.rstrip("\n").split("\t")
    assert fields[:2] == ["digest", "weekdays at 09:00 Europe/Paris"]
    assert "T09:00+0" in fields[2]
    assert fields[4] == "never ran"
    assert not (shell.folder / ".gateway" / "gateway.db").exists()  # looking leaves nothing behind

    fired = shell.ok("schedules", "run", "digest", "--json").object
    (row,) = shell.ok("schedules", "list", "--json").list
    last = row["last"]
    assert isinstance(last, dict)
    assert last["turn_id"] == fired["turn_id"]
    assert (last["quiet"], last["delivery"]) == ("all is calm", None)
    assert str(last["by"]).startswith("cli:")
    said = shell.ok("schedules").out
    assert f"nothing to report: all is calm (turn {fired['turn_id']})" in said
    unasked = shell.run("why", reference_of(str(fired["turn_id"])), "--json")
    assert (unasked.code, unasked.error["fix"]) == (
        Exit.NOT_FOUND,
        f"gateway turns show {fired['turn_id']}",
    )

    assert "gateway schedules resume digest" in shell.ok("schedules", "pause", "digest").out
    assert "paused by cli:" in shell.ok("schedules").out
    assert shell.ok("schedules", "resume", "digest", "--json").object["paused_by"] is None


def test_a_host_is_asked_while_one_runs(shell: Shell) -> None:
    with Serving(shell):
        fired = shell.ok("schedules", "run", "digest").out
        assert "runs as turn" in fired
        assert shell.ok("schedules", "pause", "digest", "--json").object["next"] is None
        (row,) = shell.ok("schedules", "list", "--json").list
        assert str(row["paused_by"]).startswith("cli:")
        assert "runs next" in shell.ok("schedules", "resume", "digest").out
        missing = shell.run("schedules", "run", "digestt", "--json")
        assert (missing.code, missing.error["fix"]) == (Exit.NOT_FOUND, "gateway schedules list")


def test_what_there_isnt_is_not_found(shell: Shell) -> None:
    for verb in ("run", "pause", "resume"):
        missing = shell.run("schedules", verb, "digestt", "--json")
        assert (missing.code, missing.error["fix"]) == (Exit.NOT_FOUND, "gateway schedules list")


def test_one_that_is_to_be_shown_needs_a_host_that_can(shell: Shell) -> None:
    agent = shell.folder / "agent"
    (agent / "channels").mkdir()
    (agent / "channels" / "slack.py").write_text(
        "from channels.slack import slack_channel\n\n\ndef channel(env):\n"
        "    return slack_channel(env)\n"
    )
    shown = DIGEST.replace("---\nGive", "target: slack:C0123ABCD\n---\nGive")
    (agent / "schedules" / "digest.md").write_text(shown)
    refused = shell.run("schedules", "run", "digest", "--json")
    assert refused.code == Exit.FAILURE
    assert refused.error["code"] == "deliver_unsupported"
    assert str(refused.error["fix"]).endswith("gateway serve")


def test_a_broken_directory_says_what_is_wrong_with_it(shell: Shell) -> None:
    broken = DIGEST.replace("0 9 * * 1-5", "0 9 30 2 *").replace("Europe/Paris", "Paris")
    (shell.folder / "agent" / "schedules" / "digest.md").write_text(broken)
    for command in (("check",), ("schedules",), ("serve", "--port", "0")):
        refused = shell.run(*command, env={"GATEWAY_API_TOKEN": "a-token-for-tests-only"})
        assert refused.code == Exit.CHECK
        told = refused.out + refused.err
        assert "digest.md:2" in told
        assert "has a cron that names a date that never comes" in told
        assert "digest.md:3" in told
        assert "names the unknown timezone 'Paris'" in told


def test_a_host_that_starts_says_when_each_runs_next(shell: Shell) -> None:
    with Serving(shell) as serving:
        serving.process.terminate()
        told = serving.process.communicate(timeout=30)[1].decode()
    assert "schedule digest runs weekdays at 09:00 Europe/Paris, next " in told


# -- words -------------------------------------------------------------------------------------------------
OUT = Out(stdout=io.StringIO())


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ({"outcome": "failed", "why": "its seed function raised KeyError"}, "failed: its seed"),
        ({"outcome": "failed", "why": "it raised", "turn_id": "t1"}, "failed: it raised (turn t1)"),
        ({"outcome": "skipped", "why": "paused by cli:june"}, "skipped: paused by cli:june"),
        ({"outcome": "fired", "why": "late by 20 min", "state": "completed", "turn_id": "t1"},
         "completed, late by 20 min (turn t1)"),
        ({"outcome": "fired", "why": "", "state": "suspended", "turn_id": "t1"},
         "suspended (turn t1)"),
    ],
)  # fmt: skip
def test_what_came_of_it(last: JsonObject, said: str) -> None:
    assert plain(came_of({"last": last}, OUT)).startswith(said)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"state": "done", "ref": "slack:T1:C1:1.2"}, "slack:T1:C1:1.2"),
        ({"state": "due", "ref": None}, "not yet"),
        ({"state": "silent", "ref": None}, ""),
        ({"state": "dead", "ref": None, "id": 7, "error": "is_archived: the channel is archived"},
         "no: is_archived: the channel is archived → gateway deliveries retry 7"),
    ],
)  # fmt: skip
def test_whether_it_arrived(row: JsonObject, said: str) -> None:
    assert plain(delivered({"delivery": row}, OUT)) == said


def test_of_one_that_failed_it_is_the_alert_that_arrived() -> None:
    row: JsonObject = {"state": "done", "ref": "slack:T1:C1:1.2"}
    told = delivered({"outcome": "failed", "delivery": row}, OUT)
    assert plain(told) == "the alert: slack:T1:C1:1.2"
