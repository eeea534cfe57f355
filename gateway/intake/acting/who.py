"""Who did something, once the platform was asked, and what they may do for being who they are."""

from __future__ import annotations

from channels.protocol import Person
from gateway.engine.decisions.opening import opening_from
from gateway.engine.kinds import JsonObject
from gateway.engine.records import TurnRecord
from gateway.intake.acting.means import Means


def may_decide(means: Means, who: Person, answerers: JsonObject) -> bool:
    """Whether they are let near the request at all; whom it is for is the engine's to say."""
    if who.standing == "outsider":
        policy = answerers.get("policy")
        return isinstance(policy, str) and means.channel.opens(policy)
    return who.standing == "member"


async def acts_as(means: Means, who: Person, turn: TurnRecord) -> str:
    """The identity that somebody acts under about a turn. Whoever asked for it keeps the one that they
    asked under: what a message says of its author may be less than the platform says when it is asked."""
    opened = opening_from(turn.body)
    opener = opened.speaker
    if opener is None or opened.target is None or opened.source != means.source:
        return who.speaker.id
    if opener.at_least("provider"):
        return who.speaker.id  # one of ours, of whom there is one name
    settled = await means.channel.person(opener, opened.target)
    same = settled is not None and settled.speaker.id == who.speaker.id
    return opener.id if same else who.speaker.id
