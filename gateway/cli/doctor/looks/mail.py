"""What the mail servers say when they are asked. Nothing is changed in the mailbox, and nothing sent but the
probe, which is asked for by name."""

from __future__ import annotations

import asyncio
import secrets

from channels.email.api import Accepted, Later, Submission
from channels.email.settings import EmailSettings, read_settings
from channels.email.ways.account import Account, account
from channels.email.ways.glance import Glance, Glimpse, Step
from channels.email.ways.wire import BrokenError, DeniedError
from channels.email.writing.letter import Letter, written
from gateway.cli.doctor.seen import MailAsked
from gateway.config import Settings
from gateway.engine.errors import ConfigError
from gateway.engine.kinds import Millis
from gateway.engine.limits import SYSTEM_CLOCK

NEWEST = 30
CONNECT, ANSWER, SEND = 4.0, 6.0, 10.0
ARRIVES = 30.0
"""Seconds that a mail of ours to ourselves may take."""
AGAIN = 1.0


async def look(settings: Settings, *, probe: bool = False) -> MailAsked:
    try:
        given = read_settings(settings.environ)
        box = None if given.imap_url is None else account(given.imap_url)
        way_out = Submission(given.smtp_url, seconds=SEND)
    except ConfigError:
        return MailAsked()  # which is a finding of its own
    seen = None if box is None else await asyncio.to_thread(_glimpse, box, NEWEST)
    # Bounces of our letters come to such an address, so it is the sender that has to be allowed.
    answered = await way_out.ask(given.address.replace("@", "+doctor@"), given.address)
    sent: bool | str | None = None
    if probe:
        sent = await _probe(given, box, way_out)
    return MailAsked(box=seen, way_out=answered, probe=sent)


def _glimpse(box: Account, newest: int) -> Glimpse | tuple[Step, str]:
    glance = Glance(box, CONNECT, ANSWER, None)
    try:
        return glance.look(newest)
    except (BrokenError, DeniedError) as error:
        return glance.step, str(error)
    finally:
        glance.close()


async def _probe(given: EmailSettings, box: Account | None, way_out: Submission) -> bool | str:
    """Write to an address of ours with a plus, and see whether it comes. The channel takes it for its own
    and answers nobody."""
    if box is None:
        return "without EMAIL_IMAP_URL nothing here can see what arrives"
    local, _, domain = given.address.rpartition("@")
    token = f"doctor{secrets.token_hex(5)}"
    message_id = f"<{token}@{domain}>"
    letter = Letter(
        from_address=given.address,
        to=(f"{local}+{token}@{domain}",),
        subject="A probe of gateway doctor: please leave it alone",
        message_id=message_id,
        date=Millis(SYSTEM_CLOCK.now()),
        text="This mail finds out whether addresses with a plus reach this mailbox.",
        auto="auto-generated",
    )
    sent = await way_out.send(given.address, letter.to, written(letter))
    if not isinstance(sent, Accepted):
        said = sent.problem or sent.why if isinstance(sent, Later) else sent.why
        return f"the probe couldn't be sent: {said}"
    return await _arrived(box, message_id.encode())


async def _arrived(box: Account, message_id: bytes) -> bool | str:
    async def looked() -> Glimpse | tuple[Step, str]:
        while True:
            found = await asyncio.to_thread(_glimpse, box, NEWEST)
            if not isinstance(found, Glimpse) or any(message_id in one for one in found.newest):
                return found
            await asyncio.sleep(AGAIN)

    try:
        async with asyncio.timeout(ARRIVES):
            found = await looked()
    except TimeoutError:
        return False
    return True if isinstance(found, Glimpse) else found[1]
