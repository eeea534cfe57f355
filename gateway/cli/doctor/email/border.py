"""Whom the inbox believes: without a border that is found, nobody who writes is known.

What is proposed is what the newest mails say, and a sender may have written some of it: it is for a person
to see whether it is theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from channels.email.identity.recipients import bare, listed
from channels.email.identity.results import results
from channels.email.identity.scan import Unreadable, unfolded
from channels.email.identity.zone import RESULTS, zone
from channels.email.mail import Field
from channels.email.mime.headers import fields
from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.host.words.text import count

NAMES = ("EMAIL_AUTHSERV_ID", "EMAIL_BORDER_HOST")
ENOUGH = 2
"""Mails that have to agree before something is proposed."""
TOLD_TO = ("delivered-to", "x-original-to", "to", "cc")


def believed(seen: Seen) -> Iterator[Finding]:
    if not seen.mail_on:
        return
    s, newest = seen.settings, _newest(seen)
    yield from _handed_over(seen)
    if s.email_imap_url is None:
        return
    if s.email_border_host is None:
        yield warning(
            "email.border",
            "nobody who writes is known: EMAIL_BORDER_HOST isn't set",
            _says(newest, looked=_looked(seen)),
            _proposal(newest),
        )
        return
    if not newest:
        return
    host, name = s.email_border_host, s.email_authserv_id
    zones = [one for one in (_zone(mail, host) for mail in newest) if one is not None]
    if not zones:
        yield error(
            "email.border",
            f"nobody who writes is known: no mail came by way of {host}",
            f"none of the newest {len(newest)} has a Received line by it; {_says(newest)}",
            _proposal(newest),
        )
    elif not any(name in (None, server) or _under(server, name) for one in zones for server in one):
        yield error(
            "email.authserv",
            f"nobody who writes is known: {host} writes no results as {name}",
            _says(newest),
            _proposal(newest),
        )


def _handed_over(seen: Seen) -> Iterator[Finding]:
    """What another server hands over is judged by its own lines, and not by those of the mailbox's border."""
    s = seen.settings
    if s.email_listen is not None and s.email_listen_border_host is None:
        yield warning(
            "email.listen_border",
            "nobody whose mail is handed over is known: EMAIL_LISTEN_BORDER_HOST isn't set",
            f"EMAIL_LISTEN is {s.email_listen}, and what it takes is believed by its first Received line",
            Fix(
                text="If the server that hands mail over is the one that takes it from the world, set"
                " EMAIL_LISTEN_BORDER_HOST to its name (myhostname of Postfix), and"
                " EMAIL_LISTEN_AUTHSERV_ID to what its Authentication-Results begin with"
            ),
        )


def plus_seen(seen: Seen) -> Iterator[Finding]:
    """A mail to an address with a plus is proof that they arrive; nothing else is."""
    address = seen.settings.email_address
    if seen.mail is None or address is None or seen.mail.probe is not None:
        return
    if seen.mail.box is None or isinstance(seen.mail.box, tuple):
        return
    told = {at for mail in _newest(seen) for at in listed(mail, *TOLD_TO)}
    if not any(bare(at) == address.lower() != at for at in told):
        yield warning(
            "email.plus",
            f"whether replies arrive isn't known: no mail to {address.replace('@', '+…@')} is here yet",
            f"{count(len(_newest(seen)), 'mail')} of the mailbox were looked at",
            Fix(text="Find out, by one mail to ourselves", command="gateway doctor email --probe"),
        )


# -- what mails say ----------------------------------------------------------------------------------
def _looked(seen: Seen) -> bool:
    return seen.mail is not None and not isinstance(seen.mail.box, tuple | None)


def _newest(seen: Seen) -> list[tuple[Field, ...]]:
    box = None if seen.mail is None else seen.mail.box
    return [] if box is None or isinstance(box, tuple) else [fields(raw) for raw in box.newest]


def _zone(mail: tuple[Field, ...], host: str) -> list[str] | None:
    """The names that stand over the results of our side; ``None`` where that can't be told."""
    found = zone(mail, host, gmail=True)
    return None if found.why else [_server(field) for field in found.results]


def _server(field: Field) -> str:
    try:
        return results(field.value).server or ""
    except Unreadable:
        return ""


def _under(server: str, name: str | None) -> bool:
    wanted = (name or "").lower()
    return server.endswith(wanted) if wanted.startswith(".") else server == wanted


def _found(mail: tuple[Field, ...]) -> tuple[str, str, bool] | None:
    """Name, host and whether the results stand below the host's line (Gmail): of the topmost results."""
    above = ""
    for place, field in enumerate(mail):
        if field.name == "received":
            above = _by(field.value)
        if field.name == RESULTS and (server := _server(field)):
            below = above == server
            host = above if below else _next(mail[place:])
            return (server, host, below) if host else None
    return None


def _next(rest: Sequence[Field]) -> str:
    return next((_by(field.value) for field in rest if field.name == "received"), "")


def _by(value: bytes) -> str:
    try:
        words = unfolded(value).lower().split()
    except Unreadable:
        return ""
    return words[words.index("by") + 1].strip("();") if "by" in words[:-1] else ""


def _usual(newest: Sequence[tuple[Field, ...]]) -> tuple[str, str, bool] | None:
    counted = Counter(found for mail in newest if (found := _found(mail)) is not None)
    for found, times in counted.most_common(1):
        if times >= max(ENOUGH, len(newest) // 2):
            return found
    return None


def _says(newest: Sequence[tuple[Field, ...]], *, looked: bool = True) -> str:
    if not newest:
        return (
            "the mailbox is empty: send it a mail from outside, and look again"
            if looked
            else "no mail of the mailbox was looked at; with --online they are"
        )
    found = _usual(newest)
    if found is None:
        return f"the newest {count(len(newest), 'mail')} agree on no name and host"
    server, host, _ = found
    return f"the newest mails have results by {server}, above a Received line by {host}"


def _proposal(newest: Sequence[tuple[Field, ...]]) -> Fix:
    found = _usual(newest)
    if found is None:
        return Fix(
            text="Set EMAIL_BORDER_HOST to the host behind `by` in the Received line that your own mail"
            " server wrote, and EMAIL_AUTHSERV_ID to the name that its Authentication-Results begin"
            " with; docs/howto/email.md says how to find them"
        )
    server, host, below = found
    more = "; and write results_below=True in channels/email.py" if below else ""
    text = f"If {host} is a server of yours or of your provider, set these{more}"
    return Fix(text=text, command=f"export {NAMES[0]}={server} {NAMES[1]}={host}")
