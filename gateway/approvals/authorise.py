"""The one way in for an answer, whichever surface it was given on."""

from __future__ import annotations

from gateway.engine.errors import NotFoundError, StaleAnswerError
from gateway.engine.kinds import Json, Speaker
from gateway.engine.outcomes import Answered, Grant, PendingInput
from gateway.engine.records import RequestSummary
from gateway.engine.session import Session


async def decide_as(  # noqa: PLR0913 - an answer has these parts
    session: Session,
    summary: RequestSummary,
    value: Json,
    *,
    by: str | None,
    principal: Speaker | None,
    reason: str | None,
    digest: str | None,
    via: str | None = None,
) -> Answered:
    """Answer a request. ``by`` is an identity that the surface verified, or that ``via`` vouches for;
    ``principal`` is what a policy's hook is told of the same person.

    Raises what ``Session.resume`` raises, and ``AuthorizeHookError`` when the hook failed. What is
    stale is said first: a hook is asked only about a request that is open and is what was shown.
    """
    granted: Grant | None = None
    pending = await still_asked(session, summary, digest)
    if pending is not None and by is not None and "policy" in pending.answerers:
        granted = await session.grant(pending.id, by=by, principal=principal)
    request = summary.request
    try:
        return await session.resume(
            request.turn_id,
            request.id,
            value,
            by=by,
            via=via,
            granted=granted,
            reason=reason,
            digest=digest,
        )
    except NotFoundError as error:
        # An answer to what isn't there is an answer that came to the wrong place.
        raise StaleAnswerError(
            str(error), fix="read the session's pending request and answer that"
        ) from error


async def still_asked(
    session: Session, summary: RequestSummary, digest: str | None
) -> PendingInput | None:
    """The request, if the session waits for just this one and it is what the person was shown."""
    pending = await session.pending()
    if pending is None or pending.id != summary.request.id:
        return None
    return pending if digest in {None, pending.digest} else None
