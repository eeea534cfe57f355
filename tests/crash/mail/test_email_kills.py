"""A real host is killed at whatever step of IMAP or SMTP it takes: started again, each mail is answered once
and put away, and a refund is paid once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from channels.email.emulator.letters import Draft
from tests.crash.mail.hosts import ASKED, Kill, MailWorld, mail_world
from tests.journeys.slack_stage import altered
from tests.support.mail.office import ADA, SUPPORT

pytestmark = [pytest.mark.crash, pytest.mark.timeout(150)]

LETTERS = {"question": 1, "refund": 2}
MOMENTS = ("lost", "carried out")
SENT = {"smtp:END", "smtp:QUIT"}
"""The server has the letter, and the host hadn't written that down: the very same one goes once more."""
ENDING = """
import os
import signal

from channels.email import mailroom

_reads = mailroom.read


def _read(raw):
    if b"X-Poison" in raw:
        os.kill(os.getpid(), signal.SIGKILL)
    return _reads(raw)


mailroom.read = _read
"""
HANGING = """
import time

from channels.email import mailroom

_reads = mailroom.read


def _read(raw):
    while b"X-Poison" in raw:
        time.sleep(0.01)
    return _reads(raw)


mailroom.read = _read
mailroom.PATIENCE = 2.0
"""
SEED = 11
STEPS = 16
"""Of a mailbox that is read and a letter that is sent, at least."""


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[MailWorld]:
    async with mail_world(tmp_path) as world:
        yield world


@pytest.fixture
async def on_postgres(tmp_path: Path, postgres_url: str) -> AsyncGenerator[MailWorld]:
    async with mail_world(tmp_path, postgres_url) as world:
        yield world


async def killed(on: MailWorld, name: str, kill: Kill) -> None:
    tell = kill.watcher(on)
    on.steps.told.append(tell)
    try:
        raw, arrived = await on.play(name)
    finally:
        on.steps.told.remove(tell)
        on.post.faults.repair()
    told = f"{kill} of {name}"
    times = Counter(arrived)
    assert len({message_id for message_id, _ in times}) == len(times) == LETTERS[name], told
    most = 2 if kill.at in SENT else 1
    assert max(times.values()) <= most, told
    assert (await on.verdicts(raw)).count("accepted") == 1, told
    assert on.post.mails(SUPPORT, "Quarantine") == [], told


async def sample(on: MailWorld, name: str) -> None:
    """Killed in one of the steps that every journey has."""
    draw = random.Random(f"{SEED} {name}")  # noqa: S311 - the same every time is the point
    kill = Kill(draw.randint(1, STEPS), draw.choice(MOMENTS))
    await killed(on, name, kill)
    assert kill.at


async def test_killed_at_one_step_a_refund_is_paid_and_told_of_once(on: MailWorld) -> None:
    """A sample; the tests below are all of it."""
    await sample(on, "refund")


@pytest.mark.postgres
async def test_killed_at_one_step_on_postgres_a_question_is_answered_once(
    on_postgres: MailWorld,
) -> None:
    await sample(on_postgres, "question")


async def every(on: MailWorld, name: str, moment: str) -> None:
    await on.play(name)
    nth = 0
    while True:
        nth += 1
        kill = Kill(nth, moment)
        await killed(on, name, kill)
        if not kill.at:
            break
    assert nth > 12


@pytest.mark.slow
@pytest.mark.parametrize("reads", [ENDING, HANGING], ids=["ends the process", "never ends"])
async def test_a_mail_that_is_never_read_is_tried_three_times_over_kills(
    tmp_path: Path, reads: str
) -> None:
    imported = "from channels.protocol import Channel\n"
    agent = altered(tmp_path, "channels/email.py", imported, imported + reads)
    async with mail_world(tmp_path, GATEWAY_AGENT=str(agent)) as on:
        draft = Draft(sender=ADA, to=[SUPPORT], subject="x", text="x", more={"X-Poison": "yes"})
        await on.post.deliver(draft.raw(), SUPPORT, ADA)
        first = on.host.pid
        if reads == HANGING:
            await on.until(lambda: "imap:FETCH" in on.steps.met)
            await asyncio.sleep(0.5)  # it hangs by now, or is just about to
            on.host.kill()
        _, arrived = await on.play("question")
        assert on.host.pid != first
        assert len(arrived) == 1
        await on.until(lambda: bool(on.post.mails(SUPPORT, "Quarantine")))
        (poison,) = on.post.mails(SUPPORT, "Quarantine")
        assert b"X-Poison" in poison
        assert await on.verdicts(poison) == ["unsupported"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", ASKED)
async def test_killed_at_every_step(on: MailWorld, name: str, moment: str) -> None:
    await every(on, name, moment)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(900)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("name", ASKED)
async def test_killed_at_every_step_on_postgres(
    on_postgres: MailWorld, name: str, moment: str
) -> None:
    await every(on_postgres, name, moment)
