"""How mail is named in the books. Pure."""

from __future__ import annotations

import hashlib

__all__ = ["STANDING", "copy", "mail", "message", "session", "standing"]

STANDING = "email-conversation"
"""The kind of the documents that say who takes part in a conversation, and who of ours speaks in it."""


def session(mailbox: str, conversation: str) -> str:
    """The session of a conversation that began by mail."""
    return f"email:{mailbox}:{conversation}"


def standing(mailbox: str, conversation: str) -> str:
    """The key of that document."""
    return f"{mailbox}:{conversation}"


def mail(mailbox: str, content: str) -> str:
    """The place that one mail is; not by its Message-ID, which somebody else's mail may have, too."""
    return f"email:{mailbox}:{content}"


def copy(mailbox: str, shared: str) -> str:
    """The key of all copies of one mail."""
    return f"email:{mailbox}:copy:{shared}"


def message(mailbox: str, message_id: str) -> str:
    """The place that a Message-ID names. Ids may hold anything, so they are hashed."""
    digest = hashlib.sha256(message_id.encode(errors="surrogatepass")).hexdigest()[:32]
    return f"email:{mailbox}:message:{digest}"
