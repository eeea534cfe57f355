"""Methods beside the conversation: a look at blocks before they are sent."""

from __future__ import annotations

from channels.slack.emulator.blocks.validate import check, check_view
from channels.slack.emulator.calling import Asking, Method
from channels.slack.emulator.wire import Refused, objects
from gateway.engine.kinds import JsonObject


def validate(asking: Asking) -> JsonObject:
    """``blocks.validate``: of blocks, a message or a view."""
    args = asking.args
    blocks = args.items("blocks", "invalid_blocks_format")
    message = args.object("message", "invalid_arguments")
    view = args.object("view", "invalid_arguments")
    if sum(given is not None for given in (blocks, message, view)) != 1:
        raise Refused("invalid_arguments").messages(["[ERROR] give blocks, message or view"])
    if view is not None:
        told = check_view(view)
    else:
        told = check(objects((message or {}).get("blocks")) if message else blocks or [], "message")
    if told:
        raise Refused("invalid_blocks").messages(told)
    return {}


METHODS = (Method(name="blocks.validate", handler=validate),)
