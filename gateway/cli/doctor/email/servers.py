"""The mail servers: whether they let us in, and do what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator

from channels.email.api import Accepted, Later, Refused
from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen

IMAP, SMTP = "EMAIL_IMAP_URL", "EMAIL_SMTP_URL"
LOGIN_HINT = (
    "many providers want an app password, or IMAP and SMTP switched on for the account; / ? # @ : in it"
    " are %2F %3F %23 %40 %3A"
)


def mailbox(seen: Seen) -> Iterator[Finding]:
    box = None if seen.mail is None else seen.mail.box
    if box is None:
        return
    if not isinstance(box, tuple):
        if not box.moves:
            yield warning(
                "email.move",
                "the IMAP server can't move mails, so each stays in the inbox, marked as deleted",
                "it offers no MOVE (RFC 6851)",
                Fix(
                    text="Have the mailbox emptied of what is marked as deleted, or use LMTP: EMAIL_LISTEN"
                ),
            )
        return
    step, said = box
    match step:
        case "login":
            yield error(
                "email.login",
                "the IMAP server refuses user or password",
                said,
                Fix(text=f"Set user and password in {IMAP}; {LOGIN_HINT}"),
            )
        case "folder" if "can't be opened" in said:
            yield error(
                "email.folder",
                "the mailbox has no such folder",
                said,
                Fix(text=f"Have {IMAP} end with the folder's name, such as /INBOX"),
            )
        case _:
            yield error(
                "email.imap",
                "the IMAP server can't be reached, or doesn't do what was asked",
                said,
                Fix(
                    text=f"See that host, port and TLS in {IMAP} are as its operator says:"
                    " imaps://user:password@host:993/INBOX"
                ),
            )


def way_out(seen: Seen) -> Iterator[Finding]:
    answered = None if seen.mail is None else seen.mail.way_out
    if answered is None or isinstance(answered, Accepted):
        return
    sender = seen.settings.email_address
    if isinstance(answered, Refused):
        yield error(
            "email.sender",
            f"the mail server doesn't let us write as {sender}",
            answered.why,
            Fix(
                text=f"Let the user of {SMTP} send as {sender}, and as {sender} with a plus part, which"
                " bounces come back to; or set EMAIL_ADDRESS to an address that it may send as"
            ),
        )
        return
    repair = answered.problem if isinstance(answered, Later) else ""
    if "user and password" in repair:
        yield error(
            "email.smtp_login",
            "the SMTP server refuses user or password",
            answered.why,
            Fix(text=f"Set user and password in {SMTP}; {LOGIN_HINT}"),
        )
    elif "TLS" in repair or "certificate" in repair:
        yield error(
            "email.tls",
            "the SMTP server can't be spoken to in TLS",
            answered.why,
            Fix(
                text=f"Have {SMTP} say how: smtps://…@host (port 465), or"
                " smtps://…@host:587?tls=starttls; and name the host as its certificate does"
            ),
        )
    else:
        yield error(
            "email.smtp",
            "the SMTP server can't be reached, or doesn't want us",
            answered.why,
            Fix(
                text=f"See that host and port in {SMTP} are as its operator says, and let us out to it"
            ),
        )


def plus(seen: Seen) -> Iterator[Finding]:
    """Whether answers to our letters can come at all: they go to an address with a plus."""
    address = seen.settings.email_address
    if seen.mail is None or address is None:
        return
    example, probe = address.replace("@", "+…@"), seen.mail.probe
    if probe is False:
        yield error(
            "email.plus",
            f"mail to {example} doesn't reach the mailbox, so replies of customers are lost",
            "a probe was sent there, and isn't in the inbox half a minute later",
            Fix(
                text="Have the mail server deliver addresses with a plus to the mailbox, and not into a"
                " folder of their name (Postfix: recipient_delimiter = +; Dovecot:"
                " recipient_delimiter = +, lmtp_save_to_detail_mailbox = no)",
            ),
        )
    elif isinstance(probe, str):
        yield warning(
            "email.probe",
            "whether addresses with a plus are delivered couldn't be tried",
            probe,
            Fix(text="Mend that, then try again", command="gateway doctor email --probe"),
        )
