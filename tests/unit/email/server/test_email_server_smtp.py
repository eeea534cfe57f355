"""What is handed over lies where it belongs, once, and every way to fail can be had."""

from __future__ import annotations

import asyncio
from typing import Any

import aiosmtplib
import pytest

from channels.email.emulator.faults import Fault
from channels.email.emulator.server import MailServer
from gateway.engine.errors import ConfigError
from tests.unit.email.server.conftest import ADA, SUPPORT, Post, draft

LOST = (aiosmtplib.SMTPServerDisconnected, aiosmtplib.SMTPConnectError, aiosmtplib.SMTPTimeoutError)


async def test_submitted_mail_reaches_mailboxes_here_and_is_noted_when_it_leaves(
    post: Post,
) -> None:
    raw = draft(message_id="<a1@shop.example>").raw()
    await post.send(post.support, raw, ADA, "far@away.example", sender="bounce+x@shop.example")
    [mail] = post.server.mails(ADA)
    assert mail.endswith(raw)
    assert mail.startswith(
        b"Return-Path: <bounce+x@shop.example>\r\nDelivered-To: ada@cust.example\r\n"
    )
    [left] = post.server.journal.to("far@away.example")
    assert (left.raw, left.sender) == (raw, "bounce+x@shop.example")
    [handed] = post.server.journal.kept("<a1@shop.example>")
    assert handed.recipients == (ADA, "far@away.example")
    assert handed.told.startswith("250")


async def test_dots_long_lines_and_8_bits_arrive_as_sent(post: Post) -> None:
    raw = b"Subject: x\r\n\r\n.\r\n..\r\n.a\r\n" + b"y" * 900 + b"\r\n\xe9\r\n"
    await post.send(post.support, raw, ADA)
    assert post.server.mails(ADA)[0].endswith(raw)


async def test_a_plus_address_is_the_mailbox_and_stays_readable(post: Post) -> None:
    await post.send(None, draft().raw(), "Support+tok.en@shop.example", sender=ADA)
    assert b"\r\nDelivered-To: Support+tok.en@shop.example\r\n" in post.server.mails(SUPPORT)[0]


async def test_nobody_sends_through_it_without_signing_in(post: Post) -> None:
    with pytest.raises(aiosmtplib.SMTPRecipientsRefused):
        await post.send(None, draft().raw(), "far@away.example")
    with pytest.raises(aiosmtplib.SMTPAuthenticationError):
        async with post.smtp() as client:
            await client.login(post.ada.address, "wrong")
    client = aiosmtplib.SMTP(
        hostname=post.server.host, port=post.server.ports.submission, start_tls=False, timeout=5
    )
    await client.connect()
    with pytest.raises(aiosmtplib.SMTPSenderRefused):
        await client.sendmail(ADA, [SUPPORT], draft().raw())
    client.close()
    assert post.server.journal.handed == []


@pytest.mark.parametrize(
    ("kind", "step", "code", "kept"),
    [
        ("cut_before", "smtp:CONNECT", None, 0),
        ("cut_before", "smtp:EHLO", None, 0),
        ("cut_before", "smtp:AUTH", None, 0),
        ("cut_before", "smtp:MAIL", None, 0),
        ("cut_before", "smtp:RCPT", None, 0),
        ("cut_before", "smtp:DATA", None, 0),
        ("cut_before", "smtp:END", None, 0),
        ("cut_after", "smtp:END", None, 1),
        ("mute", "smtp:END", None, 0),
        ("tempfail", "smtp:MAIL", 451, 0),
        ("tempfail", "smtp:END", 451, 0),
        ("refuse", "smtp:RCPT", 550, 0),
        ("refuse", "smtp:END", 550, 0),
        ("slow", "smtp:END", 250, 1),
    ],
)
async def test_faults(post: Post, kind: Any, step: str, code: int | None, kept: int) -> None:
    fault = post.server.faults.add(Fault(kind, step, seconds=0.01))
    raw = draft(message_id="<f@shop.example>").raw()
    told: int | None = None
    try:
        async with post.smtp(post.support) as client:
            client.timeout = 0.3 if kind == "mute" else 5
            await client.sendmail(SUPPORT, [ADA], raw)
            told = 250
    except LOST:
        pass
    except aiosmtplib.SMTPRecipientsRefused as refused:
        told = refused.recipients[0].code
    except aiosmtplib.SMTPResponseException as refused:
        told = refused.code
    assert (told, fault.struck) == (code, 1)
    assert len(post.server.journal.kept()) == kept
    assert len(post.server.mails(ADA)) == kept
    await post.send(post.support, raw, ADA)  # once was enough, and the same bytes count as the same
    assert {mail.sha256 for mail in post.server.journal.handed if mail.kept} == {
        post.server.journal.handed[-1].sha256
    }


async def test_who_waits_for_mail_gets_it_when_it_is_there(post: Post) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(post.server.arrived(ADA, 2))
        for _ in range(2):
            await post.send(post.support, draft().raw(), ADA)
    assert waiting.result() == post.server.mails(ADA)
    with pytest.raises(TimeoutError):
        await post.server.arrived(ADA, 3, within=0.01)
    assert post.ada.inbox.watchers == set()


async def test_stopping_ends_every_line_at_once(post: Post) -> None:
    async with post.smtp(post.support) as client:
        await client.execute_command(b"NOOP")
        async with asyncio.timeout(2):
            await post.server.stop()
        with pytest.raises(LOST):
            await client.execute_command(b"NOOP")
    await post.server.start()
    await post.send(post.support, draft().raw(), ADA)
    assert len(post.server.mails(ADA)) == 1


@pytest.mark.parametrize(
    ("host", "beside"),
    [("0.0.0.0", {}), ("mail.example", {}), ("127.0.0.1", {"EMAIL_PASSWORD": "a real one"})],  # noqa: S104 - refused
)
def test_it_plays_alone(host: str, beside: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        MailServer(host=host, beside=beside)


async def test_its_own_password_is_no_reason(post: Post) -> None:
    MailServer(beside={"EMAIL_PASSWORD": post.support.password, "EMAIL_OTHER": ""})
