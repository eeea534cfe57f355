"""Whether a message opens a turn. Pure: the message, what the ledger knows of it, and a rule."""

from __future__ import annotations

from channels.contract import Inbound, Place
from gateway.engine.kinds import Millis
from gateway.engine.ledger import Asked, Binding, Known
from gateway.intake import keys, loops
from gateway.intake.verdicts import Judgement


def asked(source: str, inbound: Inbound) -> Asked:
    """What has to be known of a message, in one read."""
    return Asked(
        source=source,
        event_id=inbound.event_id,
        keys=inbound.keys,
        places=(inbound.place.key,),
        pairs=(
            *(() if inbound.pair is None else (inbound.pair,)),
            *(budget.key for budget in inbound.budgets),
        ),
    )


def asked_of_place(source: str, event_id: str, place: Place) -> Asked:
    """The same for an event that claims nothing: what is bound there."""
    return Asked(source=source, event_id=event_id, places=(place.key,))


def bound(known: Known, agent: str) -> Binding | None:
    """The session that the place belongs to, if it is one of this agent's."""
    return next((one for one in known.bindings if one.agent == agent), None)


def decide(inbound: Inbound, known: Known, agent: str, now: Millis) -> Judgement:
    """The first rule that fits. ``accepted`` means that it may be let in, which only the store can
    say for good."""
    if inbound.author == "self":
        return Judgement(word="own_echo", rule="own-post")
    if keys.held(known, now):
        return Judgement(word="duplicate", rule="post-claimed", turn=keys.taker(known))
    if inbound.author == "bot":
        if inbound.addressed != "mention":
            return Judgement(word="other_bot", rule="unmentioned")
        if loops.goes_round(known.pairs, inbound.pair, now):
            return Judgement(word="loop", rule="no-person-spoke")
    if doubt := inbound.doubt or loops.overspent(known.pairs, inbound.budgets, now):
        return Judgement(word="held", rule=doubt, by_hand=True)
    match inbound.addressed:
        case "none":
            return Judgement(word="not_addressed", rule="not-mentioned")
        case "thread":
            return _reply(inbound, bound(known, agent) is not None)
        case how:
            return Judgement(word="accepted", rule=how)


def _reply(inbound: Inbound, ours: bool) -> Judgement:
    """In a thread, without our name."""
    if not ours and not inbound.root_is_ours:
        return Judgement(word="not_addressed", rule="not-taking-part")
    if inbound.follow == "mention":
        return Judgement(word="not_addressed", rule="channel-rule-mention")
    if not ours:
        # A post of ours that isn't in the books yet: its receipt may be on its way.
        return Judgement(word="held", rule="unknown-root")
    return Judgement(word="accepted", rule="thread")
