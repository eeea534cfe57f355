"""Somebody decided about a request: who they are, whether that is what they saw, and what comes of it.

Every click ends in a word. One that was taken needs none: the card shows it. The same person with the
same value is taken once however often it is said, so acting on a click again after a crash tells nobody
that they were too late for themselves.
"""

from __future__ import annotations

from channels.contract import MISSING, Answer, Control, Word
from gateway.approvals import words as deciding
from gateway.approvals.authorise import decide_as
from gateway.approvals.reading import read_ballot, read_card
from gateway.engine.decisions.park import request_body
from gateway.engine.errors import (
    AlreadyAnsweredError,
    AuthorizeHookError,
    InvalidInputError,
    ResumeAuthorizationError,
    StaleAnswerError,
)
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.records import RequestSummary
from gateway.engine.struct import replace
from gateway.engine.wire import dumps
from gateway.intake import words
from gateway.intake.acting.means import Came, Later, Means, Settled, settle
from gateway.intake.acting.who import acts_as, may_decide
from gateway.intake.looks import next_look


async def answer(means: Means, given: Answer, since: Millis) -> Came:
    """Act on a decision that came in at ``since``. Raises ``StoreUnavailableError``."""
    found = await means.runtime.store.find_request(given.request)
    if found is None or found.ref.agent != means.agent:
        return _forged(means, given, deciding.NOT_NEEDED)
    shown = await stands_for(means, given.shown, found, since) if given.shown else True
    if isinstance(shown, Later):
        return shown
    if not shown:
        return _forged(means, given, deciding.NOT_HERE)
    body = request_body(found.request.body)
    if given.value is MISSING:
        return await _form(means, given, found)
    who = await means.channel.person(given.by, given.reply)
    if who is None:
        return _ended(means, given, found, "policy", "unchecked", words.UNSURE)
    if not may_decide(means, who, body.answerers):
        named = "policy" in body.answerers
        told = words.outsider(means.channel.deciders(body.answerers) if named else None)
        return _ended(means, given, found, "policy", "outsider", told)
    turn = await means.runtime.store.turn(found.ref, found.request.turn_id)
    by = who.speaker.id if turn is None else await acts_as(means, who, turn)
    known = replace(given, by=replace(who.speaker, id=by))
    return await _decide(means, known, found, given.value, body.answerers)


async def stands_for(
    means: Means, shown: str, found: RequestSummary, since: Millis
) -> bool | Later:
    """Whether the message that was pressed on is one that shows this request. A card may be seen
    before its receipt is in the books; then it is looked at again."""
    ledger = means.runtime.store.ledger
    delivery = await ledger.shown_at(means.source, shown)
    if delivery is not None:
        return delivery.request == found.request.id
    views = await ledger.deliveries(turn_id=found.request.turn_id)
    unsure = any(
        view.request == found.request.id and view.state in {"due", "sending"} for view in views
    )
    at = next_look(since, means.clock.now()) if unsure else None
    return False if at is None else Later(at, "the message isn't known yet")


async def _form(means: Means, given: Answer, found: RequestSummary) -> Settled:
    card = await read_card(means.runtime.store, given.request)
    if card is None or card.outcome is not None:
        return _ended(means, given, found, "accepted", "no-longer-needed", deciding.NOT_NEEDED)
    reply: JsonObject = {**given.reply, "request": given.request}
    asked = Control(
        event_id=given.event_id,
        keys=given.keys,
        kind="form",
        by=given.by,
        post=given.shown or None,
        reply=reply,
    )
    await means.channel.act(asked, card)
    return settle(means, given, "accepted", "form:opened", turn=found.request.turn)


async def _decide(
    means: Means, given: Answer, found: RequestSummary, value: Json, who: JsonObject
) -> Settled:
    session = means.runtime.session(found.ref.agent, found.ref.key)
    request = found.request
    kept = (await read_ballot(means.runtime.store, found)).vote_of(given.by.id)
    try:
        done = await decide_as(
            session,
            found,
            value,
            by=given.by.id,
            principal=given.by,
            reason=given.reason,
            # A message shows one request, and a request that is asked anew gets another id: what the
            # stored request says is what was shown.
            digest=given.digest or request.digest,
        )
    except AlreadyAnsweredError:
        return await _late(means, given, found, value)
    except StaleAnswerError:
        return _ended(means, given, found, "accepted", "no-longer-needed", deciding.NOT_NEEDED)
    except ResumeAuthorizationError:
        told = deciding.not_yours(means.channel.deciders(who))
        return _ended(means, given, found, "policy", "not-yours", told)
    except InvalidInputError as error:
        return _ended(means, given, found, "accepted", "invalid-answer", words.invalid(str(error)))
    except AuthorizeHookError:
        return _ended(means, given, found, "accepted", "hook-failed", words.UNCHECKED)
    if done.decided:
        return settle(means, given, "accepted", "decided", turn=request.turn)
    if kept is not None and dumps(kept.value) == dumps(value):
        told = deciding.voted(done.votes, done.quorum)
        return _ended(means, given, found, "accepted", "voted-before", told)
    return settle(means, given, "accepted", "voted", turn=request.turn)


async def _late(means: Means, given: Answer, found: RequestSummary, value: Json) -> Settled:
    """Somebody was faster, or a deadline; unless this very answer was taken before a crash."""
    card = await read_card(means.runtime.store, given.request)
    if card is None:
        return _ended(means, given, found, "accepted", "no-longer-needed", deciding.NOT_NEEDED)
    mine = (given.by.id, dumps(value))
    taken = card.votes if card.decided is None else (*card.votes, card.decided)
    if mine in {(one.by, dumps(one.value)) for one in taken}:
        return settle(means, given, "accepted", "decided", turn=found.request.turn)
    return _ended(means, given, found, "accepted", "already-decided", deciding.already(card))


def _forged(means: Means, given: Answer, told: str) -> Settled:
    """It names a request that this message doesn't show. Who sent it learns no more than that."""
    return settle(means, given, "policy", "forged-answer", say=told)


def _ended(
    means: Means, given: Answer, found: RequestSummary, word: Word, rule: str, say: str
) -> Settled:
    turn = found.request.turn
    return settle(means, given, word, rule, turn=turn, say=say)
