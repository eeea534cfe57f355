"""Untrusted text inside marks that it can't forge. Pure.

The mark is a digest of the turn's id and the text itself, and no part of the text: whatever somebody
writes, the only line that closes the envelope is the one put behind it. The same post always gets the
same envelope, so that a copy of it is recognised. It keeps a model from mixing up who said what;
what the model may do about it is decided elsewhere, by the turn's trust.
"""

from __future__ import annotations

import hashlib
import re

from gateway.engine.kinds import Speaker

_LABEL = re.compile(r'[<>"&\s]+')
_END = re.compile(r'\n</message mark="(\w{16})">\s*+\Z')
_LONGEST_NAME = 80


def wrap(text: str, *, turn_id: str, speaker: Speaker) -> str:
    """``text`` with who said it, how well they are known, and whether that is good enough to be
    taken at their word."""
    mark = marked(text, turn_id)
    trust = "attested" if speaker.attested else "unattested"
    said_by = f'from="{_label(speaker.id)}"'
    if name := _label(speaker.name)[:_LONGEST_NAME].strip():
        said_by += f' name="{name}"'
    opening = f'<message mark="{mark}" {said_by} level="{speaker.level}" trust="{trust}">'
    return f'{opening}\n{text}\n</message mark="{mark}">'


def unwrapped(text: str) -> str:
    """What was said, for people who read of a turn: without the envelope, and what went before it."""
    end = _END.search(text)
    at = -1 if end is None else text.find(f'<message mark="{end[1]}"')
    while end is not None and at >= 0:
        begin = text.find(">", at) + 1
        if 0 < begin < end.start() and text[begin] == "\n":
            return text[begin + 1 : end.start()]
        at = text.find(f'<message mark="{end[1]}"', begin) if begin else -1
    return text


def marked(text: str, turn_id: str) -> str:
    """Sixteen characters that don't stand in the text."""
    told, n = text.casefold(), 0
    while True:
        mark = hashlib.sha256(f"{turn_id}\n{n}\n{text}".encode(errors="replace")).hexdigest()[:16]
        if mark not in told:
            return mark
        n += 1


def _label(name: str) -> str:
    """A name as its bearer chose it, without what could end the label or the line."""
    return _LABEL.sub(" ", "".join(c if c.isprintable() else " " for c in name)).strip()
