"""``gateway dev``: a host to play with, on this machine, without a key or an account."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.commands.serve import host_until_told
from gateway.cli.out import Out
from gateway.config import Settings
from gateway.values import Secret


@click.command(cls=Command, short_help="Run a host to play with.")
@click.option("--live", is_flag=True, help="Use the agent's own model; needs its key.")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one (PORT).")
@pass_out
def dev(out: Out, live: bool, port: int | None) -> None:
    """Serve the agent on loopback with the scripted model and a token of its own.

    Talk to it from another terminal: ``gateway chat``, ``gateway approvals``. Reads ``.env``.
    """
    settings = Settings.load(dotenv=Path(".env"))
    if settings.api_token is None:
        settings = replace(settings, api_token=Secret(secrets.token_urlsafe(24)))
    if not live:
        settings = replace(settings, model="scripted")
    if port is not None:
        settings = replace(settings, port=port)
    settings = replace(settings, host="127.0.0.1")
    out.note("Talk to it from another terminal: gateway chat")
    host_until_told(out, settings)
