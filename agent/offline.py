"""June's stand-in brain for when no model is configured: a few rules that read the transcript.

It is shown what a model would be shown, and answers in the same two ways: by text, or by calling
a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from gateway import ModelReply, ModelRequest

HELP = (
    "I can look up an order (try 1042 to 1046), refund one, leave a note on one, tell you the"
    " refund policy, or sum up the day. What do you need?"
)
_NUMBER = re.compile(r"(?<![\w$.-])#?(\d{4})\b(?![.,:-]\d)")
_AMOUNT = re.compile(r"\$\s?(\d+(?:\.\d{1,2})?)")
_NOTE = re.compile(
    r"\bnote\b.*?\d{4}\s*[:,-]?\s*(?:that\s+)?(?P<note>\S.*)", re.IGNORECASE | re.DOTALL
)
_SAID = re.compile(r'<message mark="(\w+)"[^>]*>\n(.*)\n</message mark="\1">\s*\Z', re.DOTALL)
_LATE = re.compile(r'^<late due="[^"]*T(?P<at>\d\d:\d\d)[^"]*" by="(?P<by>[^"]*)">')
_SMALL_TALK = (
    (r"\b(thanks?|thank you|cheers)\b", "You're welcome!"),
    (r"^\W*(hi|hello|hey|good (morning|afternoon|evening))\b", f"Hello, I'm June. {HELP}"),
)

Data = dict[str, object]


@dataclass(frozen=True)
class Result:
    """What came back from one call."""

    tool: str
    output: object
    data: Data
    failed: bool
    decision: Data

    @property
    def order(self) -> Data | None:
        return cast("Data | None", self.data.get("order")) if self.tool == "find_order" else None


def reply(request: ModelRequest) -> ModelReply:
    said, results = _said(request), _latest(request)
    if not results:
        return _open(said)
    orders = [result.order for result in results if result.order]
    if orders and len(orders) == len(results) and _wants_refund(said):
        named = _AMOUNT.search(said)
        return _together(
            ModelReply.call(
                "issue_refund",
                order_id=str(order["id"]),
                amount=named[1] if named else str(order["total"]),
            )
            for order in orders
        )
    if _nothing_new(request, results):
        return ModelReply.call("nothing_to_report", reason="no order needs a person")
    late = _LATE.search(request.text)
    first = [f"This was due at {late['at']} and comes late, by {late['by']}."] if late else []
    return ModelReply.say("\n".join([*first, *map(_tell, results)]))


def _nothing_new(request: ModelRequest, results: list[Result]) -> bool:
    """A digest that nobody asked for, about nothing that needs anybody."""
    offered = {tool.name for tool in request.tools}
    return "nothing_to_report" in offered and all(
        result.tool == "orders_digest" and not result.data.get("needs_attention")
        for result in results
    )


def _said(request: ModelRequest) -> str:
    """What was said. A channel puts it in an envelope that names who spoke, behind what stands above
    it in the thread."""
    found = _SAID.search(request.text)
    return request.text if found is None else found[2]


def _open(text: str) -> ModelReply:
    """The first step of a turn: which tool the message asks for, if any."""
    numbers = list(dict.fromkeys(_NUMBER.findall(text)))
    note = _NOTE.search(text)
    if note and numbers:
        return ModelReply.call("note_on_order", order_id=numbers[0], note=note["note"].strip())
    if numbers:
        return _together(ModelReply.call("find_order", order_id=number) for number in numbers)
    if _says(r"\b(digest|sum up|summary|overview)\b", text):
        return ModelReply.call("orders_digest")
    if _says(r"\b(policy|rules?)\b", text):
        return ModelReply.call("read_skill", name="refund_policy")
    if _wants_refund(text):
        return ModelReply.say("Which order is it? Give me its number and I'll look it up.")
    answers = (answer for pattern, answer in _SMALL_TALK if _says(pattern, text))
    return ModelReply.say(next(answers, HELP))


def _latest(request: ModelRequest) -> list[Result]:
    """The results of this turn's latest calls, in the order they were asked for."""
    results: list[Result] = []
    for message in reversed(request.turn):
        if message.role != "tool":
            break
        results[:0] = [
            Result(
                tool=result.name,
                output=result.output,
                data=cast("Data", result.output) if isinstance(result.output, dict) else {},
                failed=result.is_error,
                decision=cast("Data", result.decision or {}),
            )
            for result in message.results
        ]
    return results


def _together(calls: Iterable[ModelReply]) -> ModelReply:
    return ModelReply(tuple(block for call in calls for block in call.blocks), stop="tool_use")


def _says(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _wants_refund(text: str) -> bool:
    return _says(r"\b(refund|money back|give .* back)\b", text)


# -- words -----------------------------------------------------------------------------------------
def _tell(result: Result) -> str:
    data = result.data
    if result.failed:
        return f"That didn't work: {data.get('error', 'no reason given')}."
    if "cancelled" in data:
        return "That was cancelled before it began."
    match result.tool:
        case "find_order":
            return _tell_order(result)
        case "issue_refund":
            return _tell_refund(data, result.decision)
        case "note_on_order":
            return "Noted." if data.get("noted") else f"I can't: {data.get('reason')}."
        case "orders_digest":
            return _tell_digest(data)
        case "read_skill":
            return str(result.output).partition("## How to")[0].replace("# Refunds", "").strip()
        case _:
            return str(result.output)


def _tell_order(result: Result) -> str:
    order = result.order
    if not order:
        return f"I can't find an order {result.data.get('order_id')}. Is the number right?"
    text = (
        f"Order {order['id']} ({order['items']}, ${order['total']}) is {order['status']}:"
        f" {order['detail']}."
    )
    notes = cast("list[str]", result.data.get("notes") or [])
    return " ".join([text, *(f"Note: {note.rstrip('.')}." for note in notes)])


def _tell_refund(data: Data, decision: Data) -> str:
    if data.get("refunded"):
        paid, card = data["amount"], data["card"]
        return f"Refunded ${paid} to the card ending {card}, reference {data['refund']}."
    if decision.get("outcome") == "expired":
        return "Nobody decided in time, so nothing was refunded. Shall I ask again?"
    if decision.get("outcome") == "denied":
        reason = str(decision.get("reason") or "no reason was given").rstrip(".")
        return f"The refund wasn't approved, so nothing was paid: {reason}."
    return f"I can't refund that: {data.get('reason', 'no reason given')}."


def _tell_digest(data: Data) -> str:
    counts = cast("dict[str, int]", data.get("by_status") or {})
    states = ", ".join(f"{count} {status}" for status, count in counts.items())
    late = cast("list[Data]", data.get("needs_attention") or [])
    return "\n".join(
        [
            f"{data.get('orders')} orders: {states}.",
            *(f"Needs a person: {o['id']} for {o['customer']}, {o['detail']}." for o in late),
        ]
    )
