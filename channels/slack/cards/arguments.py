r"""What a call would run with, exactly and all of it.

Arguments are shown as JSON. A character that can't be seen, or that turns others around, is spelled as
JSON spells it (``\u202e``): the text says what it holds, and read back it is the same value.

Format ("Rich text block" and "Views" in Slack's docs): nothing says how much a rich text element takes,
3,000 characters is the least that any text of a block does; a view takes 100 blocks and 250 kB.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence

from channels.protocol import Card
from channels.slack.cards import words
from channels.slack.cards.schemas import choices, label
from channels.slack.parsing.clicks import SHOW
from gateway.engine.kinds import Json, JsonObject

MOST_TEXT = 2_800
"""Characters of one element."""

MOST_ASKED = 700
"""Characters of what somebody wrote who asked for it."""

MOST_SHOWN = 4 * MOST_TEXT
MOST_CARD = 12_000
"""Characters of the arguments that a card holds itself, and of all that it holds; a whole message takes some
13,000."""

MOST_PAGE = 150_000
"""What a page of a modal costs at most, as JSON in ASCII: a letter may take twelve bytes there."""

_SUSPECT = re.compile(r"[^\x20-\x7e\n]")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


# -- the text ----------------------------------------------------------------------------------------------
def exact(value: Json) -> str:
    """A value as JSON in which every character can be seen."""
    return _SUSPECT.sub(_seen, json.dumps(value, indent=2, ensure_ascii=False))


def _seen(found: re.Match[str]) -> str:
    letter = found[0]
    if unicodedata.category(letter) not in _UNSEEN and (letter == " " or not letter.isspace()):
        return letter
    return json.dumps(letter)[1:-1]


def whole(card: Card) -> list[tuple[str, str]]:
    """Everything that a decision rests on, under its headings."""
    parts = [("Arguments", exact(card.arguments))] if card.arguments else []
    if len(card.prompt) > MOST_TEXT:
        parts.insert(0, ("Question", card.prompt))
    if card.asked is not None and len(card.asked.words) > MOST_ASKED:
        parts.append(("What was written", card.asked.words))
    if (options := choices(card.schema)) is not None and any(cut for _, cut in map(label, options)):
        listed = (f"{number}. {exact(one)}" for number, one in enumerate(options, 1))
        parts.append(("Choices", "\n".join(listed)))
    value = None if card.decided is None else card.decided.value
    if card.outcome == "answered" and len(answer := exact(value)) > MOST_TEXT:
        parts.append(("Answer", answer))
    return parts


def pieces(text: str, most: int = MOST_TEXT) -> Iterator[str]:
    """The text in pieces, cut at the ends of lines where there are any."""
    while len(text) > most:
        at = text.rfind("\n", most // 2, most) + 1 or most
        yield text[:at]
        text = text[at:]
    if text:
        yield text


def preformatted(text: str) -> JsonObject:
    return {
        "type": "rich_text_preformatted",
        "elements": [words.text(text.removesuffix("\n") or " ")],
    }


def more(hidden: int) -> JsonObject:
    """What isn't shown here."""
    return words.section([words.text(f"… {hidden:,} more characters", "italic")])


# -- in the card -------------------------------------------------------------------------------------------
def beginning(card: Card, beside: int) -> tuple[list[JsonObject], bool]:
    """The arguments as far as a card holds them that says ``beside`` characters more, and whether that isn't
    all."""
    if not card.arguments:
        return [], False
    text, most = exact(card.arguments), min(MOST_SHOWN, max(MOST_CARD - beside, 0))
    shown = [preformatted(piece) for piece in pieces(text[:most])]
    hidden = len(text) - most
    return ([*shown, more(hidden)], True) if hidden > 0 else (shown, False)


# -- page by page --------------------------------------------------------------------------------------------
def pages(card: Card) -> list[list[JsonObject]]:
    """Blocks of every page; one at least."""
    found: list[list[JsonObject]] = [[]]
    cost = 0
    for block in _blocks(card):
        size = len(json.dumps(block))
        if found[-1] and (cost + size > MOST_PAGE or len(found[-1]) >= 90):
            found.append([])
            cost = 0
        found[-1].append(block)
        cost += size
    return found


def _blocks(card: Card) -> Iterator[JsonObject]:
    parts = whole(card)
    if not parts:
        yield words.rich(words.section([words.text("It runs without arguments.")]))
    for heading, text in parts:
        yield words.rich(words.section([words.text(heading, "bold")]))
        for piece in pieces(text):
            yield words.rich(preformatted(piece))


def view(card: Card, page: int) -> JsonObject:
    """A modal with one page, from which the others can be reached."""
    every = pages(card)
    at = min(max(page, 0), len(every) - 1)
    blocks: list[Json] = [*every[at]]
    if len(every) > 1:
        told = f"Page {at + 1} of {len(every)}"
        blocks += [
            words.rich(words.section([words.text(told, "italic")])),
            *_turns(card, at, every),
        ]
    return {
        "type": "modal",
        "title": words.plain("All arguments"),
        "close": words.plain("Close"),
        "private_metadata": card.request,
        "blocks": blocks,
    }


def _turns(card: Card, at: int, every: Sequence[object]) -> Iterator[JsonObject]:
    found: list[Json] = []
    if at > 0:
        found.append(words.button("Previous", f"{SHOW}.{at - 1}", card.request))
    if at + 1 < len(every):
        found.append(words.button("Next", f"{SHOW}.{at + 1}", card.request))
    yield {"type": "actions", "block_id": f"june.{card.request}.{at}", "elements": found}
