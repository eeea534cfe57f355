"""What is kept of an event is the event; and of what wasn't said to us nothing is kept but ids."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from channels.contract import MISSING, Control, FileRef, Ignored, Parsed
from channels.slack.parse import parse
from gateway.engine.kinds import Millis
from gateway.engine.records import Held
from gateway.engine.wire import UnknownWireVersion
from gateway.intake.stored import Kept, Saying, body_of, kind_of, stored_from
from tests.unit.intake.events import acted, edited, pressed, reply_to, said
from tests.unit.intake.world import Stage, stage
from tests.unit.slack.payloads import ME, NAMES, RULES, envelope

SECRET = "the-launch-code-is-0000"


@pytest.mark.parametrize(
    "kept",
    [
        said(files=(FileRef(id="F1", name="a.txt", media_type="text/plain", size=3, url="u"),)),
        said(fetch={"users": ["U2"]}, replace="speaker", pair="p", root_is_ours=True),
        pressed("req_1"),
        pressed("req_1", None),
        pressed("req_1", {"a": [1, 2.5, "x"]}, reason="so", digest="d"),
        pressed("req_1", MISSING),
        acted("stop"),
        acted("home", place=None, by=None, reply={}),
        edited(said(), "anew"),
        Saying(reply={"user": "U1"}, words="hello"),
    ],
)
def test_what_is_kept_is_what_came(kept: Kept) -> None:
    found = stored_from(body_of(kept, 3))
    assert found.kept == kept
    assert found.generation == (3 if isinstance(kept, Control) else None)


@pytest.mark.parametrize("name", [name for name in NAMES if "url_verification" not in name])
def test_every_event_that_slack_sends_can_be_kept(name: str) -> None:
    parsed = parse(envelope(name), ME, RULES)
    if isinstance(parsed, Ignored):
        return
    assert stored_from(body_of(parsed)).kept == parsed
    assert kind_of(parsed) in {"message", "answer", "control"}


def test_what_another_release_kept_is_not_guessed_at() -> None:
    with pytest.raises(UnknownWireVersion):
        stored_from('{"v":99,"kind":"message","event":{}}')
    body = body_of(said()).replace('"kind":"message"', '"kind":"prophecy"')
    with pytest.raises(ValueError, match="prophecy"):
        stored_from(body)


async def test_an_event_that_cannot_be_read_stops_no_other(here: Stage) -> None:
    await here.store.ledger.note(
        [Held(source="talk", event_id="E0", kind="message", body="{}", at=Millis(1))]
    )
    await here.receive(acted("home", "E1"))
    await here.settled("E1", "home:done")


async def test_the_text_of_what_was_not_said_to_us_is_nowhere_in_the_database(
    tmp_path: Path,
) -> None:
    """Of a channel's talk only ids are kept, also of edits and of replies in others' threads."""
    path = tmp_path / "intake.db"
    async with stage(f"sqlite:///{path}") as here:
        unaddressed: list[Parsed] = [
            said(SECRET, "1.1", addressed="none"),
            reply_to("7.7", SECRET, "1.2"),
            reply_to("7.7", SECRET, "1.3", follow="mention", root_is_ours=True),
            said(SECRET, "1.4", author="self"),
            said(SECRET, "1.5", author="bot", addressed="thread", pair="p"),
            edited(reply_to("7.7", "old", "1.6"), SECRET, event="E6"),
            edited(reply_to("7.7", "old", "1.7", follow="mention"), SECRET, event="E7"),
            edited(said("old", "1.8", addressed="none"), SECRET, event="E8"),
        ]
        for event in unaddressed:
            word = (await here.receive(event)).word
            assert word in {"not_addressed", "own_echo", "other_bot"}
        assert len(await here.store.ledger.verdicts()) == len(unaddressed)
        assert SECRET not in everything(path)


async def test_the_text_of_an_edit_is_gone_once_it_was_acted_on(tmp_path: Path) -> None:
    path = tmp_path / "intake.db"
    async with stage(f"sqlite:///{path}") as here:
        await here.receive(said("hello"))
        await here.ended("talk:T1:C1:1.1")
        await here.receive(edited(said("hello"), SECRET))
        assert SECRET in everything(path), "until then it is waited for"
        await here.settled("EvEdit", "edit:changes-nothing")
        assert SECRET not in everything(path)


def everything(path: Path) -> str:
    """Every cell of every table."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        cells = [row for table in tables for row in db.execute(f'SELECT * FROM "{table}"')]
    return repr(cells)
