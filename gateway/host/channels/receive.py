"""Speaking first: a turn that nobody's message opened."""

from __future__ import annotations

from channels.protocol import Channel, ChannelContext
from gateway.engine.kinds import JsonObject
from gateway.engine.outcomes import Started, TurnInput


async def receive(
    channel: Channel,
    ctx: ChannelContext,
    *,
    seed: str,
    target: JsonObject,
    trigger: str,
    session: str,
) -> Started:
    """Start a turn with ``seed`` on behalf of ``trigger`` (``cron:digest``), rendered by the channel at
    ``target`` like any other. Behind a request it waits.

    Raises ``DeliverUnsupportedError`` before anything starts; a turn that it returned is committed.
    """
    given = TurnInput(
        message=seed, source=channel.source, trigger="proactive", by=trigger, target=target
    )
    return await ctx.run_delivered(given, session=session, when_suspended="queue")
