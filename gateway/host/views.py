"""Records as the JSON that the API answers with; the CLI prints the same."""

from __future__ import annotations

from gateway.approvals.ballot import Ballot
from gateway.engine.agent import AgentDef
from gateway.engine.decisions.opening import opening_from
from gateway.engine.decisions.park import pending_input
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.messages import Text
from gateway.engine.outcomes import (
    Answered,
    PendingInput,
    Reset,
    TurnResult,
    TurnSnapshot,
)
from gateway.engine.records import (
    AuditEntry,
    RequestSummary,
    SessionSummary,
    TurnRecord,
    TurnSummary,
)
from gateway.engine.wire import loads, message_from
from gateway.intake.envelope import unwrapped

OPENING_CHARACTERS = 200


def request_json(request: PendingInput) -> JsonObject:
    return {
        "id": request.id,
        "name": request.name,
        "prompt": request.prompt,
        "schema": request.schema,
        "digest": request.digest,
        "tool": request.tool,
        "arguments": request.arguments,
        "answerers": request.answerers,
        "votes": request.votes,
        "created_at": request.created_at,
        "expires_at": request.expires_at,
    }


def outcome_json(result: TurnResult, session: str) -> JsonObject:
    out: JsonObject = {
        "text": result.text,
        "turn_id": result.turn_id,
        "session": session,
        "status": result.status,
    }
    if result.error is not None:
        out["error"] = result.error
    if result.request is not None:
        out["request"] = request_json(result.request)
    return out


def snapshot_json(snapshot: TurnSnapshot, session: str) -> JsonObject:
    out: JsonObject = {
        "turn_id": snapshot.turn_id,
        "session": session,
        "state": snapshot.state,
        "text": snapshot.text,
        "usage": snapshot.usage,
        "cost": snapshot.cost,
        "last_seq": snapshot.last_seq,
        "queued_at": snapshot.queued_at,
        "started_at": snapshot.started_at,
        "ended_at": snapshot.ended_at,
    }
    if snapshot.error is not None:
        out["error"] = snapshot.error
    if snapshot.request is not None:
        out["request"] = request_json(snapshot.request)
    return out


def reset_json(reset: Reset) -> JsonObject:
    return {"previous_session": reset.previous_session, "generation": reset.generation}


def session_json(found: SessionSummary) -> JsonObject:
    return {
        "agent": found.row.ref.agent,
        "session": found.row.ref.key,
        "status": found.status,
        "generation": found.row.generation,
        "turns": found.turns,
        "pending": found.pending,
        "created_at": found.row.created_at,
        "active_at": found.row.active_at,
    }


def opening_text(found: TurnSummary) -> str:
    """What the turn was asked: still with the turn, or in the transcript since it began."""
    if found.opening is not None:
        return unwrapped(message_from(found.opening).text)
    blocks = opening_from(found.turn.body, found.turn.content).blocks
    return unwrapped("".join(block.text for block in blocks if isinstance(block, Text)))


def speaker_name(record: TurnRecord) -> str | None:
    """What the channel called whoever spoke, when it took the message."""
    speaker = opening_from(record.body).speaker
    return (speaker.name if speaker is not None else "") or None


def turn_json(found: TurnSummary) -> JsonObject:
    record = found.turn
    error: Json = None if record.error is None else loads(record.error)
    opening = opening_text(found)
    return {
        "agent": found.ref.agent,
        "session": found.ref.key,
        "turn_id": record.turn_id,
        "state": record.state,
        "source": record.source,
        "speaker": record.speaker,
        "speaker_name": speaker_name(record),
        "opening": opening[:OPENING_CHARACTERS],
        "error": error,
        "request": record.request if record.state == "suspended" else None,
        "attempts": record.attempts,
        "queued_at": record.queued_at,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
    }


def approval_json(found: RequestSummary, ballot: Ballot) -> JsonObject:
    """``votes`` are those that count together; ``cast`` are all, each with why it doesn't count."""
    return {
        **request_json(pending_input(found.request, len(ballot.counted))),
        "cast": ballot.rows(),
        "agent": found.ref.agent,
        "session": found.ref.key,
        "turn_id": found.request.turn_id,
        "outcome": found.request.outcome,
        "by": found.request.by,
    }


def answered_json(found: RequestSummary, answered: Answered) -> JsonObject:
    return {
        "id": found.request.id,
        "agent": found.ref.agent,
        "session": found.ref.key,
        "turn_id": answered.turn_id,
        "decided": answered.decided,
        "outcome": answered.outcome,
        "votes": answered.votes,
        "quorum": answered.quorum,
    }


def audit_json(found: AuditEntry) -> JsonObject:
    return {
        "number": found.number,
        "at": found.row.at,
        "kind": found.row.kind,
        "agent": found.row.agent,
        "session": found.row.session,
        "turn_id": found.row.turn_id,
        "subject": found.row.subject,
        "by": found.row.by,
        "digest": found.row.digest,
        "outcome": found.row.outcome,
    }


def agent_json(agent: AgentDef) -> JsonObject:
    tools: list[Json] = [
        {"name": tool.name, "description": tool.description, "effect": tool.effect}
        for tool in agent.tools.values()
    ]
    return {"name": agent.name, "model": agent.model.name, "tools": tools}
