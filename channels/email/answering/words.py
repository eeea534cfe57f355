"""What a correspondent is told where a turn has no words of its own. Pure."""

from __future__ import annotations

from channels.protocol import TurnView

__all__ = ["WAITING", "closing", "queued"]

WAITING = (
    "A colleague has to confirm this first. I'll write to you again as soon as that is decided."
)


def closing(view: TurnView, *, said: bool) -> str:
    """The last line of a turn, or nothing where none is owed. ``said``: there are words to send, or some
    were sent."""
    match view.state:
        case "failed" | "timed_out":
            if view.schedule:
                return (
                    f"The schedule {view.schedule} failed. Whoever looks after me finds why"
                    f" under this reference: {view.reference}"
                )
            return (
                "Sorry, I couldn't finish this. If you write again, please mention this reference:"
                f" {view.reference}"
            )
        case "completed":
            return "" if said else "I have nothing to add to this."
        case _:
            return ""  # somebody of us stopped it, and says why


def queued() -> str:
    return (
        "Thank you, I have your message. A colleague is still deciding on what you asked before; I'll"
        " come back to this one right after that."
    )
