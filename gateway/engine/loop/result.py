"""What a turn came to, once it rests."""

from __future__ import annotations

from gateway.engine.decisions.closing import error_record
from gateway.engine.decisions.park import pending_input
from gateway.engine.errors import GatewayError
from gateway.engine.messages import Message
from gateway.engine.outcomes import TurnResult
from gateway.engine.records import RequestRecord, TurnRecord


def answer_in(messages: list[Message], record: TurnRecord) -> str:
    return "" if record.answer is None else messages[record.answer].text


def turn_result(
    record: TurnRecord, request: RequestRecord | None = None, text: str = ""
) -> TurnResult:
    state = record.state
    if state in {"queued", "running"}:
        raise GatewayError(f"turn {record.turn_id} has not come to rest: it is {state}")
    return TurnResult(
        turn_id=record.turn_id,
        status=state,  # type: ignore[arg-type]
        text=text,
        error=error_record(record),
        request=None if request is None else pending_input(request),
    )
