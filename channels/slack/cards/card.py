"""A request as a message: built by the gateway from the arguments, never from what a model wrote about
them. The prompt and all that people or models wrote are text elements, which Slack doesn't read.

Format ("Block Kit" and "chat.update" in Slack's docs): blocks that hold controls have an id that is new
with each version of the message; ``text`` is what notifications show.
"""

from __future__ import annotations

from collections.abc import Iterator

from channels.protocol import Card
from channels.slack.cards import looks, words
from channels.slack.cards.arguments import MOST_TEXT, beginning, more, whole
from channels.slack.cards.schemas import asked, choices, labels
from channels.slack.parsing.clicks import APPROVE, DENY, FORM, PICK, REASON, SHOW
from channels.slack.settings import SlackOptions
from channels.slack.words.guardstate import straighten
from channels.slack.words.mrkdwn import literal
from gateway.engine.kinds import Json, JsonObject
from gateway.engine.struct import struct
from gateway.engine.wire import digest

MORE = "june.more"
"""The menu beside Approve and Deny; what is chosen in it says what was meant."""

MOST_NOTICE = 300

REPLACED = "A newer request took the place of this one."


@struct(frozen=True, slots=True, kw_only=True)
class Rendered:
    """``hash`` is the same for two versions that show the same."""

    blocks: list[JsonObject]
    text: str
    hash: str


def rendered(card: Card, options: SlackOptions, installation: str, version: int) -> Rendered:
    """The card for people of this installation. ``version`` counts what was to be told so far."""
    shown, cut = _shown(card, options, installation)
    controls = list(_controls(card, cut=cut))
    numbered: list[JsonObject] = [
        {**block, "block_id": f"june.{card.request}.{version * 10 + place}"}
        for place, block in enumerate(controls)
    ]
    text = notice(card)
    told: list[Json] = [*shown, *controls, text]
    return Rendered(blocks=[*shown, *numbered], text=text, hash=digest(told))


def gone() -> Rendered:
    """For a request that isn't kept any more, since its call asked for something else."""
    block = words.rich(words.section([words.text(REPLACED, "bold")]))
    return Rendered(blocks=[block], text=REPLACED, hash=digest([block]))


def notice(card: Card) -> str:
    prompt = " ".join(straighten(card.prompt)[0].split())
    if len(prompt) > MOST_NOTICE:
        prompt = f"{prompt[:MOST_NOTICE]}…"
    return literal(f"{prompt} {looks.line(card)}".strip())


def _shown(card: Card, options: SlackOptions, installation: str) -> tuple[list[JsonObject], bool]:
    """All but the controls, and whether some of the arguments had to be left out."""
    prompt = [words.section([words.text(card.prompt[:MOST_TEXT], "bold")])]
    if len(card.prompt) > MOST_TEXT:
        prompt.append(more(len(card.prompt) - MOST_TEXT))
    facts = [words.section(looks.facts(card, options, installation))]
    beside = [prompt, looks.asked(card), facts, looks.standing(card, installation)]
    arguments, cut = beginning(card, sum(map(words.length, beside)))
    beside.insert(1, arguments)
    return [words.rich(*elements) for elements in beside if elements], cut


# -- what can be pressed ------------------------------------------------------------------------------------
def _controls(card: Card, *, cut: bool) -> Iterator[JsonObject]:
    if not looks.is_open(card):
        if cut or any(heading != "Arguments" for heading, _ in whole(card)):
            yield _actions(_all_arguments(card))
        return
    match asked(card.schema):
        case "decision":
            yield _actions(
                words.button("Approve", APPROVE, card.request, "primary"),
                words.button("Deny", DENY, card.request, "danger"),
                _all_arguments(card),
                _menu(),
            )
        case "buttons":
            names = labels(choices(card.schema) or [])
            yield _actions(
                *(words.button(one, f"{PICK}.{n}", card.request) for n, one in enumerate(names)),
                _all_arguments(card),
            )
        case "select":
            yield _actions(_select(labels(choices(card.schema) or [])), _all_arguments(card))
        case "form":
            yield _actions(
                words.button("Answer", FORM, card.request, "primary"), _all_arguments(card)
            )


def _actions(*elements: JsonObject) -> JsonObject:
    return {"type": "actions", "elements": [*elements]}


def _all_arguments(card: Card) -> JsonObject:
    return words.button("All arguments", SHOW, card.request)


def _menu() -> JsonObject:
    option: JsonObject = {"text": words.plain("Deny with a reason"), "value": REASON}
    return {"type": "overflow", "action_id": MORE, "options": [option]}


def _select(names: list[str]) -> JsonObject:
    options: list[Json] = [
        {"text": words.plain(one), "value": str(number)} for number, one in enumerate(names)
    ]
    return {
        "type": "static_select",
        "action_id": PICK,
        "placeholder": words.plain("Choose"),
        "options": options,
    }
