"""What the running host says of its inbox, and what waits there for a person."""

from __future__ import annotations

from collections.abc import Iterator

from channels.email.standing import ELSEWHERE
from gateway.cli.doctor.finding import Finding, Fix, error, warning
from gateway.cli.doctor.seen import Seen
from gateway.cli.told import objects_of, text_of, whole
from gateway.host.words.text import count, distance, one_line


def down(seen: Seen) -> Iterator[Finding]:
    row = seen.served("email")
    if row is None:
        if seen.kept is not None and seen.kept.host is not None and seen.mail_on:
            yield error(
                "email.down",
                "the inbox is set up here, and off on the running host",
                f"the host at {seen.kept.host} started without it",
                Fix(
                    text="Restart the host with the settings of this shell", command="gateway serve"
                ),
            )
    elif said := str(row.get("problem") or ""):
        yield error(
            "email.down",
            "the inbox doesn't work on the running host",
            f"the host says: {said}",
            Fix(
                text="Mend what it names; the host tries again by itself",
                command="gateway doctor email --online",
            ),
        )


def lease(seen: Seen) -> Iterator[Finding]:
    """One host reads a mailbox at a time."""
    row = seen.served("email")
    lines = None if row is None or row.get("problem") else row.get("standing")
    told = [text_of(one.get("told")) for one in objects_of(lines)]
    elsewhere = [one for one in told if ELSEWHERE in one]
    if elsewhere:
        yield warning(
            "email.lease",
            "the running host doesn't read the mailbox: another one has its lease",
            elsewhere[0],
            Fix(
                text="Nothing, where you run several hosts: this one takes over when the other ends. Else"
                " wait half a minute, for the lease of one that died; or give each host a database or a"
                " mailbox of its own",
                command="gateway status",
            ),
        )


def quarantine(seen: Seen) -> Iterator[Finding]:
    box = None if seen.mail is None else seen.mail.box
    if box is None or isinstance(box, tuple) or not box.quarantined:
        return
    yield warning(
        "email.quarantine",
        f"{count(box.quarantined, 'mail')} couldn't be read, and nobody was answered",
        "they lie in the folder Quarantine",
        Fix(
            text="Look at each in a mail program, answer its sender yourself, and delete it there",
            command="gateway mail list",
        ),
    )


def held(seen: Seen) -> Iterator[Finding]:
    rows = () if seen.kept is None else seen.kept.held_mail
    if not rows:
        return
    last = rows[-1]
    came = distance(whole(last.get("came") or last.get("at")), seen.now)
    yield warning(
        "email.held",
        f"{count(len(rows), 'mail')} held for an operator",
        f"the oldest came {came}: {one_line(text_of(last.get('means')), 120)}",
        Fix(
            text="Look at each, and let in what is meant for us", command="gateway mail list --held"
        ),
    )
