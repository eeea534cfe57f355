"""What a person is told where a turn has no words of its own to tell. Pure.

Nothing of what went wrong inside is among it; a reference lets somebody who may look find it.
"""

from __future__ import annotations

from channels.protocol import Card, TurnView

PROMPT = 200
"""Characters of a request's prompt that a note repeats."""


def closing(view: TurnView, said: bool) -> str:
    """The last line of a turn, or nothing where none is owed. ``said``: something was shown already."""
    match view.state:
        case "failed" | "timed_out":
            if view.schedule:
                return (
                    f"The schedule `{view.schedule}` failed. Whoever looks after me finds why"
                    f" under this reference: {view.reference}"
                )
            return (
                "Sorry, I couldn't finish this. If it matters, pass this reference on to whoever"
                f" looks after me: {view.reference}"
            )
        case "cancelled":
            return _cancelled(view, said)
        case "completed":
            return "" if said else "I have nothing to add."
        case _:
            return ""


def _cancelled(view: TurnView, said: bool) -> str:
    match view.cancelled:
        case "replaced":
            # Who wrote again is answered there; a line of its own here would only be noise.
            return "(superseded by a newer message)" if said else ""
        case "reset":
            return "Conversation reset."
        case _:
            return "Stopped."


def queued(behind: Card, deciders: str) -> str:
    """To who wrote while an earlier request of the conversation still waits for a decision."""
    asked = " ".join(behind.prompt.split())
    if len(asked) > PROMPT:
        asked = f"{asked[: PROMPT - 1].rstrip()}…"
    return (
        f"Got it. I take this up as soon as {deciders or 'somebody who may'} decided on what I asked"
        f" before: {asked}"
    )
