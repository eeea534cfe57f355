"""The host: settings in, a served gateway out; or a gateway inside somebody else's application.

Names are looked up on first use: who only wants a JSON view needn't load a web server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway.host.channels.context import Context
    from gateway.host.embed import Mounted, create_runtime, mount_agent
    from gateway.host.serving import Serving, serve
    from gateway.schedules.fire import receive

__all__ = ["Context", "Mounted", "Serving", "create_runtime", "mount_agent", "receive", "serve"]

_HOMES = {
    "Context": "gateway.host.channels.context",
    "Mounted": "gateway.host.embed",
    "Serving": "gateway.host.serving",
    "create_runtime": "gateway.host.embed",
    "mount_agent": "gateway.host.embed",
    "receive": "gateway.schedules.fire",
    "serve": "gateway.host.serving",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gateway.host' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(home), name)
    return value
