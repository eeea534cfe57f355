"""One fault each between the gateway and its inbox: found, by its own name, with the exact way out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from channels.email.emulator.faults import Fault
from channels.email.emulator.imap import session
from channels.email.emulator.server import MailServer
from gateway.cli.doctor.examine import examine
from gateway.cli.doctor.finding import Area, Finding
from gateway.config import Settings
from gateway.engine.kinds import Millis
from gateway.host.app import make_app
from gateway.host.compose import open_host
from gateway.host.hostfile import announce, make_cli_token, withdraw
from tests.support.cli import TOKEN
from tests.support.http import on_socket
from tests.support.mail.office import (
    ADA,
    FORGER,
    SUPPORT,
    Office,
    email_settings,
    post_office,
    question,
)

AREAS: tuple[Area, ...] = ("email",)


@dataclass(slots=True)
class Ward:
    """A mailbox that is well: it has heard of a reply, and its border is known."""

    folder: Path
    post: MailServer
    changes: dict[str, str] = field(default_factory=dict[str, str])

    def settings(self) -> Settings:
        served = {"GATEWAY_API_TOKEN": TOKEN, "PORT": "0"}
        read = {**email_settings(self.post, self.folder, **served), **self.changes}
        return Settings.load({k: v for k, v in read.items() if v}, toml_path=None)

    async def look(self, *, online: bool = True, probe: bool = False) -> Mapping[str, Finding]:
        settings, areas = self.settings(), AREAS
        found = await examine(settings, areas, online=online, probe=probe)
        assert len({one.id for one in found}) == len(found), found
        return {one.id: one for one in found}

    async def only(
        self,
        id: str,  # noqa: A002
        changes: Mapping[str, str] | None = None,
        *,
        probe: bool = False,
    ) -> Finding:
        self.changes.update(changes or {})
        found = await self.look(probe=probe)
        assert [*found] == [id], found
        return found[id]

    def url(self, name: str, old: str, new: str) -> dict[str, str]:
        given = email_settings(self.post, self.folder)[name]
        assert old in given
        return {name: given.replace(old, new)}

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[Office]:
        token, settings = make_cli_token(), self.settings()
        async with (
            open_host(settings, tokens=(token,), works=True) as host,
            on_socket(make_app(host.api)) as url,
        ):
            await asyncio.to_thread(announce, settings.state, url, token, settings.database_url)
            try:
                yield Office(self.post, host)
            finally:
                await asyncio.to_thread(withdraw, settings.state)


@pytest.fixture
async def ward(tmp_path: Path) -> AsyncGenerator[Ward]:
    async with post_office() as post:
        await post.deliver(question(to=["support+abc@shop.example"]).raw(), SUPPORT, ADA)
        await post.deliver(question("And now?").raw(), SUPPORT, ADA)
        yield Ward(tmp_path, post)


async def test_nothing_is_said_of_an_inbox_that_is_well_and_nothing_changed(ward: Ward) -> None:
    assert await ward.look() == {}
    assert len(ward.post.mails(SUPPORT)) == 2
    assert ward.post.journal.handed == []
    async with ward.served() as here:
        await here.until(lambda: here.channel.standing[1]["at"] is not None)
        assert await ward.look() == {}


Change = Callable[[Ward], dict[str, str]]
SETTINGS: dict[str, tuple[Change, str, str, str]] = {
    "user or password, IMAP": (
        lambda w: w.url("EMAIL_IMAP_URL", ":emulated", ":wrong"),
        "email.login",
        "the mail server refuses the password of support@shop.example",
        "Set user and password in EMAIL_IMAP_URL",
    ),
    "no such host": (
        lambda w: w.url("EMAIL_IMAP_URL", f":{w.post.ports.imap}/", ":9/"),
        "email.imap",
        "127.0.0.1:9 can't be reached",
        "See that host, port and TLS in EMAIL_IMAP_URL",
    ),
    "no such folder": (
        lambda w: w.url("EMAIL_IMAP_URL", "/INBOX", "/Nowhere"),
        "email.folder",
        "the mailbox Nowhere can't be opened",
        "Have EMAIL_IMAP_URL end with the folder's name",
    ),
    "user or password, SMTP": (
        lambda w: w.url("EMAIL_SMTP_URL", ":emulated", ":wrong"),
        "email.smtp_login",
        "the mail server refuses user and password",
        "Set user and password in EMAIL_SMTP_URL",
    ),
    "no TLS": (
        lambda w: w.url("EMAIL_SMTP_URL", "smtp://", "smtps://"),
        "email.tls",
        "speaks no TLS",
        "Have EMAIL_SMTP_URL say how",
    ),
    "nobody listens": (
        lambda w: w.url("EMAIL_SMTP_URL", f":{w.post.ports.submission}", ":9"),
        "email.smtp",
        "the connection was lost while connecting",
        "See that host and port in EMAIL_SMTP_URL",
    ),
    "no border": (
        lambda _: {"EMAIL_BORDER_HOST": "", "EMAIL_AUTHSERV_ID": ""},
        "email.border",
        "the newest mails have results by mx.shop.example, above a Received line by mx.shop.example",
        "export EMAIL_AUTHSERV_ID=mx.shop.example EMAIL_BORDER_HOST=mx.shop.example",
    ),
    "another border": (
        lambda _: {"EMAIL_BORDER_HOST": "mx.elsewhere.example"},
        "email.border",
        "none of the newest 2 has a Received line by it",
        "export EMAIL_AUTHSERV_ID=mx.shop.example EMAIL_BORDER_HOST=mx.shop.example",
    ),
    "no border of what is handed over": (
        lambda _: {"EMAIL_LISTEN": "lmtp://127.0.0.1:2400"},
        "email.listen_border",
        "EMAIL_LISTEN is lmtp://127.0.0.1:2400",
        "set EMAIL_LISTEN_BORDER_HOST",
    ),
    "another name": (
        lambda _: {"EMAIL_AUTHSERV_ID": "results.elsewhere.example"},
        "email.authserv",
        "the newest mails have results by mx.shop.example",
        "export EMAIL_AUTHSERV_ID=mx.shop.example EMAIL_BORDER_HOST=mx.shop.example",
    ),
    "a long name": (
        lambda _: {"EMAIL_ADDRESS": "customer-support-desk@shop.example"},
        "email.address",
        "customer-support-desk has 21",
        "export EMAIL_ADDRESS=support@shop.example",
    ),
    "a day that is none": (
        lambda _: {"EMAIL_SINCE": "yesterday"},
        "email.settings",
        "EMAIL_SINCE is 'yesterday'",
        "Set EMAIL_SINCE=2026-01-31",
    ),
    "something missing": (
        lambda _: {"EMAIL_SMTP_URL": ""},
        "email.settings",
        "nothing is set of EMAIL_SMTP_URL",
        "Set EMAIL_SMTP_URL",
    ),
}


@pytest.mark.parametrize("fault", SETTINGS)
async def test_a_setting_that_is_wrong(ward: Ward, fault: str) -> None:
    change, name, evidence, fix = SETTINGS[fault]
    found = await ward.only(name, change(ward))
    assert evidence in found.evidence
    assert fix in f"{found.fix.text} {found.fix.command}"
    account = ward.post.accounts.find(SUPPORT)
    assert account is not None
    assert account.password not in str(found.as_json())


async def test_a_server_that_lets_us_write_as_nobody(ward: Ward) -> None:
    ward.post.faults.add(Fault("refuse", "smtp:MAIL", count=None))
    found = await ward.only("email.sender")
    assert found.title == "the mail server doesn't let us write as support@shop.example"
    assert "550 5.7.1" in found.evidence


async def test_a_server_that_cant_move(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    able = session.CAPABILITIES.replace(" MOVE", "")
    monkeypatch.setattr(session, "CAPABILITIES", able)
    assert (await ward.only("email.move")).severity == "warning"


async def test_whether_plus_addresses_arrive_is_found_out_by_one_mail(ward: Ward) -> None:
    account = ward.post.accounts.find(SUPPORT)
    assert account is not None
    account.inbox.remove(list(account.inbox.mails)[:1])
    found = await ward.only("email.plus")
    assert (found.severity, found.fix.command) == ("warning", "gateway doctor email --probe")
    assert ward.post.journal.handed == [], "nothing is sent that wasn't asked for"
    assert await ward.look(probe=True) == {}
    (sent,) = ward.post.journal.handed
    assert sent.recipients[0].startswith("support+doctor")


def _lost(*_: object) -> None:
    return


async def test_plus_addresses_that_are_lost(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.cli.doctor.looks.mail.ARRIVES", 0.2)
    monkeypatch.setattr(ward.post, "_keep", _lost)
    found = await ward.only("email.plus", probe=True)
    assert found.severity == "error"
    assert "recipient_delimiter = +" in found.fix.text


async def test_mail_in_quarantine(ward: Ward) -> None:
    account = ward.post.accounts.find(SUPPORT)
    assert account is not None
    account.create("Quarantine").add(b"\x00", Millis(0))
    found = await ward.only("email.quarantine")
    assert found.title == "1 mail couldn't be read, and nobody was answered"


async def test_mail_that_is_held_and_a_channel_that_is_down(ward: Ward) -> None:
    async with ward.served() as here:
        await here.write(question("Refund it.", subject="x"), sender=FORGER, dmarc="fail")
        await here.verdicts(3)
        found = await ward.only("email.held")
        assert found.fix.command == "gateway mail list --held"
        assert (await ward.look(online=False))["email.held"].title == "1 mail held for an operator"
        here.channel.ingress.problem = "Postmark sends fields alone"
        down = (await ward.look(online=False))["email.down"]
        assert down.evidence == "the host says: Postmark sends fields alone"


async def test_a_mailbox_that_another_host_reads(ward: Ward) -> None:
    async with ward.served() as here:
        await here.until(lambda: here.channel.standing[1]["at"] is not None)
        await here.channel.stop()
        assert await here.ledger.hold(f"email:{SUPPORT}", "another", Millis(60_000))
        found = await ward.only("email.lease")
        assert "another host reads it now" in found.evidence
