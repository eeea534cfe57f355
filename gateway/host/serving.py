"""One host as a process: bind, run, and stop in bounded time.

SIGTERM or SIGINT drains: readiness goes, new turns are refused, readers are told, running steps
finish or are left at their checkpoint, and the next start goes on from there. A second signal ends
the process at once, which loses nothing either.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import sys
import weakref
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from aiohttp import web

from gateway.config import ROWS, Settings, SettingsError
from gateway.definition import Loaded
from gateway.engine.errors import ConfigError
from gateway.engine.limits import SYSTEM_CLOCK, Clock
from gateway.host.app import HostRunner, make_app
from gateway.host.compose import Host, open_host
from gateway.host.hostfile import announce, find_host, local_url, make_cli_token, withdraw
from gateway.host.reloading.looking import Seen, look
from gateway.host.reloading.reloader import Reloader
from gateway.host.routes.operate import stuck
from gateway.needs import CHANNEL_NEEDS, NOT_YET
from gateway.schedules.words import introduced
from gateway.values import needed

log = logging.getLogger("gateway.host")

STUCK_SECONDS = 30.0
"""A sync tool that holds the store this long ends the process: nothing else can take it back."""
CLOSE_SECONDS = 5.0
COLLECT_EVERY = (2_000, 2, 1_000)
"""Objects made before the garbage collector looks at the young ones, and how often it does so before it
looks at what outlived that. A step makes hundreds. Five times as many are looked through in 35 ms, in which
nobody is answered."""
SWITCH_SECONDS = 0.001

Die = Callable[[int], object]


@dataclass(slots=True, kw_only=True)
class Serving:
    """How a host is run. ``ready`` is told the URL once it takes requests; ``die`` ends the process
    without waiting for threads, since the one that hangs is one of them. ``reload``: what changes in
    the agent directory is taken up while it runs."""

    grace: float = 20.0
    stuck_after: float = STUCK_SECONDS
    ready: Callable[[str], object] | None = None
    welcome: Callable[[str], object] | None = None
    """Told a link for one use into the operators' pages, which are for this machine alone then."""
    furnish: Callable[[web.Application, Host], object] | None = None
    """Adds to the application before it serves: what is beside the host in this process."""
    taken_up: Callable[[Loaded], object] | None = None
    """Told of the agent directory each time that it was taken up anew."""
    die: Die = os._exit
    reload: bool = False
    clock: Clock = SYSTEM_CLOCK
    stop: asyncio.Event = field(default_factory=asyncio.Event)


def settle_process() -> None:
    """What is there once the host is set up stays until it ends: the collector needn't walk over it
    each time. Collecting is a tenth of a busy host's work otherwise. Nor does it look at all of it
    first: of what importing and loading make, next to nothing is left over. A thread that wants the
    interpreter has it soon: the store's writer gives it back with each statement."""
    gc.freeze()
    gc.set_threshold(*COLLECT_EVERY)
    sys.setswitchinterval(SWITCH_SECONDS)


async def serve(settings: Settings, serving: Serving | None = None) -> int:
    """Run the host until it is told to stop; the exit code.

    Raises ``SettingsError`` for settings that must not be served with, ``ConfigError`` for what
    can't work.
    """
    if problems := settings.serve_problems():
        raise SettingsError(problems)
    how = serving or Serving()
    listening = await asyncio.to_thread(_bind, settings)
    _close_in_children(listening)
    try:
        token = make_cli_token()
        code = await asyncio.to_thread(look, settings.agent) if how.reload else None
        async with open_host(
            settings,
            tokens=(*settings.api_tokens, token),
            works=True,
            local=how.welcome is not None,
            clock=how.clock,
        ) as host:
            lent = how.furnish is not None
            idle = idle_settings(settings, host.loaded.channels, lent=lent)
            for told in (*idle, *host.loaded.warnings):
                log.warning("%s", told)
            for name in host.loaded.channels:
                if missing := host.api.registry.missing.get(name):
                    log.warning("channel %s is off: set %s", name, needed(missing))
            settle_process()
            app = make_app(host.api)
            if how.furnish is not None:
                how.furnish(app, host)
            runner = HostRunner(app, shutdown_timeout=CLOSE_SECONDS)
            await runner.setup()
            try:
                await web.SockSite(runner, listening).start()
                url = local_url(settings.host, listening.getsockname()[1])
                if other := await asyncio.to_thread(find_host, settings.state):
                    log.warning(
                        "process %s serves on %s and keeps its state in %s, too: from now on the command line"
                        " finds this host there; give one of them a GATEWAY_STATE of its own",
                        *(other.pid, other.url, settings.state),
                    )
                await asyncio.to_thread(announce, settings.state, url, token, settings.database_url)
                await _run(host, how, url, code)
            finally:
                await _close(host, runner)
    finally:
        listening.close()
        await asyncio.to_thread(withdraw, settings.state)
    return 0


