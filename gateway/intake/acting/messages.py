"""A message that had to wait: for a host that takes turns, or for the post that it replies to."""

from __future__ import annotations

from channels.contract import Inbound
from gateway.engine.kinds import Millis
from gateway.engine.struct import replace
from gateway.intake import keys
from gateway.intake.accept import Letter
from gateway.intake.acting.means import Came, Later, Means, Settled, settle
from gateway.intake.decide import asked, decide
from gateway.intake.looks import next_look, retry_at
from gateway.intake.verdicts import Judgement


async def message(means: Means, inbound: Inbound, since: Millis, attempts: int) -> Came:
    """Let it in if it can be now. Raises ``StoreUnavailableError``."""
    now = means.clock.now()
    in_or_gone = keys.in_or_gone(inbound.post)
    inbound = replace(inbound, keys=(*inbound.keys, in_or_gone))
    known = await means.runtime.store.ledger.known(asked(means.source, inbound))
    if known.verdict is not None and known.verdict.verdict != "held":
        return Settled()  # let in before a crash; its verdict says so
    if any(claim.key == in_or_gone and claim.turn is None for claim in known.claims):
        return settle(means, inbound, "not_addressed", "removed-first")
    made = decide(inbound, known, means.agent, now)
    if made.word == "held" and not made.by_hand:
        at = next_look(since, now)
        if at is not None:
            return Later(at, made.rule)
        made = Judgement(word="accepted", rule=made.rule)
    if made.word != "accepted":
        return settle(means, inbound, made.word, made.rule, turn=made.turn)
    letter = Letter(
        inbound=inbound,
        rule=made.rule,
        ref=means.entrance.session_of(inbound.place, known),
        replace=inbound.replace,
        revises=True,
    )
    entered = await means.entrance.enter(letter)
    told = entered.made
    match entered.outcome:
        case "in":
            return Settled()
        case "busy":
            return Later(retry_at(attempts, now), told.rule)
        case "duplicate":
            known = await means.runtime.store.ledger.known(asked(means.source, inbound))
            return settle(means, inbound, told.word, told.rule, turn=keys.taker(known))
        case "refused":
            return settle(means, inbound, told.word, told.rule, say=told.said)
