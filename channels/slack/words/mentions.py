"""Mentions that the gateway wants: an approver, an asker. Added by code, after the guard.

A mention is made from an identity that a verified event carried (``slack:T1:U1``) or that an operator
configured, never from what somebody wrote. Whole channels can't be mentioned from here at all. Format
("Formatting message text" and "Rich text block" in Slack's docs): ``<@U1>``, ``<!subteam^S1>``, and the
elements ``user`` and ``usergroup``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from gateway.engine.kinds import JsonObject
from gateway.engine.struct import struct

_IDENTITY = re.compile(r"slack:[TE][A-Z0-9]{1,30}:([UW][A-Z0-9]{1,30})")
IDENTITY = re.compile(r"\b(slack:[TE][A-Z0-9]{1,30}:[UW][A-Z0-9]{1,30})\b")
"""One within a text; splitting by it leaves it standing."""
_CONFIGURED = re.compile(
    r"<@([UW][A-Z0-9]{1,30})(?:\|[^<>|]*)?>|<!subteam\^(S[A-Z0-9]{1,30})(?:\|[^<>|]*)?>"
    r"|@?([UWS][A-Z0-9]{1,30})"
)


@struct(frozen=True, slots=True)
class Mention:
    kind: Literal["user", "group"]
    id: str


def of_identity(identity: str) -> Mention | None:
    """The person behind an attested identity; ``None`` for one that isn't Slack's."""
    found = _IDENTITY.fullmatch(identity)
    return Mention("user", found[1]) if found else None


def of_setting(setting: str) -> Mention | None:
    """A user or a user group as an operator writes it: ``U1``, ``S1``, or Slack's own token."""
    found = _CONFIGURED.fullmatch(setting.strip())
    if found is None:
        return None
    name = found[1] or found[2] or found[3]
    return Mention("group" if name.startswith("S") else "user", name)


def token(mention: Mention) -> str:
    """For Markdown and mrkdwn that went through the guard or was escaped."""
    return f"<@{mention.id}>" if mention.kind == "user" else f"<!subteam^{mention.id}>"


def element(mention: Mention) -> JsonObject:
    """For rich text."""
    if mention.kind == "user":
        return {"type": "user", "user_id": mention.id}
    return {"type": "usergroup", "usergroup_id": mention.id}


def addressed(guarded: str, mentions: Iterable[Mention]) -> str:
    """Guarded text with people in front of it, each once."""
    tokens = dict.fromkeys(token(mention) for mention in mentions)
    return " ".join([*tokens, guarded]) if tokens else guarded
