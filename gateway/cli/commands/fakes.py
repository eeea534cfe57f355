"""``gateway fakes``: stand-ins for other people's services, on this machine only."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from contextlib import suppress

import click

from gateway.cli.base import Group, pass_out
from gateway.cli.dotenv import DOTENV
from gateway.cli.out import Out
from gateway.cli.problem import Problem
from gateway.config import Settings


@click.group(cls=Group, short_help="Run stand-ins for outside services.")
def fakes() -> None:
    """Stand-ins for services that cost money or need an account."""


@fakes.command("start")
@click.argument("service", type=click.Choice(["model", "slack", "mail"]))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="A free one by default; of mail, IMAP's.",
)
@click.option("--events", metavar="URL", help="Where slack sends events; a socket by default.")
@pass_out
def start(out: Out, service: str, port: int, events: str | None) -> None:
    """Run a stand-in until Ctrl-C.

    ``model`` is a model API that answers by itself and refuses what the real one refuses.
    ``slack`` is a workspace with ada in it and the app june, which people and apps can talk in.
    ``mail`` is a mail server with an inbox, support@shop.example, and ada@cust.example, who writes to it.
    What uses one of these has to keep its data in a database of its own: DATABASE_URL, as it says.
    """
    if events is not None and service != "slack":
        raise Problem(
            "usage",
            "--events is for slack only",
            fix=f"gateway fakes start {service}",
            exit_code=2,
        )
    try:
        match service:
            case "slack":
                asyncio.run(_slack(out, port, events))
            case "mail":
                asyncio.run(_mail(out, port))
            case _:
                asyncio.run(_model(out, port))
    except OSError as error:
        raise Problem(
            "port",
            f"can't listen on port {port}: {error.strerror or error}",
            fix=f"gateway fakes start {service}",
        ) from error


async def _model(out: Out, port: int) -> None:
    from gateway.testing.fake_anthropic import FakeAnthropic

    stop = _told_to_stop()
    async with FakeAnthropic(port=port) as fake:
        if out.json:
            out.record({"service": "model", "url": fake.url})
        else:
            out.say(("✓ ", "green"), f"the fake model API answers on {fake.url}")
            settings = {"ANTHROPIC_BASE_URL": fake.url, "ANTHROPIC_API_KEY": "fake"}
            _use(out, settings, "gateway chat")
        out.stdout.flush()
        await stop.wait()


async def _slack(out: Out, port: int, events: str | None) -> None:
    from channels.slack.emulator import fresh_ids
    from gateway.playground.database import claim
    from gateway.playground.running import own_settings, slack_secrets
    from gateway.testing.slack import SlackEmulator, furnish

    stop = _told_to_stop()
    settings = own_settings(Settings.load(dotenv=DOTENV))
    async with SlackEmulator(port=port, beside=slack_secrets(settings)) as slack:
        slack.world.ids_after = fresh_ids()  # the database remembers what the last one sent
        await claim(settings)
        stage = furnish(slack)
        app = slack.app()
        app.socket, app.request_url = events is None, events or ""
        use = {**stage.settings, "DATABASE_URL": settings.database_url}
        if out.json:
            out.record(
                {
                    "service": "slack",
                    "url": slack.url,
                    "settings": {**use},
                    "control": {"url": f"{slack.url}/_control", "secret": slack.control_secret},
                    "user": stage.ada.id,
                    "channel": stage.support.id,
                    "bot": stage.june.user,
                }
            )
        else:
            out.say(("✓ ", "green"), f"the Slack emulator answers on {slack.api_url}")
            _use(out, use, "gateway dev")
            out.say("  To write in #support as ada:")
            said = (
                f'{{"user": "{stage.ada.id}", "channel": "{stage.support.id}", "text": "@june hi"}}'
            )
            out.say(f"    curl -H 'Authorization: Bearer {slack.control_secret}' \\")
            out.say(f"      -d '{said}' {slack.url}/_control/say")
        out.stdout.flush()
        await stop.wait()


async def _mail(out: Out, port: int) -> None:
    from channels.email.emulator.server import MailServer, Ports
    from gateway.playground.database import claim
    from gateway.playground.mail.office import ADA, SUPPORT, furnish_mail
    from gateway.playground.running import lent_key, mail_secrets, own_settings

    stop = _told_to_stop()
    settings = own_settings(Settings.load(dotenv=DOTENV))
    async with MailServer(ports=Ports(imap=port), beside=mail_secrets(settings)) as post:
        await claim(settings)
        office = furnish_mail(post)
        key = await lent_key(settings)
        use = {**office.settings, **key, "DATABASE_URL": settings.database_url}
        world, ada = f"smtp://{post.host}:{post.ports.mx}", post.user(ADA.address)
        hers = {
            "address": ada.address,
            "password": ada.password,
            "imap": f"imap://{post.host}:{post.ports.imap}/INBOX",
            "smtp": f"smtp://{post.host}:{post.ports.submission}",
        }
        if out.json:
            out.record({"service": "mail", "settings": {**use}, "world": world, "ada": {**hers}})
        else:
            out.say(
                ("✓ ", "green"), f"the mail server answers on {post.host}: {SUPPORT} is its inbox"
            )
            _use(out, use, "gateway dev")
            out.say(f"  To write to it as {ada.address}, and to read what comes:")
            said = rf"From: {ada.address}\nTo: {SUPPORT}\nSubject: Hello\n\nhi\n"
            out.say(f"    printf '{said}' |")
            out.say(
                f"      curl --crlf -sT - {world} --mail-from {ada.address} --mail-rcpt {SUPPORT}"
            )
            out.say(f"    curl -u {ada.address}:{ada.password} '{hers['imap']};MAILINDEX=1'")
        out.stdout.flush()
        await stop.wait()


def _told_to_stop() -> asyncio.Event:
    """An event that Ctrl-C and SIGTERM set."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    return stop


def _use(out: Out, settings: Mapping[str, str], command: str) -> None:
    out.say("  To use it, in another terminal:")
    out.say("    export " + " ".join(f"{name}={value}" for name, value in settings.items()))
    out.say(f"    {command}")
