"""The words of a card, as elements of rich text.

Format ("Rich text block" in Slack's docs, ``slack_sdk/models/blocks/block_elements.py``): a ``text``
element is never read for markup, so whatever stands in one stays words; ``user`` and ``usergroup`` show
and notify whom they name; ``date`` shows a moment in the reader's own zone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from channels.slack.parsing.envelope import items, obj
from channels.slack.settings import SlackOptions
from channels.slack.words import mentions
from channels.slack.words.guardstate import straighten
from gateway.engine.kinds import Json, JsonObject, Millis

VOUCHED = " via "
"""Between an identity and the token that vouched for it, as the engine keeps who decided."""


def text(words: str, *styles: str) -> JsonObject:
    made: JsonObject = {"type": "text", "text": straighten(words)[0] or " "}
    return {**made, "style": dict.fromkeys(styles, True)} if styles else made


def section(elements: Iterable[JsonObject]) -> JsonObject:
    return {"type": "rich_text_section", "elements": [*elements]}


def rich(*elements: JsonObject) -> JsonObject:
    held: list[Json] = [*elements]
    return {"type": "rich_text", "elements": held}


def length(elements: Iterable[JsonObject]) -> int:
    """Characters of the text in them."""
    within = (one for element in elements for one in items(element.get("elements")))
    return sum(len(said) for one in within if isinstance(said := obj(one).get("text"), str))


def plain(words: str) -> JsonObject:
    """A plain text object, in which a colon is a colon."""
    return {"type": "plain_text", "text": straighten(words)[0], "emoji": False}


def button(label: str, action: str, request: str, style: str | None = None) -> JsonObject:
    made: JsonObject = {
        "type": "button",
        "text": plain(label),
        "action_id": action,
        "value": request,
    }
    return {**made, "style": style} if style else made


def moment(at: Millis) -> JsonObject:
    said = datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return {
        "type": "date",
        "timestamp": at // 1000,
        "format": "{date_short_pretty} at {time}",
        "fallback": said,
    }


def person(by: str, installation: str) -> list[JsonObject]:
    """Whoever has this identity: shown as Slack shows people if they are of this installation."""
    identity, vouched, token = by.partition(VOUCHED)
    found = mentions.of_identity(identity)
    home = identity.startswith(f"slack:{installation}:")
    who = mentions.element(found) if found and home else text(identity or "somebody")
    return [who, text(f" (vouched for by {token})")] if vouched else [who]


def people(identities: Iterable[str], installation: str) -> list[JsonObject]:
    found: list[JsonObject] = []
    for identity in identities:
        found += (
            [text(", "), *person(identity, installation)]
            if found
            else person(identity, installation)
        )
    return found


# -- who may decide ----------------------------------------------------------------------------------------
def deciders(answerers: JsonObject, options: SlackOptions) -> str:
    """Who may decide, for a sentence in which nothing is markup."""
    user, policy = answerers.get("user"), answerers.get("policy")
    if isinstance(user, str):
        found = "the person who was asked"
    elif isinstance(policy, str):
        words = options.policy_words.get(policy, "")
        found = words if words and not words.startswith("<") else f"the policy {policy}"
    else:
        return "anyone"
    return f"{found}{_but_not(answerers)}"


def may_decide(answerers: JsonObject, options: SlackOptions, installation: str) -> list[JsonObject]:
    """Who may decide, for a card; how many of them it takes stands there, too."""
    user, policy = answerers.get("user"), answerers.get("policy")
    if isinstance(user, str):
        who = person(user, installation)
    elif isinstance(policy, str):
        who = [_policy(policy, options)]
    else:
        return [text("anyone")]
    if (quorum := answerers.get("quorum", 1)) != 1:
        who = [text(f"{quorum} of "), *who]
    return [*who, text(_but_not(answerers))] if _but_not(answerers) else who


def _but_not(answerers: JsonObject) -> str:
    return ", but not whoever asked" if answerers.get("not_requester") else ""


def _policy(policy: str, options: SlackOptions) -> JsonObject:
    """An operator who wants the deciders notified writes Slack's token for them; other words are words."""
    words = options.policy_words.get(policy) or f"the policy {policy}"
    mention = mentions.of_setting(words) if words.startswith("<") else None
    return text(words) if mention is None else mentions.element(mention)
