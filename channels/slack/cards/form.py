"""The modals of a request: one that asks for its answer, one that asks why it is denied.

Format ("Views" in Slack's docs): ``callback_id`` and ``private_metadata`` come back with what was sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from channels.protocol import Card
from channels.slack.cards import words
from channels.slack.cards.arguments import MOST_TEXT, exact, more, pieces, preformatted
from channels.slack.cards.fields import Field, as_input, fields
from channels.slack.parsing.clicks import ANSWER_FORM, REASON, REASON_FORM
from gateway.engine.kinds import JsonObject

__all__ = ["reason_view", "view"]

MOST_VIEW = 200_000
"""A view takes 250 kB; measured as ASCII, which counts a letter higher than Slack can."""

MOST_REASON = 2_000


def view(card: Card) -> JsonObject:
    """The modal that asks for the answer."""
    inputs = [(field, as_input(field)) for field in fields(card.schema)]
    helped = [_prompt(card)]
    for field, block in inputs:
        helped.append(block)
        if field.kind == "json":
            helped.append(words.rich(*_expected(field)))
    if len(json.dumps(helped)) > MOST_VIEW:
        helped = [_prompt(card), *(block for _, block in inputs)]
    return _modal(card, ANSWER_FORM, "Answer", "Send", helped)


def reason_view(card: Card) -> JsonObject:
    """The modal that asks why it is denied; the reason may be left out."""
    element: JsonObject = {
        "type": "plain_text_input",
        "action_id": REASON,
        "multiline": True,
        "max_length": MOST_REASON,
    }
    asked: JsonObject = {
        "type": "input",
        "block_id": "june.why",
        "optional": True,
        "label": words.plain("Reason"),
        "hint": words.plain("The agent reads it."),
        "element": element,
    }
    return _modal(card, REASON_FORM, "Deny", "Deny", [_prompt(card), asked])


def _modal(
    card: Card, callback: str, title: str, submit: str, blocks: list[JsonObject]
) -> JsonObject:
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": card.request,
        "title": words.plain(title),
        "submit": words.plain(submit),
        "close": words.plain("Cancel"),
        "blocks": [*blocks],
    }


def _prompt(card: Card) -> JsonObject:
    shown = words.section([words.text(card.prompt[:MOST_TEXT], "bold")])
    hidden = len(card.prompt) - MOST_TEXT
    return words.rich(shown, more(hidden)) if hidden > 0 else words.rich(shown)


def _expected(field: Field) -> Iterator[JsonObject]:
    """The shape of what has to be written as JSON."""
    spelled = exact(field.schema)
    shown = next(pieces(spelled))
    yield preformatted(shown)
    if shown != spelled:
        yield more(len(spelled) - len(shown))
