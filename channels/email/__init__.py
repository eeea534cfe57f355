"""Email: letters in by IMAP, LMTP or a provider's webhook, and out by submission."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from channels.email.channel import EmailChannel

__all__ = ["email_channel"]


def email_channel(  # noqa: PLR0913 - each is an option
    env: Mapping[str, str],
    *,
    name: str = "Support",
    signature: str = "",
    reply_line: bool = False,
    colleagues: Collection[str] = (),
    machines: Collection[str] = (),
    aliases: Collection[str] = (),
    lists: Collection[str] = (),
    sealers: Collection[str] = (),
    results_below: bool = False,
    signatures: bool = False,
    unattested: Literal["answer", "hold"] = "answer",
    per_thread: int = 6,
    per_sender: int = 20,
    per_domain: int = 500,
    per_inbox: int = 100,
    links: Collection[str] = (),
) -> EmailChannel:
    """An inbox with the ``EMAIL_*`` settings in ``env``.

    - ``name``: what stands beside our address; ``signature``: Markdown below every answer;
      ``reply_line``: a line on top that asks to reply above it, where customers' programs quote oddly.
    - ``colleagues``: domains whose people take a conversation over by answering the customer in it.
    - ``machines``: addresses whose automated mail is read, and never answered.
    - ``aliases``: further addresses whose mail comes to the inbox. ``lists``: ids (``List-Id``) of mailing
      lists that only hand the inbox's mail on; what comes by any other list is never answered.
    - ``results_below``: our border writes what it found out below its own ``Received`` (Gmail).
      ``sealers``: forwarders whose word on an older check is believed. ``signatures``: a mail's own DKIM
      signature is checked here, where the border wrote down nothing.
    - ``unattested``: mail whose author nobody vouches for is answered, or held for an operator. Mail that
      its own domain disowns is held in any case.
    - ``per_thread``: mails of one sender in one conversation that are answered in an hour;
      ``per_sender``: of one sender in a day; ``per_domain``: of all senders of a domain who begin a
      conversation, in a day; ``per_inbox``: of all together whom nobody vouches for, in an hour. What is
      beyond is held for an operator.
    - ``links``: policies whose requests may be decided by a link in a letter, by whoever has the letter.
      Never what moves money.

    Raises ``ConfigError`` that names what is wrong.
    """
    # The emulator shares this folder; who wants only that isn't to load the channel.
    from channels.email.channel import EmailChannel
    from channels.email.settings import read_options, read_settings

    options = read_options(
        name=name,
        signature=signature,
        reply_line=reply_line,
        colleagues=colleagues,
        machines=machines,
        aliases=aliases,
        lists=lists,
        sealers=sealers,
        results_below=results_below,
        signatures=signatures,
        unattested=unattested,
        per_thread=per_thread,
        per_sender=per_sender,
        per_domain=per_domain,
        per_inbox=per_inbox,
        links=links,
    )
    return EmailChannel(read_settings(env), options)
