"""``gateway serve`` on another day: hosts whose clock is so many milliseconds ahead, for what happens at
nine on Monday. Started by the demo alone; no setting moves a host's clock.

It imports what hosts are made of, and then forks one for each line on its stdin that says what to serve. It
tells of each on its stdout, in a line each: its ``pid``, its ``url`` once it serves, and how it ``ended``. No line
comes while a host runs, so what comes then is the end of the demo, with which all of them end.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from threading import Thread

from gateway.cli import COLLECT_EVERY

PARTS = (
    "gateway.host.serving",
    "gateway.log",
    "gateway.stores.sqlite",
    "gateway.models.scripted",
    "channels.slack.channel",
    "slack_sdk.web.async_client",
    "channels.email.channel",
    "yaml",
)
"""What a host imports until it serves, some of it only once it knows its settings."""


def main() -> int:
    gc.disable()  # what is imported stays
    for name in PARTS:
        import_module(name)
    gc.freeze()  # no host looks through it, which would copy what they share
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):  # what a tool in a host reads or prints is nobody's order or answer
        os.dup2(nowhere, number)
    with suppress(BrokenPipeError):  # nobody is there to be told any more
        for line in orders:
            host = os.fork()
            if host == 0:
                Thread(target=end_with, args=(orders.fileno(),), daemon=True).start()
                return run(line, answers.write)
            print("pid", host, file=answers)
            _, status = os.waitpid(host, 0)
            print("ended", os.waitstatus_to_exitcode(status), file=answers)
    return 0


def end_with(demo: int) -> None:
    """The demo holds the other end of this pipe for as long as it lives, however it dies."""
    os.read(demo, 1)
    os._exit(1)


def run(line: str, answer: Callable[[str], object]) -> int:
    gc.set_threshold(COLLECT_EVERY)  # as for any command
    gc.enable()
    from gateway.config import Settings, foreign_environ
    from gateway.engine.kinds import Millis
    from gateway.engine.limits import SYSTEM_CLOCK, Clock
    from gateway.host.serving import Serving, serve
    from gateway.log import configure

    told = json.loads(line)
    ahead: int = told["ahead"]
    settings = Settings.load({**foreign_environ(), **told["settings"]})
    settings = replace(settings, port=told["port"])
    configure(style="auto", level=logging.INFO, secrets=settings.secrets, stream=sys.stderr)
    clock = Clock(now=lambda: Millis(SYSTEM_CLOCK.now() + ahead), monotonic=SYSTEM_CLOCK.monotonic)
    serving = Serving(clock=clock, ready=lambda url: answer(f"url {url}\n"))
    return asyncio.run(serve(settings, serving))


if __name__ == "__main__":
    sys.exit(main())
