"""``gateway fakes``: stand-ins for other people's services, on this machine only."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress

import click

from gateway.cli.base import Group, pass_out
from gateway.cli.out import Out
from gateway.cli.problem import Problem


@click.group(cls=Group, short_help="Run stand-ins for outside services.")
def fakes() -> None:
    """Stand-ins for services that cost money or need an account."""


@fakes.command("start")
@click.argument("service", type=click.Choice(["model"]))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="A free one by default.")
@pass_out
def start(out: Out, service: str, port: int) -> None:
    """Run a stand-in until Ctrl-C.

    ``model`` is a model API that answers by itself and refuses what the real one refuses.
    """
    from gateway.testing.fake_anthropic import FakeAnthropic

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, stop.set)
        try:
            async with FakeAnthropic(port=port) as fake:
                _told(out, service, fake.url)
                await stop.wait()
        except OSError as error:
            raise Problem(
                "port",
                f"can't listen on port {port}: {error.strerror or error}",
                fix=f"gateway fakes start {service}",
            ) from error

    asyncio.run(run())


def _told(out: Out, service: str, url: str) -> None:
    if out.json:
        out.record({"service": service, "url": url})
        return
    out.say(("✓ ", "green"), f"the fake {service} API answers on {url}")
    out.say("  To use it, in another terminal:")
    out.say(f"    export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY=fake")
    out.say("    gateway chat")
    out.stdout.flush()
