"""What others wrote, inside marks that it can't forge. Pure."""

from __future__ import annotations

from gateway.engine.messages import Text
from gateway.intake.envelope import marked

__all__ = ["framed", "indented", "label"]

_LONGEST_LABEL = 80


def framed(kind: str, note: str, inside: str, turn_id: str) -> Text:
    """``kind`` and ``note`` are our own words; ``inside`` is anybody's, and only data."""
    mark = marked(f"{note}\n{inside}", turn_id)
    opening = f'<{kind} mark="{mark}" note="{note}">'
    return Text(f'{opening}\n{inside}\n</{kind} mark="{mark}">\n')


def label(name: str) -> str:
    """A name as its bearer chose it, on one line, without what could end the place it stands in."""
    plain = "".join(c if c.isprintable() and c not in '<>"()[]&' else " " for c in name)
    return " ".join(plain.split())[:_LONGEST_LABEL].strip()


def indented(text: str) -> str:
    """All lines after the first one moved in: none of them can pass for somebody's next words."""
    return "\n    ".join(text.strip().splitlines())