def idle_settings(
    settings: Settings, channels: Collection[str] = (), *, lent: bool = False
) -> list[str]:
    """One warning for each setting that is set and does nothing here: whoever set it counts on it.
    ``channels`` are those that the agent has. ``lent``: what has no origin, a playground set."""
    unset = Settings()
    told: list[str] = []
    for row in ROWS:
        channel = row.env.partition("_")[0].lower()
        if channel not in CHANNEL_NEEDS or channel in channels:
            continue
        value = getattr(settings, row.field)
        if row.field in settings.origins or (not lent and value != getattr(unset, row.field)):
            told.append(f"{row.env} is set, but {_no_channel(channel)}")
    return told


def _no_channel(name: str) -> str:
    if name in NOT_YET:
        return f"this release of the gateway has no channel {name}"
    return f"the agent has no channels/{name}.py that would use it: gateway add channel {name}"


def _bind(settings: Settings) -> socket.socket:
    """Bound before anything runs, so that a port that is taken costs no turn an attempt."""
    try:
        settings.host.encode("idna")  # what would fail later, and leave a socket open then
        return socket.create_server(_address(settings), family=_family(settings), backlog=512)
    except (OSError, UnicodeError) as error:
        raise _cant_listen(settings, error) from error


def check_address(settings: Settings) -> None:
    """Raises ``ConfigError`` where ``serve`` couldn't listen. It doesn't listen itself, so it is in the way of
    no host that starts at this moment."""
    try:
        settings.host.encode("idna")
        with socket.socket(_family(settings)) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if tried.family == socket.AF_INET6:  # as create_server does
                tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            tried.bind(_address(settings))
    except (OSError, UnicodeError) as error:
        raise _cant_listen(settings, error) from error


def _family(settings: Settings) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in settings.host else socket.AF_INET


def _address(settings: Settings) -> tuple[str, int]:
    return settings.host.strip("[]"), settings.port


def _cant_listen(settings: Settings, error: OSError | UnicodeError) -> ConfigError:
    elsewhere, told = True, str(error)  # no address at all
    if isinstance(error, OSError):
        elsewhere = error.errno in (errno.EADDRNOTAVAIL, socket.EAI_NONAME)
        told = error.strerror or told
    # What create_server appends repeats the address.
    why = told.partition(" (while ")[0].lower()
    return ConfigError(
        f"can't listen on {settings.host}:{settings.port}: {why}",
        fix="set GATEWAY_HOST to an address of this machine: 127.0.0.1, or 0.0.0.0 for all"
        if elsewhere
        else "set PORT to another port, to 0 for any that is free, or stop what listens there",
    )


def _close_in_children(listening: socket.socket) -> None:
    """A child that a tool forks must not keep the port when this process has gone."""
    found = weakref.ref(listening)

    def close() -> None:
        if (inherited := found()) is not None:
            inherited.close()

    os.register_at_fork(after_in_child=close)


async def _run(host: Host, how: Serving, url: str, code: Seen | None) -> None:
    loop = asyncio.get_running_loop()
    signals = (signal.SIGTERM, signal.SIGINT)
    with suppress(NotImplementedError, ValueError, RuntimeError):  # not the main thread
        for number in signals:
            loop.add_signal_handler(number, partial(_signalled, how, number))
    async with asyncio.TaskGroup() as tasks:
        beside = [tasks.create_task(_watch(host, how))]
        if code is not None:
            beside.append(tasks.create_task(Reloader(host, code, told=how.taken_up).run()))
        log.info("agent %s serves on %s", host.api.agent, url)
        for schedule in [] if host.api.schedules is None else await host.api.schedules.rows():
            log.info("%s", introduced(schedule))
        if how.ready is not None:
            how.ready(url)
        if how.welcome is not None and host.api.access is not None:
            how.welcome(await host.api.access.local_link(url))
        await how.stop.wait()
        log.info("stopping: no new turns, running steps finish or stay at their checkpoint")
        host.api.drain()
        await host.stop(how.grace)
        for task in beside:
            task.cancel()


def _signalled(how: Serving, number: signal.Signals) -> None:
    if how.stop.is_set():
        log.warning("told to stop a second time: leaving now")
        how.die(128 + number)
    how.stop.set()


async def _watch(host: Host, how: Serving) -> None:
    """End the process when a sync tool doesn't come back: the store it holds serves nobody else."""
    while True:
        await asyncio.sleep(min(1.0, how.stuck_after / 4))
        held = stuck(host.api)
        if held is None or held[2] < how.stuck_after:
            continue
        tool, turn_id, seconds = held
        log.critical(
            "tool %s hasn't returned for %.0f s and holds the store: leaving, so that the next"
            " start can go on",
            tool,
            seconds,
            extra={"tool": tool, "turn_id": turn_id},
        )
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await asyncio.to_thread(withdraw, host.settings.state)
        logging.shutdown()
        how.die(1)


async def _close(host: Host, runner: web.AppRunner) -> None:
    """Cleaning up is shielded from nothing: it is quick, and each part has its own bound."""
    host.api.end_streams()
    with suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS * 2):
            await runner.cleanup()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.remove_signal_handler(number)
