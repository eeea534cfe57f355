"""What somebody wrote in Slack, as plain text for a model, and who is meant by the names in it.

Format ("Formatting message text" in Slack's docs): ``&amp; &lt; &gt;`` spell the three characters, and
everything in angle brackets is a token: ``<@U1>``, ``<@U1|name>``, ``<#C1|name>``, ``<!here>``,
``<!subteam^S1|@team>``, ``<!date^…|fallback>``, ``<https://a.example|label>``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from channels.slack.words.guard import one_line
from gateway.engine.struct import struct

MOST_NAME = 80
MOST_HEADLINE = 80
NAMELESS = "…"
"""Stands for somebody of whom only the id is known."""

_TOKEN = re.compile(r"<([^<>\n]+)>")
_ENTITIES = re.compile(r"&(amp|lt|gt);")
_SPELLED = {"amp": "&", "lt": "<", "gt": ">"}
_PERSON = re.compile(r"@([UW][A-Z0-9]+)(?:\|(.*))?")
_CHANNEL = re.compile(r"#([CGD][A-Z0-9]+)(?:\|(.*))?")
_SPECIAL = re.compile(r"!([^|^]+)(?:\^([^|]*))?(?:\|(.*))?")
_UNPRINTED = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]")


@struct(frozen=True, slots=True)
class Named:
    """A person or a channel that the text names: ``name`` is how the plain text spells it."""

    name: str
    id: str


@struct(frozen=True, slots=True)
class Plain:
    text: str
    mentions: tuple[Named, ...] = ()


def plain(text: str, *, names: Mapping[str, str] | None = None, us: str | None = None) -> Plain:
    """Slack's text without its markup. ``names`` are known names by id; ``us`` is our own user, whose
    mention at the beginning only called us and goes."""
    reading = _Reading(names or {})
    at = 0
    out: list[str] = []
    rest = _without_call(text, us)
    for found in _TOKEN.finditer(rest):
        out.append(_decoded(rest[at : found.start()]))
        out.append(reading.token(found[1]))
        at = found.end()
    out.append(_decoded(rest[at:]))
    return Plain("".join(out), tuple(Named(name, key) for key, name in reading.given.items()))


def headline(said: Plain) -> str:
    """What a conversation that begins with this is called in a list: its first words, as one plain line
    that pings nobody. Empty if there are none."""
    begun = said.text.strip()[: 2 * MOST_HEADLINE].splitlines()
    line = begun[0] if begun else ""
    unknown = [one for one in said.mentions if one.name[1:] == one.id]
    for one in sorted(unknown, key=lambda one: -len(one.id)):
        line = line.replace(one.name, NAMELESS)
    return one_line(line, MOST_HEADLINE)


def _without_call(text: str, us: str | None) -> str:
    if us is None:
        return text
    call = re.compile(rf"\s*<@{re.escape(us)}(?:\|[^<>]*)?>[ \t]*[,:]?\s*")
    while (found := call.match(text)) is not None:
        text = text[found.end() :]
    return text


def _decoded(text: str) -> str:
    """Each entity once: ``&amp;lt;`` was written ``&lt;``."""
    return _ENTITIES.sub(lambda found: _SPELLED[found[1]], text)


def _name(text: str) -> str:
    """A display name is its owner's choice: one line, no tricks, not too long."""
    return " ".join(_UNPRINTED.sub(" ", text).split())[:MOST_NAME].lstrip("@#").strip()


class _Reading:
    """Names given so far, so that two people of one name stay apart."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names
        self.given: dict[str, str] = {}
        self.taken: set[str] = set()

    def token(self, inside: str) -> str:
        if person := _PERSON.fullmatch(inside):
            return self._named("@", person[1], person[2])
        if channel := _CHANNEL.fullmatch(inside):
            return self._named("#", channel[1], channel[2])
        if special := _SPECIAL.fullmatch(inside):
            return self._special(special[1], special[2] or "", special[3])
        return _link(inside)

    def _named(self, sign: str, key: str, label: str | None) -> str:
        if key in self.given:
            return self.given[key]
        name = _name(self.names.get(key, "") or _decoded(label or "")) or key
        spelled = sign + name
        if spelled in self.taken:
            spelled = f"{spelled} ({key})"
        self.taken.add(spelled)
        self.given[key] = spelled
        return spelled

    def _special(self, kind: str, detail: str, label: str | None) -> str:
        if kind == "subteam":
            return self._named("@", detail, label)
        if label is not None:
            return _decoded(label)
        return f"@{kind}" if kind in {"here", "channel", "everyone"} else f"<!{kind}>"


def _link(inside: str) -> str:
    """The address beside its label, unless the label is the address."""
    target, _, label = (_decoded(part) for part in inside.partition("|"))
    address = target.removeprefix("mailto:").removeprefix("tel:")
    if not label or label in {target, address} or target.endswith(f"//{label}"):
        return address
    return f"{label} ({address})"
