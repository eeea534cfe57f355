"""Deliveries and verdicts as JSON: what the API answers with and the command line prints."""

from __future__ import annotations

from gateway.engine.errors import NotFoundError, RequestError
from gateway.engine.kinds import Json, JsonObject, Millis
from gateway.engine.ledger import Delivery, Ledger, Part, VerdictRow


class NotDeadError(RequestError):
    """Only a delivery that was given up needs somebody to retry it."""

    status = 409
    code = "not_dead"


def delivery_json(row: Delivery) -> JsonObject:
    parts: list[Json] = [_part_json(part) for part in row.parts]
    return {
        "id": row.id,
        "agent": row.agent,
        "session": row.session,
        "turn_id": row.turn_id,
        "part": row.part,
        "source": row.source,
        "target": row.target,
        "lane": row.lane,
        "request": row.request,
        "state": row.state,
        "wanted": row.wanted,
        "shown": row.shown,
        "seq": row.seq,
        "ref": row.ref,
        "attempts": row.attempts,
        "next_try": row.next_try,
        "error": row.error,
        "revive_on": row.revive_on,
        "remind_at": row.remind_at,
        "at": row.at,
        "parts": parts,
    }


def _part_json(part: Part) -> JsonObject:
    return {
        "n": part.n,
        "kind": part.kind,
        "state": part.state,
        "ref": part.ref,
        "start": part.start,
        "end": part.end,
        "acked": part.acked,
        "opened_at": part.opened_at,
    }


def verdict_json(row: VerdictRow) -> JsonObject:
    return {
        "source": row.source,
        "event": row.event_id,
        "verdict": row.verdict,
        "rule": row.rule,
        "place": row.place,
        "speaker": row.speaker,
        "agent": row.agent,
        "session": row.session,
        "turn_id": row.turn_id,
        "said": row.said,
        "copies": row.copies,
        "at": row.at,
    }


async def find_delivery(ledger: Ledger, number: int) -> Delivery:
    """Raises ``NotFoundError``."""
    found = await ledger.delivery(number)
    if found is None:
        raise NotFoundError(f"no delivery {number}", fix="list them: GET /deliveries")
    return found


async def retry_delivery(ledger: Ledger, number: int, now: Millis) -> Delivery:
    """Make a dead delivery due again, and return it as it is then.

    Raises ``NotFoundError``, and ``NotDeadError`` for one that lives.
    """
    revived = await ledger.retry(id=number, now=now)
    found = await find_delivery(ledger, number)
    if not revived:
        raise NotDeadError(
            f"delivery {number} isn't dead, it is {found.state}",
            fix="nothing to do: what is due is sent without being asked",
        )
    return found
