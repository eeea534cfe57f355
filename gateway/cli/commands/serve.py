"""``gateway serve``: the host, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.config import Settings


@click.command(cls=Command, short_help="Run the host.")
@click.option("--host", metavar="ADDRESS", help="Where to listen (GATEWAY_HOST).")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one (PORT).")
@pass_out
def serve(out: Out, host: str | None, port: int | None) -> None:
    """Serve the agent over HTTP. SIGTERM drains: running steps finish, the next start goes on.

    Needs GATEWAY_API_TOKEN. Reads no ``.env``: that is for development.
    """
    settings = Settings.load()
    if problems := settings.serve_problems():
        raise Problem(
            "config",
            problems[0],
            fix="export GATEWAY_API_TOKEN=$(openssl rand -hex 24)",
        )
    if host is not None:
        settings = replace(settings, host=host)
    if port is not None:
        settings = replace(settings, port=port)
    host_until_told(out, settings)


def host_until_told(out: Out, settings: Settings) -> None:
    """Run a host with these settings until a signal ends it."""
    from gateway.host.serving import Serving
    from gateway.host.serving import serve as run
    from gateway.log import configure

    configure(
        style="json" if out.json else "auto",
        level=logging.DEBUG if out.debug else logging.INFO,
        secrets=settings.secrets,
        stream=out.stderr,
    )

    def ready(url: str) -> None:
        if out.json:
            out.record({"event": "ready", "url": url})
        else:
            out.say(("✓ ", "green"), f"gateway serves on {url}")
        out.stdout.flush()

    code = asyncio.run(run(settings, Serving(ready=ready)))
    if code:
        raise Finished(Exit(code))
