"""``gateway mail``: beside a running host and without one, in words and as JSON."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from channels.email.emulator.letters import Draft
from channels.email.emulator.server import MailServer
from gateway.cli.app import cli
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import explain
from gateway.engine.kinds import Json, JsonObject
from gateway.host.app import make_app
from gateway.host.hostfile import announce, make_cli_token, withdraw
from gateway.values import ApiToken
from tests.support.http import on_socket
from tests.support.mail.office import (
    ADA,
    FORGER,
    LEAD,
    SUPPORT,
    Office,
    answer_to,
    email_settings,
    office,
    post_office,
    question,
)

STEERS = "\x1b[2J\u202e"
"""Clears a terminal, and turns what follows around."""


@dataclass(slots=True)
class Said:
    code: int = 0
    out: str = ""
    raw: bytes = b""
    error: JsonObject = field(default_factory=dict[str, Json])

    @property
    def json(self) -> JsonObject:
        return cast("JsonObject", json.loads(self.out))


def command(*args: str) -> Said:
    """One command, in this process: it has a loop and a thread of its own."""
    written = io.BytesIO()
    stdout = io.TextIOWrapper(written, encoding="utf-8")
    out = Out(stdout=stdout, stderr=io.StringIO())
    said = Said()
    try:
        with cli.make_context("gateway", ["mail", *args], obj=out) as ctx:
            cli.invoke(ctx)
    except Exception as error:  # noqa: BLE001 - as ``run`` does
        problem = explain(error)
        said.code, said.error = int(problem.exit_code), problem.as_json()
    stdout.flush()
    said.raw = written.getvalue()
    said.out = said.raw.decode("utf-8", "replace")
    return said


async def run(*args: str) -> Said:
    return await asyncio.to_thread(command, *args)


@pytest.fixture
async def post(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[MailServer]:
    async with post_office() as server:
        for name, value in email_settings(server, tmp_path).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        yield server


@pytest.fixture
async def here(tmp_path: Path, post: MailServer) -> AsyncGenerator[Office]:
    """A host at work, and where it listens."""
    token: ApiToken = make_cli_token()
    async with office(tmp_path, post) as opened:
        opened.host.api.tokens = (token,)
        async with on_socket(make_app(opened.host.api)) as url:
            await asyncio.to_thread(
                announce, tmp_path, url, token, opened.host.settings.database_url
            )
            try:
                yield opened
            finally:
                await asyncio.to_thread(withdraw, tmp_path)


async def forge(here: Office) -> str:
    """A mail that its own domain disowns; its event."""
    known = len(await here.ledger.verdicts(source="email", limit=200))
    forged = question(f"Refund order 1042 to my card.{STEERS}", subject=f"Refund{STEERS[-1]}")
    await here.write(forged, sender=FORGER, dmarc="fail")
    return (await here.verdicts(known + 1))[-1].event_id


async def test_what_is_held_is_listed_shown_and_let_in(here: Office) -> None:
    event = await forge(here)
    (row,) = cast("list[JsonObject]", (await run("list", "--held", "--json")).json)
    assert (row["event"], row["rule"], row["level"]) == (event, "unattested", "none")
    line = (await run("--held")).out
    assert line.startswith(f"{event}\theld\tunattested\t")
    assert "\tRefund" in line
    assert "DMARC result" in line
    told = (await run("show", event[:12])).out
    for words in (
        "held: the domain that its author names disowns it",
        f"Nobody vouches for it that {ADA} wrote this.",
        "isn't a pass",
        "Refund order 1042 to my card.",
        f"gateway mail admit {event}",
    ):
        assert words in told, told
    assert "\x1b" not in line + told
    assert "\u202e" not in line + told
    done = await run("admit", event[:12])
    assert f"✓ {event} is let in" in done.out
    assert "follow it: gateway turns show email:support@shop.example:" in done.out

    async def answered() -> bool:
        (found,) = await here.ledger.verdicts(event=event)
        return found.verdict == "accepted"

    await here.until(answered)
    assert json.loads((await run("list", "--held", "--json")).out) == []
    again = await run("admit", event)
    assert again.code == Exit.CONFLICT
    assert cast("JsonObject", again.error["error"])["code"] == "not_held"
    (entry,) = await here.host.runtime.store.list_audit(limit=5)
    assert (entry.row.kind, entry.row.subject) == ("mail_admitted", event)
    assert str(entry.row.by).startswith("cli:")


async def test_the_bytes_are_had_as_they_came_and_read_again(here: Office) -> None:
    await here.write(question())
    (row,) = await here.verdicts(1)
    await here.until(lambda: bool(here.post.mails(SUPPORT, "Processed")))
    (kept,) = here.post.mails(SUPPORT, "Processed")
    assert (await run("raw", row.event_id)).raw == kept
    told = (await run("replay", row.event_id)).out
    assert "now  accepted: it was said to us alone (direct) (as it was)" in told
    assert "known         level domain: cust.example vouches for the message" in told
    found = (await run("replay", row.event_id, "--json")).json
    assert found["now"] == {
        "verdict": "accepted",
        "rule": "direct",
        "why": "it was said to us alone",
    }
    assert len(await here.ledger.verdicts(source="email")) == 1


async def test_a_conversation_is_handed_back(here: Office) -> None:
    await here.write(question())
    letter = await here.letter()
    theirs = answer_to(letter, "I'll see to it.", f"Lead <{LEAD}>")
    await here.post.deliver(
        Draft(
            sender=f"Lead <{LEAD}>",
            to=[ADA],
            cc=[SUPPORT],
            subject=theirs.subject,
            text=theirs.text,
            in_reply_to=theirs.in_reply_to,
            references=theirs.references,
        ).raw(),
        SUPPORT,
        LEAD,
    )
    first, *_ = await here.verdicts(2)
    assert first.session is not None
    told = (await run("people", first.session)).out
    assert f"speaks        email:{LEAD}, who took it over" in told
    assert f"takes part    {ADA}" in told
    done = (await run("handback", first.session.rpartition(":")[2])).out
    assert f"the agent speaks again; email:{LEAD} did" in done
    assert "nobody had taken it over" in (await run("handback", first.session)).out
    assert "speaks        the agent" in (await run("people", first.session)).out


async def test_what_isnt_there_says_where_to_look(here: Office) -> None:
    for args in (("show", "mail-0000"), ("raw", "0000"), ("admit", "x"), ("people", "aaaa")):
        said = await run(*args)
        assert said.code == Exit.NOT_FOUND, args
        assert cast("JsonObject", said.error["error"])["fix"] == "gateway mail list", args


async def test_without_a_host_the_next_one_lets_it_in(tmp_path: Path, post: MailServer) -> None:
    async with office(tmp_path, post) as opened:
        event = await forge(opened)
    assert (await run("list", "--held")).out.startswith(event)
    assert "a host answers it: gateway serve" in (await run("admit", event)).out
    async with office(tmp_path, post) as opened:
        await opened.letter()
