"""``gateway serve`` on another day: a host whose clock is so many milliseconds ahead, for what happens at
nine on Monday. Started by the demo alone; no setting moves a host's clock.

It imports, and then waits on its stdin for a line that says what to serve. None comes if it isn't needed.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
from dataclasses import replace
from importlib import import_module

from gateway.cli import COLLECT_EVERY

LATER = ("gateway.stores.sqlite", "gateway.models.scripted", "channels.slack.channel")
"""What a host imports once it knows its settings."""


def main() -> int:
    gc.set_threshold(COLLECT_EVERY)  # as for any command
    from gateway.config import Settings, foreign_environ
    from gateway.engine.kinds import Millis
    from gateway.engine.limits import SYSTEM_CLOCK, Clock
    from gateway.host.serving import Serving, serve
    from gateway.log import configure

    for name in LATER:
        import_module(name)
    line = sys.stdin.readline()
    if not line:
        return 0
    told = json.loads(line)
    ahead: int = told["ahead"]
    settings = Settings.load({**foreign_environ(), **told["settings"]})
    settings = replace(settings, port=told["port"])
    configure(style="auto", level=logging.INFO, secrets=settings.secrets, stream=sys.stderr)
    clock = Clock(now=lambda: Millis(SYSTEM_CLOCK.now() + ahead), monotonic=SYSTEM_CLOCK.monotonic)
    return asyncio.run(serve(settings, Serving(clock=clock)))


if __name__ == "__main__":
    sys.exit(main())
