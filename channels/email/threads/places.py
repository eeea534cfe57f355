"""How mail is named in the books. Pure."""

from __future__ import annotations

import hashlib

__all__ = ["copy", "mail", "message", "session"]


def session(mailbox: str, conversation: str) -> str:
    """The session of a conversation that began by mail."""
    return f"email:{mailbox}:{conversation}"


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
