"""Who is notified by a message, and which addresses are fetched for it.

A mention is live wherever Slack reads markup: in ``text``, in ``mrkdwn`` and ``markdown`` objects and
in what is streamed, inside code too. Entities are not read again, so ``&lt;!here&gt;`` is text. In
``rich_text`` only a mention element notifies; its text elements and ``plain_text`` never do. Where it is
unknown whether Slack would notify (task titles, a rewritten message), it counts: the ledger is there to
prove that nobody was disturbed.

Source: Slack docs "Formatting message text", "Rich text block", "chat.update" (``parse``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from channels.slack.emulator.journal import PingKind
from channels.slack.emulator.wire import a_text
from gateway.engine.kinds import Json, JsonObject

Named = tuple[PingKind, str]

USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
GROUP = re.compile(r"<!subteam\^(S[A-Z0-9]+)(?:\|[^<>]*)?>")
EVERYBODY = re.compile(r"<!(here|channel|everyone|group)(?:\|[^<>]*)?>")
WORDS = re.compile(r"(?<![\w@<.])@(here|channel|everyone)\b")
NAMES = re.compile(r"(?<![\w@<.])@([a-z0-9][\w.-]*)")
LINKS = re.compile(r"https?://[^\s|<>\"'`)\]]+")
PARSED = frozenset({"full", "client"})


def mentions(text: str) -> Iterator[Named]:
    """The live mentions of a text that Slack reads for markup."""
    for found in USER.finditer(text):
        yield "user", found[1]
    for found in GROUP.finditer(text):
        yield "group", found[1]
    for found in EVERYBODY.finditer(text):
        yield "broadcast", "channel" if found[1] == "group" else found[1]


def bare(text: str, people: dict[str, str]) -> Iterator[Named]:
    """What ``parse`` or ``link_names`` makes live on top: plain ``@here`` and ``@ada``."""
    for found in WORDS.finditer(text):
        yield "broadcast", found[1]
    for found in NAMES.finditer(text):
        if found[1] in people:
            yield "user", people[found[1]]


def in_blocks(blocks: Iterable[Json]) -> Iterator[Named]:
    for block in blocks:
        yield from _inside(block)


def _inside(node: Json) -> Iterator[Named]:
    if isinstance(node, list):
        for item in node:
            yield from _inside(item)
    if not isinstance(node, dict):
        return
    match a_text(node.get("type")):
        case "plain_text" | "text" | "link" | "emoji" | "date" | "color":
            return
        case "mrkdwn" | "markdown":
            yield from mentions(a_text(node.get("text")))
        case "user":
            yield "user", a_text(node.get("user_id"))
        case "usergroup":
            yield "group", a_text(node.get("usergroup_id"))
        case "broadcast":
            yield "broadcast", a_text(node.get("range"))
        case "task_card" | "plan":
            yield from mentions(a_text(node.get("title")))
            yield from _children(node)
        case _:
            yield from _children(node)


def _children(node: JsonObject) -> Iterator[Named]:
    for value in node.values():
        if isinstance(value, dict | list):
            yield from _inside(value)


def links(text: str, blocks: Iterable[Json] = ()) -> list[str]:
    """Addresses in the order in which they stand, each once."""
    found = dict.fromkeys(LINKS.findall(text))
    for node in _flat(list(blocks)):
        if node.get("type") in {"mrkdwn", "markdown"}:
            found.update(dict.fromkeys(LINKS.findall(a_text(node.get("text")))))
        elif node.get("type") == "link":
            found[a_text(node.get("url"))] = None
    return [url for url in found if url.startswith(("http://", "https://"))]


def _flat(node: Json) -> Iterator[JsonObject]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _flat(value)
    elif isinstance(node, list):
        for item in node:
            yield from _flat(item)


def ids_in(blocks: Iterable[Json], kinds: frozenset[str]) -> list[JsonObject]:
    """Every object of these types inside the blocks."""
    return [node for node in _flat(list(blocks)) if a_text(node.get("type")) in kinds]
