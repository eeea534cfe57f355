"""The settings: all there, and each such as it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from channels.email.settings import read_settings
from channels.email.ways.account import account
from channels.email.writing.route import route
from channels.email.writing.tokens import MOST_MAILBOX
from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.engine.errors import ConfigError
from gateway.values import needed

HOWTO = "see docs/howto/email.md"


def complete(seen: Seen) -> Iterator[Finding]:
    """What is off while the directory has the channel may be meant: that is a warning, unless an inbox
    was begun to be set up, or asked for by name."""
    missing = seen.settings.missing("email")
    wanted = seen.mail_wanted or seen.named_mail
    if missing and (wanted or seen.mail_mounted) and seen.served("email") is None:
        say = error if wanted else warning
        yield say(
            "email.settings",
            "the inbox is off: settings are missing",
            f"nothing is set of {'; nor of '.join(missing)}",
            Fix(text=f"Set {needed(missing)}; {HOWTO}"),
        )
    if seen.defined is not None and not seen.mail_mounted and wanted:
        yield error(
            "email.channel",
            f"{seen.defined.loaded.agent.name} answers no mail",
            "the agent's directory has no channels/email.py",
            Fix(text="Add the channel", command="gateway add channel email"),
        )


def address(seen: Seen) -> Iterator[Finding]:
    given = seen.settings.email_address
    local = (given or "").rpartition("@")[0]
    if given is not None and len(local) > MOST_MAILBOX:
        yield error(
            "email.address",
            f"EMAIL_ADDRESS has more than {MOST_MAILBOX} characters before its @",
            f"{local} has {len(local)}, and a signed token of 46 goes behind it: 64 are allowed",
            Fix(
                text="Make a shorter address for the mailbox, such as support@, and deliver the long one"
                " to it as an alias",
                command=f"export EMAIL_ADDRESS=support@{given.rpartition('@')[2]}",
            ),
        )


def readable(seen: Seen) -> Iterator[Finding]:
    """As the channel reads them when it is made."""
    s = seen.settings
    if seen.settings.missing("email") or [*address(seen)]:
        return
    reads: list[Callable[[], object]] = [lambda: read_settings(s.environ)]
    if (imap := s.email_imap_url) is not None:
        reads.append(lambda: account(imap))
    if (smtp := s.email_smtp_url) is not None:
        reads.append(lambda: route(smtp))
    for read in reads:
        try:
            read()
        except ConfigError as wrong:
            how = wrong.fix or "correct it where it stands"
            yield error(
                "email.settings",
                "the inbox is off: a setting can't be used",
                str(wrong),
                Fix(text=how[:1].upper() + how[1:], command="gateway config show --origin"),
            )
