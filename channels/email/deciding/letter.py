"""A request as a letter. Pure.

Everything that people or models wrote stands in code blocks, whose fences are longer than any run of
backticks in them: there it is no markup, and can't be taken for our words.
"""

from __future__ import annotations

from channels.email.approve import MOST_SHOWN
from channels.email.deciding.facts import facts
from channels.email.deciding.spelling import exact
from channels.email.writing.clean import block
from channels.protocol import Card

__all__ = ["subject", "words"]

MOST_QUOTED = 700
ONCE = (
    "To decide, open this page. It shows all of this again, and nothing is decided before you choose there."
    " It works for one answer, and for whoever has this letter: don't forward it."
)
SIGN_IN = "To decide, sign in to the console:"
ALSO = "Or sign in to the console:"
NOWHERE = "It is decided in the gateway's console."


def subject(card: Card) -> str:
    return f"Decision needed: {card.tool} ({card.digest[:8]})"


def words(card: Card, who: str, *, link: str, console: str) -> str:
    """The letter in Markdown. ``link`` is the page that decides, ``console`` the one that asks to sign in;
    either may be empty."""
    listed = facts(card, who)
    widest = max(len(name) for name, _ in listed)
    parts = [
        "A call waits until somebody decides whether it may run.",
        _fenced("\n".join(f"{name:<{widest}}  {value}" for name, value in listed)),
        "It would run with exactly this:",
        _fenced(_cut(exact(card.arguments), MOST_SHOWN)),
        "The agent asks, in its own words:",
        _fenced(_cut(card.prompt, MOST_SHOWN if link else MOST_QUOTED)),
    ]
    if card.asked is not None and card.asked.words:
        hidden = card.asked.hidden
        parts += [
            "What was written to it:",
            _fenced(_cut(card.asked.words, MOST_QUOTED, hidden)),
        ]
    if link:
        parts += [ONCE, f"<{link}>"]
    if console:
        parts += [ALSO if link else SIGN_IN, f"<{console}>"]
    elif not link:
        parts.append(NOWHERE)
    parts.append("Answering this letter decides nothing.")
    return "\n\n".join(parts)


def _cut(text: str, most: int, hidden: int = 0) -> str:
    left = max(len(text) - most, 0) + hidden
    return f"{text[:most]}\n… {left} more characters, not shown here" if left else text


def _fenced(text: str) -> str:
    told = block(text).strip("\n") or " "
    longest = run = 0
    for letter in told:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{told}\n{fence}"
