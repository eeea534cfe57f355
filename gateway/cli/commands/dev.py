"""``gateway dev``: a host to play with, on this machine, without a key or an account."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.serve import host_until_told
from gateway.cli.dotenv import DOTENV
from gateway.cli.out import Out
from gateway.config import Settings
from gateway.values import Secret

if TYPE_CHECKING:
    from gateway.playground.mail.dovecot import Choice


@click.command(cls=Command, short_help="Run a host to play with.")
@click.option("--live", is_flag=True, help="Use the agent's own model; needs its key.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one (PORT).")
@click.option(
    "--mail",
    type=click.Choice(["auto", "embedded", "dovecot"]),
    default="auto",
    help="Who has the support inbox: Dovecot, where it is installed and starts, or the embedded server.",
)
@pass_out
def dev(out: Out, live: bool, port: int | None, mail: Choice) -> None:
    """Serve the agent on loopback, with a Slack and a mail server of its own to talk to it in, the
    scripted model and a token of its own.

    Both are pages, at /playground. Or from another terminal: ``gateway chat``, ``gateway
    approvals``. What is saved in the agent directory, the next turn runs on. Reads ``.env``; keeps its
    data in a database of its own, and doesn't run beside a real workspace's secrets or a real mailbox.
    """
    settings = Settings.load(dotenv=DOTENV)
    if settings.api_token is None:
        settings = replace(settings, api_token=Secret(secrets.token_urlsafe(24)))
    if not live:
        settings = replace(settings, model="scripted")
    if port is not None:
        settings = replace(settings, port=port)
    settings = replace(settings, host="127.0.0.1")
    from gateway.host.compose import load
    from gateway.playground.doors import HOME
    from gateway.playground.running import beside_emulator, mail_secrets, play, slack_secrets

    # What is wrong with the agent comes before a port is taken or a file made.
    channels = load(settings).channels
    # An emulator that runs elsewhere is used; its page isn't ours to draw.
    if slack_secrets(settings) or mail_secrets(settings):
        host_until_told(out, settings, local=True, run=beside_emulator)
    else:
        pages = {
            f"talk to it in its own Slack{_first('slack', channels)}": HOME,
            f"write to its support inbox{_first('email', channels)}": f"{HOME}/mail",
        }
        host_until_told(out, settings, local=True, run=partial(play, mail=mail), pages=pages)


def _first(channel: str, channels: Collection[str]) -> str:
    """Nobody answers on a page whose channel the agent doesn't have."""
    return "" if channel in channels else f", after gateway add channel {channel}"
