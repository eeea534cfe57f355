"""Requests for a person's input: who may answer, what an answer must match, what it does. Pure.

Checks run in this order, each with its own error: state and request (409), digest (409), who may
answer (403), the value (422).
"""

from __future__ import annotations

from typing import cast

from gateway.engine import events as ev
from gateway.engine.decisions.answerers import namespace, same_person
from gateway.engine.decisions.opening import Opening, opening_from
from gateway.engine.decisions.telling import telling
from gateway.engine.errors import (
    AlreadyAnsweredError,
    InvalidInputError,
    NotFoundError,
    ResumeAuthorizationError,
    StaleAnswerError,
    StaleAttemptError,
)
from gateway.engine.kinds import (
    CancelReason,
    Json,
    JsonObject,
    Millis,
    Outcome,
    SessionRef,
    Speaker,
)
from gateway.engine.outcomes import Answered, Grant, PendingInput
from gateway.engine.records import (
    EventRow,
    Fence,
    Plan,
    RequestRecord,
    SessionView,
    TurnRecord,
    VoteRow,
    Writes,
)
from gateway.engine.schema import check_value
from gateway.engine.struct import replace, struct
from gateway.engine.wire import WIRE_VERSION, dumps, versioned
from gateway.engine.wire.events import event_row


@struct(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """The part of a request that no query looks at."""

    prompt: str
    schema: JsonObject
    answerers: JsonObject
    arguments: JsonObject
    on_expiry: tuple[Json] | None = None

    def body(self) -> str:
        return dumps(
            {
                "v": WIRE_VERSION,
                "prompt": self.prompt,
                "schema": self.schema,
                "answerers": self.answerers,
                "arguments": self.arguments,
                "on_expiry": None if self.on_expiry is None else [*self.on_expiry],
            }
        )


def request_body(body: str) -> RequestBody:
    value = versioned(body)
    on_expiry = cast("list[Json] | None", value["on_expiry"])
    return RequestBody(
        prompt=str(value["prompt"]),
        schema=cast("JsonObject", value["schema"]),
        answerers=cast("JsonObject", value["answerers"]),
        arguments=cast("JsonObject", value["arguments"]),
        on_expiry=None if on_expiry is None else (on_expiry[0],),
    )


def request_key(turn_id: str, position: int, call_id: str, name: str) -> str:
    return f"input:{turn_id}:{position}:{call_id}:{name}"


# -- parking ---------------------------------------------------------------------------------------
def suspend(view: SessionView, fence: Fence, writes: Writes) -> Plan[CancelReason | None]:
    """Write the ``suspended`` checkpoint, unless somebody asked meanwhile that the turn end: a park
    must not outlive its cancellation. Then nothing is written and the result says why."""
    if view.session is None or view.session.epoch != fence.epoch:
        raise StaleAttemptError
    if view.turn is not None and view.turn.cancel is not None:
        return Plan(view.turn.cancel)
    return Plan(None, writes)


# -- the answer ----------------------------------------------------------------------------------------
@struct(frozen=True, slots=True, kw_only=True)
class Answer:
    """What somebody decided, as a surface sent it."""

    turn_id: str
    input_id: str
    value: Json
    by: str | None
    via: str | None
    """Who vouches for ``by`` (``api:<token>``). It is stored beside it and never is an identity."""
    granted: Grant | None
    issuer: object
    """The runtime whose grants count here."""
    reason: str | None
    digest: str | None
    now: Millis

    @property
    def told_by(self) -> str | None:
        """Who decided, as it is stored and shown."""
        return f"{self.by} via {self.via}" if self.by and self.via else self.by


@struct(frozen=True, slots=True)
class AnswerOutcome:
    answered: Answered
    events: tuple[ev.TurnEvent, ...]
    resumed: bool


@telling
def decide_answer(view: SessionView, ref: SessionRef, answer: Answer) -> Plan[AnswerOutcome]:
    record, request = _still_open(view, answer)
    body = request_body(request.body)
    opening = opening_from(record.body)
    _authorise(answer, request, body.answerers, opening)
    problem = check_value(body.schema, answer.value)
    if problem is not None:
        raise InvalidInputError(
            f"the answer doesn't fit what was asked for: {problem}",
            fix="send a value that fits the request's schema; the request stays open",
        )
    if answer.reason is not None and len(answer.reason) > 2000:
        raise InvalidInputError("the reason is over 2,000 characters", fix="shorten the reason")
    quorum = cast("int", body.answerers.get("quorum", 1))
    denies = answer.value is False
    if quorum > 1 and not denies:
        return _vote(view, ref, answer, record, request, quorum)
    return decide(record, request, ref, answer_outcome(answer.value), answer, quorum)


def answer_outcome(value: Json) -> Outcome:
    return "approved" if value is True else "denied" if value is False else "answered"


def _still_open(view: SessionView, answer: Answer) -> tuple[TurnRecord, RequestRecord]:
    record, request = view.turn, view.request
    if record is None:
        raise NotFoundError(f"no turn {answer.turn_id!r} in this session")
    if request is None or request.turn_id != answer.turn_id:
        raise StaleAnswerError(
            "this turn has no such request",
            fix="read the session's pending request and answer that",
        )
    if request.outcome is not None:
        who = f" by {request.by}" if request.by else ""
        raise AlreadyAnsweredError(
            f"already {request.outcome}{who}",
            by=request.by,
            outcome=request.outcome,
            at=request.decided_at or 0,
        )
    if record.state != "suspended" or record.request != request.id:
        raise StaleAnswerError(f"the turn isn't waiting for this answer: it is {record.state}")
    if view.session is not None and view.session.reset_at is not None:
        raise StaleAnswerError("the session is being reset; its request is no longer needed")
    if record.cancel is not None:
        raise StaleAnswerError("the turn is being cancelled; its request is no longer needed")
    if view.session is not None and record.generation != view.session.generation:
        raise StaleAnswerError("the turn belongs to a conversation that was reset")
    if request.expires_at is not None and answer.now >= request.expires_at:
        raise StaleAnswerError("the request's deadline passed; nothing was done")
    if answer.digest is not None and answer.digest != request.digest:
        raise StaleAnswerError(
            "what was shown isn't what is asked now: the digests differ",
            fix="show the request again and decide on that",
        )
    return record, request


def _authorise(
    answer: Answer, request: RequestRecord, answerers: JsonObject, opening: Opening
) -> None:
    if user := answerers.get("user"):
        if answer.by != user:
            raise ResumeAuthorizationError(f"only {user} may answer this request")
    elif policy := answerers.get("policy"):
        granted = answer.granted
        if (
            granted is None
            or granted.issuer is not answer.issuer
            or granted.policy != policy
            or granted.scope != answerers.get("scope")
            or granted.request != request.id
            or granted.by != answer.by
        ):
            raise ResumeAuthorizationError(f"only the policy {policy!r} may answer this request")
    elif answerers.get("anyone") is not True:
        raise ResumeAuthorizationError(
            "nobody is named who may answer this request", fix="cancel its turn and ask again"
        )
    if answerers.get("not_requester"):
        not_the_requester(answer.by, opening.speaker)


def not_the_requester(by: str | None, speaker: Speaker | None) -> None:
    """Raises ``ResumeAuthorizationError`` for whoever asked, and for who may be them."""
    if by is None:
        raise ResumeAuthorizationError("an answer to this request must say who decides")
    if speaker is None:
        return
    if same_person(by, speaker.id, speaker.linked):
        raise ResumeAuthorizationError("whoever asked for this may not decide it")
    if namespace(by) != namespace(speaker.id) and not {by} & set(speaker.linked):
        raise ResumeAuthorizationError(
            "it can't be told whether this is the person who asked: the identities aren't linked",
            fix=f"decide as an identity of {namespace(speaker.id)}, or link the two",
        )


def _vote(
    view: SessionView,
    ref: SessionRef,
    answer: Answer,
    record: TurnRecord,
    request: RequestRecord,
    quorum: int,
) -> Plan[AnswerOutcome]:
    if answer.by is None:
        raise ResumeAuthorizationError("a vote must say whose it is")
    mine = dumps(answer.value)
    latest = {vote.by: vote.value for vote in view.votes}
    again = latest.get(answer.by) == mine
    latest[answer.by] = mine
    votes = sum(
        value == mine and namespace(by) == namespace(answer.by) for by, value in latest.items()
    )
    vote = VoteRow(
        request=request.id, by=answer.by, value=mine, reason=answer.reason, at=answer.now
    )
    if votes >= quorum:
        plan = decide(record, request, ref, answer_outcome(answer.value), answer, quorum)
        return Plan(plan.result, replace(plan.writes, votes=(vote,)))
    event = ev.InputVoted(
        turn_id=record.turn_id,
        session=ref.key,
        at=answer.now,
        seq=record.last_seq + 1,
        id=request.id,
        by=answer.told_by or answer.by,
        votes=votes,
        quorum=quorum,
    )
    told = Answered(turn_id=record.turn_id, decided=False, outcome=None, votes=votes, quorum=quorum)
    if again:
        return Plan(AnswerOutcome(told, (), resumed=False))
    writes = Writes(votes=(vote,), events=(event_row(event, record.row),))
    return Plan(AnswerOutcome(told, (event,), resumed=False), writes)


def decide(
    record: TurnRecord,
    request: RequestRecord,
    ref: SessionRef,
    outcome: Outcome,
    answer: Answer,
    quorum: int = 1,
) -> Plan[AnswerOutcome]:
    """Store the answer, tell it, and put the turn back at the head of its session."""
    decided = replace(
        request,
        outcome=outcome,
        value=dumps(answer.value),
        reason=answer.reason,
        by=answer.told_by,
        decided_at=answer.now,
    )
    event = ev.InputAnswered(
        turn_id=record.turn_id,
        session=ref.key,
        at=answer.now,
        seq=record.last_seq + 1,
        id=request.id,
        outcome=outcome,
        value=answer.value,
        reason=answer.reason,
        by=answer.told_by,
    )
    rows: tuple[EventRow, ...] = (event_row(event, record.row),)
    told = Answered(
        turn_id=record.turn_id,
        decided=True,
        outcome=outcome,
        votes=quorum,
        quorum=quorum,
        value=answer.value,
    )
    writes = Writes(events=rows, turns=(replace(record, state="queued"),), requests=(decided,))
    return Plan(AnswerOutcome(told, (event,), resumed=True), writes)


@telling
def decide_expiry(view: SessionView, ref: SessionRef, now: Millis) -> Plan[AnswerOutcome | None]:
    """The request's deadline passed: the turn goes on without a person's word."""
    record, request = view.turn, view.request
    if (
        record is None
        or request is None
        or record.state != "suspended"
        or request.outcome is not None
        or request.expires_at is None
        or request.expires_at > now
    ):
        return Plan(None)
    expired = Answer(
        turn_id=record.turn_id,
        input_id=request.id,
        value=None,
        by="timer",
        via=None,
        granted=None,
        issuer=None,
        reason=None,
        digest=None,
        now=now,
    )
    plan = decide(record, request, ref, "expired", expired)
    return Plan(plan.result, plan.writes)


def pending_input(request: RequestRecord, votes: int = 0) -> PendingInput:
    body = request_body(request.body)
    return PendingInput(
        id=request.id,
        turn_id=request.turn_id,
        name=request.name,
        tool=request.tool,
        arguments=body.arguments,
        prompt=body.prompt,
        schema=body.schema,
        answerers=body.answerers,
        digest=request.digest,
        created_at=request.created_at,
        expires_at=request.expires_at,
        votes=votes,
    )
