"""``gateway serve``: the host, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import click

from gateway.cli.base import Command, pass_out
from gateway.cli.dotenv import DOTENV, TAKE_OVER, left_alone
from gateway.cli.exits import Exit
from gateway.cli.out import Out
from gateway.cli.problem import Finished, Problem
from gateway.config import Settings, only_in

if TYPE_CHECKING:
    from gateway.host.serving import Serving

log = logging.getLogger("gateway.host")
NO_PAGES: Mapping[str, str] = MappingProxyType({})
Run: TypeAlias = "Callable[[Settings, Serving], Coroutine[object, object, int]]"


@click.command(cls=Command, short_help="Run the host.")
@click.option("--host", metavar="ADDRESS", help="Where to listen (GATEWAY_HOST).")
@click.option("--port", type=click.IntRange(0, 65535), help="0 takes a free one (PORT).")
@pass_out
def serve(out: Out, host: str | None, port: int | None) -> None:
    """Serve the agent over HTTP. SIGTERM drains: running steps finish, the next start goes on.

    Needs GATEWAY_API_TOKEN. Reads no ``.env``: that is for development. It says which settings stand only
    there.
    """
    settings, unread = Settings.load(), only_in(DOTENV)
    if refused := refusal(settings, unread):
        raise refused
    if host is not None:
        settings = replace(settings, host=host)
    if port is not None:
        settings = replace(settings, port=port)
    host_until_told(out, settings, warning=left_alone(unread))


def refusal(settings: Settings, unread: Collection[str]) -> Problem | None:
    """Why these settings, read without ``.env``, aren't served with. ``unread`` stands only there."""
    problems = settings.serve_problems()
    if not problems:
        return None
    there = "GATEWAY_API_TOKEN" in unread
    return Problem(
        "config",
        f"{problems[0]}; it stands in .env, which serve doesn't read" if there else problems[0],
        fix=TAKE_OVER if there else "export GATEWAY_API_TOKEN=$(openssl rand -hex 24)",
    )


def host_until_told(
    out: Out,
    settings: Settings,
    *,
    local: bool = False,
    run: Run | None = None,
    pages: Mapping[str, str] = NO_PAGES,
    warning: str = "",
) -> None:
    """Run a host with these settings until a signal ends it. ``local``: its pages are for this machine
    alone, a link into them is told, and the agent is reloaded when its files change. ``run`` serves
    it, where more is to run beside; ``pages`` are what can be done there, in words, with their paths."""
    from gateway.host.serving import Serving
    from gateway.host.serving import serve as run_host
    from gateway.log import configure

    configure(
        style="json" if out.json else "auto",
        level=logging.DEBUG if out.debug else logging.INFO,
        secrets=settings.secrets,
        stream=out.stderr,
    )
    if warning:
        log.warning("%s", warning)

    def ready(url: str) -> None:
        if out.json:
            out.record({"event": "ready", "url": url})
        else:
            out.say(("✓ ", "green"), f"gateway serves on {url}")
        if pages and not out.json:
            for what, path in pages.items():
                out.say(f"  {what}: {url}{path}")
            out.say("  or from another terminal: gateway chat")
        out.stdout.flush()

    def welcome(link: str) -> None:
        if out.json:
            out.record({"event": "link", "url": link})
        else:
            out.say("  operators' pages, a link for one use within five minutes")
            out.say("  (another one: gateway users link):")
            out.say(f"  {link}")
        out.stdout.flush()

    serving = Serving(ready=ready, welcome=welcome if local else None, reload=local)
    code = asyncio.run((run or run_host)(settings, serving))
    if code:
        raise Finished(Exit(code))
