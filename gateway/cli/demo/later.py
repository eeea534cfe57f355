"""``gateway serve`` on another day: a host whose clock is so many milliseconds ahead, for what happens at
nine on Monday. Started by the demo alone; no setting moves a host's clock."""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import replace

from gateway.config import Settings
from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK, Clock
from gateway.host.serving import Serving, serve
from gateway.log import configure


def main(ahead: int, port: int) -> int:
    settings = replace(Settings.load(), port=port)
    configure(style="auto", level=logging.INFO, secrets=settings.secrets, stream=sys.stderr)
    clock = Clock(now=lambda: Millis(SYSTEM_CLOCK.now() + ahead), monotonic=SYSTEM_CLOCK.monotonic)
    return asyncio.run(serve(settings, Serving(clock=clock)))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
