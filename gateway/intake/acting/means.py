"""What acting on a kept event needs, and how it may end."""

from __future__ import annotations

from channels.contract import Inbound, Word
from channels.protocol import Conversing
from gateway.engine.kinds import Millis, TurnRow
from gateway.engine.limits import Clock
from gateway.engine.records import Companion
from gateway.engine.runtime import Runtime
from gateway.engine.struct import struct
from gateway.intake.accept import Entrance
from gateway.intake.stored import Kept, Saying
from gateway.intake.verdicts import Judgement, verdict


@struct(frozen=True, slots=True, kw_only=True)
class Settled:
    """Done with: ``rows`` commit with that, and then ``say`` is said, at most once."""

    rows: tuple[Companion, ...] = ()
    say: Saying | None = None


@struct(frozen=True, slots=True)
class Later:
    """To be tried again."""

    at: Millis
    why: str


Came = Settled | Later


@struct(frozen=True, slots=True, kw_only=True)
class Means:
    """One agent, one channel, and the way back to both."""

    runtime: Runtime
    agent: str
    channel: Conversing
    entrance: Entrance

    @property
    def clock(self) -> Clock:
        return self.runtime.clock

    @property
    def source(self) -> str:
        return self.channel.source


def settle(
    means: Means,
    kept: Kept,
    word: Word,
    rule: str,
    *,
    turn: TurnRow | None = None,
    say: str | None = None,
) -> Settled:
    """The last word about an event, in place of the one from when it was kept; ``say`` is told to
    whoever did it."""
    if isinstance(kept, Saying):
        return Settled()
    made = Judgement(word=word, rule=rule, turn=turn, said=say)
    row = verdict(means.source, kept, made, means.clock.now(), revises=True)
    if say is None:
        return Settled(rows=(row,))
    reply = kept.target if isinstance(kept, Inbound) else kept.reply
    return Settled(rows=(row,), say=Saying(reply=reply, words=say))
