"""All arguments, page by page: nothing is left out, and every page is one that Slack shows."""

from __future__ import annotations

import json

import pytest

from channels.slack.cards.arguments import exact, pages, view
from channels.slack.parsing.clicks import SHOW
from gateway.engine.kinds import JsonObject
from tests.unit.slack.cards.samples import HOSTILE, REQUEST, card, view_fits
from tests.unit.slack.words.oracle import elements

LONG: list[JsonObject] = [
    {},
    {"order": "1042"},
    {"note": "x" * 300_000},
    {"note": "🦀" * 70_000},
    {"lines": [f"line {n} {HOSTILE}" for n in range(1_500)]},
    {f"name {n}": {"deep": [[[n]]]} for n in range(3_000)},
]


@pytest.mark.parametrize("arguments", LONG, ids=range(len(LONG)))
def test_the_pages_hold_all_of_it(arguments: JsonObject) -> None:
    shown = card(arguments=arguments)
    every = pages(shown)
    text = ""
    for number in range(len(every)):
        page = view(shown, number)
        view_fits(page)
        for block in elements(page["blocks"]):
            if block.get("type") == "rich_text_preformatted":
                (element,) = [one for one in elements(block["elements"]) if "text" in one]
                text += str(element["text"]) + "\n"
    if arguments:
        assert "".join(text.split("\n")) == "".join(exact(arguments).split("\n"))


def test_pages_lead_to_each_other() -> None:
    shown = card(arguments=LONG[2])
    last = len(pages(shown)) - 1
    assert last >= 2

    def turns(number: int) -> list[tuple[object, object]]:
        blocks = view(shown, number)["blocks"]
        return [(one["action_id"], one["value"]) for one in elements(blocks) if "action_id" in one]

    assert turns(0) == [(f"{SHOW}.1", REQUEST)]
    assert turns(1) == [(f"{SHOW}.0", REQUEST), (f"{SHOW}.2", REQUEST)]
    assert turns(last) == turns(9_999) == [(f"{SHOW}.{last - 1}", REQUEST)]
    assert turns(-5) == turns(0)


def test_what_a_card_shortens_is_there_too() -> None:
    choices = ["x" * 200, "y"]
    shown = json.dumps(view(card(prompt="p" * 5_000, schema={"enum": choices}), 0))
    assert "x" * 200 in shown
    assert shown.count("p" * 2_000) >= 2
