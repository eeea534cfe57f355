"""``gateway deliveries``: on the store itself, and through a host."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest

from gateway.cli.exits import Exit
from gateway.cli.operate.deliveries import _tell
from gateway.cli.out import Out
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.ledger import Receipt
from gateway.engine.outcomes import TurnInput
from gateway.engine.records import NEW_TURN, DeliveryOpened
from gateway.engine.runtime import Runtime
from gateway.outbox.reference import reference_of
from gateway.sinks.local import LocalSink
from gateway.stores.sqlite import SqliteStore
from tests.support.cli import Serving, Shell
from tests.unit.outbox.kit import Gates, agent

NOW = Millis(1_700_000_000_000)
ROOT = Path(__file__).parents[3]


async def fill(path: Path) -> int:
    """A turn whose reply couldn't be delivered. Its delivery's id."""
    store = SqliteStore(path)
    await store.open()
    target: JsonObject = {"channel": "C1", "thread": "1.2"}
    row = DeliveryOpened(
        turn=NEW_TURN, part="reply", source="slack", target=target, lane="l", at=NOW
    )
    async with Runtime({"june": agent(Gates())}, store, LocalSink()) as runtime:
        session = runtime.session("june", "slack:T1:C1:1.2")
        await session.start(TurnInput(message="hi", turn_id="t1", companions=(row,)))
        await session.result("t1")
    (held,) = await store.ledger.claim("host-x", ("slack",), NOW, Millis(60_000), 1)
    receipt = Receipt(
        delivery=held.id,
        token=held.token,
        satisfied=0,
        state="dead",
        seq=0,
        error="is_archived: the channel is archived",
        revive_on="installation:T1",
    )
    await store.ledger.settle(receipt)
    await store.close()
    return held.id


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    made = Shell(tmp_path, GATEWAY_AGENT=str(ROOT / "agent"))
    (tmp_path / ".gateway").mkdir()
    return made


@pytest.fixture
def number(shell: Shell) -> int:
    return asyncio.run(fill(shell.folder / ".gateway" / "gateway.db"))


@pytest.mark.timeout(90)
def test_a_dead_letter_is_listed_shown_and_retried(shell: Shell, number: int) -> None:
    (row,) = shell.ok("deliveries", "list", "--state", "dead", "--json").list
    assert (row["id"], row["state"], row["turn_id"]) == (number, "dead", "t1")
    line = shell.ok("deliveries").out
    assert line.startswith(f"{number}\tslack\tt1\treply\tdead\t")
    assert "is_archived" in line
    shown = shell.ok("deliveries", "show", str(number)).out
    for told in ("the channel is archived", "installation:T1", "goes to     slack: C1/1.2"):
        assert told in shown
    assert f"gateway deliveries retry {number}" in shown
    assert "due again" in shell.ok("deliveries", "retry", str(number)).out
    assert shell.ok("deliveries", "show", str(number), "--json").object["state"] == "due"
    assert shell.ok("deliveries", "list", "--state", "dead", "--json").list == []


@pytest.mark.timeout(90)
def test_what_cant_be_done_says_why_and_what_instead(shell: Shell, number: int) -> None:
    shell.ok("deliveries", "retry", str(number))
    again = shell.run("deliveries", "retry", str(number), "--json")
    assert again.code == Exit.CONFLICT
    assert again.error["code"] == "not_dead"
    assert again.error["fix"] == f"gateway deliveries show {number}"
    for verb in ("show", "retry"):
        missing = shell.run("deliveries", verb, "999", "--json")
        assert missing.code == Exit.NOT_FOUND
        assert missing.error["fix"] == "gateway deliveries list"
    assert shell.run("deliveries", "show", "x").code == Exit.USAGE


@pytest.mark.timeout(90)
def test_a_turn_is_found_by_the_reference_that_people_are_told(shell: Shell, number: int) -> None:
    assert number
    found = shell.ok("turns", "show", reference_of("t1"), "--json").object
    assert found["turn_id"] == "t1"


@pytest.mark.timeout(90)
def test_a_host_is_asked_while_one_runs(shell: Shell, number: int) -> None:
    with Serving(shell):
        (row,) = shell.ok("deliveries", "--state", "dead", "--json").list
        assert row["id"] == number
        assert shell.ok("deliveries", "retry", str(number), "--json").object["state"] == "due"
        again = shell.run("deliveries", "retry", str(number), "--json")
        assert (again.code, again.error["code"]) == (Exit.CONFLICT, "not_dead")
        assert again.error["fix"] == f"gateway deliveries show {number}"
        missing = shell.run("deliveries", "show", "999", "--json")
        assert (missing.code, missing.error["fix"]) == (Exit.NOT_FOUND, "gateway deliveries list")


def shown(row: JsonObject) -> str:
    printed = io.StringIO()
    _tell(Out(stdout=printed), row)
    return printed.getvalue()


def test_what_never_came_to_be_is_not_shown() -> None:
    parts: list[Json] = [
        {"kind": "text", "state": "gone", "ref": None},
        {"kind": "stream", "state": "gone", "ref": "slack:T1:C1:1.3"},
        {"kind": "text", "state": "final", "ref": "slack:T1:C1:1.4"},
    ]
    said = shown({"id": 7, "state": "done", "parts": parts})
    assert "text -" not in said
    assert "stream slack:T1:C1:1.3 gone" in said
    assert "text slack:T1:C1:1.4 final" in said


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ({"installation": "T1", "channel": "C1", "thread_ts": "1.2", "user": "U1"}, "C1/1.2 in T1"),
        ({"source": "slack", "address": "C0123"}, "C0123"),
        ({"mailbox": "a", "folder": "b"}, "mailbox=a, folder=b"),
    ],
)
def test_where_it_goes_is_told_as_a_place(target: JsonObject, told: str) -> None:
    assert f"goes to     slack: {told}\n" in shown({"source": "slack", "target": target})
