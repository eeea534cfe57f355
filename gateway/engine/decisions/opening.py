"""What a turn was accepted with, as stored in ``TurnRecord.body`` and ``content``."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, cast

from gateway.engine.errors import InvalidInputError
from gateway.engine.kinds import Json, JsonObject, Speaker, Trust
from gateway.engine.messages import Attachment, Block, Message, Text
from gateway.engine.outcomes import TurnInput
from gateway.engine.schema import to_json
from gateway.engine.struct import replace, struct
from gateway.engine.wire import (
    WIRE_VERSION,
    block_from,
    block_json,
    clean,
    dumps,
    dumps_known,
    speaker_from,
    speaker_json,
    versioned,
)

_WORST_FIRST: tuple[Trust, ...] = ("unattested", "tool", "agent", "attested", "operator")


@struct(frozen=True, slots=True, kw_only=True)
class Opening:
    blocks: tuple[Block, ...]
    trigger: Literal["inbound", "proactive"]
    by: str | None
    source: str
    trust: Trust
    speaker: Speaker | None
    event: JsonObject | None
    target: JsonObject | None

    def message(self, index: int, turn_id: str, edition: str) -> Message:
        return Message(
            index=index,
            role="trigger" if self.trigger == "proactive" else "user",
            blocks=self.blocks,
            turn_id=turn_id,
            source=self.source,
            trust=self.trust,
            by=self.by if self.trigger == "proactive" else None,
            edition=edition,
        )

    def after(self, before: Sequence[Text | Attachment], trust: Trust | None) -> Opening:
        """The same, with what was read for it in front. It is as good as the worst of both."""
        worst = min(self.trust, trust or self.trust, key=_WORST_FIRST.index)
        return replace(self, blocks=(*_cleaned(before), *self.blocks), trust=worst)

    def body(self) -> str:
        return dumps(self._json())

    def content(self) -> str:
        blocks: list[Json] = [block_json(block) for block in self.blocks]
        return dumps_known({"v": WIRE_VERSION, "blocks": blocks})

    def content_hash(self, content: str) -> str:
        """What makes two deliveries of one turn id the same turn: content, speaker, source."""
        # The identity alone: a channel may know the person's name or level better next time.
        speaker = None if self.speaker is None else self.speaker.id
        same = dumps_known([content, self.trigger, self.by, self.source, speaker])
        return hashlib.sha256(same.encode()).hexdigest()[:32]

    def _json(self) -> JsonObject:
        return {
            "v": WIRE_VERSION,
            "trigger": self.trigger,
            "by": self.by,
            "source": self.source,
            "trust": self.trust,
            "speaker": speaker_json(self.speaker),
            "event": self.event,
            "target": self.target,
        }


def trust_of(given: TurnInput) -> Trust:
    """A speaker's words are as good as the channel's proof of who spoke; without a speaker it is
    the operator's own program or schedule that speaks."""
    if given.trust is not None:
        return given.trust
    if given.speaker is None:
        return "operator" if given.event is None else "unattested"
    return "attested" if given.speaker.attested else "unattested"


def open_with(given: TurnInput) -> Opening:
    blocks: tuple[Text | Attachment, ...] = (
        (Text(given.message),) if isinstance(given.message, str) else tuple(given.message)
    )
    return Opening(
        blocks=_cleaned(blocks),
        trigger=given.trigger,
        by=given.by,
        source=given.source,
        trust=trust_of(given),
        speaker=given.speaker,
        event=_plain(given.event, "event"),
        target=_plain(given.target, "target"),
    )


def _plain(given: JsonObject | None, what: str) -> JsonObject | None:
    """As it can be kept and read again, however deep in the stack that is."""
    try:
        return None if given is None else cast("JsonObject", to_json(given))
    except TypeError as error:
        raise InvalidInputError(
            f"the turn's {what} is no JSON, or is nested too deeply", fix=f"send a plainer {what}"
        ) from error


def _cleaned(blocks: Sequence[Text | Attachment]) -> tuple[Text | Attachment, ...]:
    return tuple(Text(clean(b.text)) if isinstance(b, Text) else b for b in blocks)


def opening_from(body: str, content: str | None = None) -> Opening:
    """``blocks`` is empty once the opening message holds them."""
    value = versioned(body)
    blocks = [] if content is None else cast("list[Json]", versioned(content)["blocks"])
    return Opening(
        blocks=tuple(block_from(item) for item in blocks),
        trigger=cast('Literal["inbound", "proactive"]', value["trigger"]),
        by=cast("str | None", value["by"]),
        source=str(value["source"]),
        trust=cast("Trust", value["trust"]),
        speaker=speaker_from(value["speaker"]),
        event=cast("JsonObject | None", value["event"]),
        target=cast("JsonObject | None", value["target"]),
    )
