"""Where letters are written: our addresses, our name, and how an answer stands in its thread. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from channels.email.answering.target import Target
from channels.email.render import bodies, marked
from channels.email.threads.places import session
from channels.email.writing.letter import File, Letter, answering, written
from channels.email.writing.tokens import (
    Keys,
    bounce_address,
    loop_mark,
    message_id,
    reply_to,
    twin,
)
from gateway.engine.kinds import Millis
from gateway.engine.struct import struct

__all__ = ["Office", "Written"]

NO_SUBJECT = "A message from {name}"


@struct(frozen=True, slots=True)
class Written:
    message_id: str
    raw: bytes


@struct(frozen=True, slots=True, kw_only=True)
class Office:
    """``mailbox`` is our address, ``name`` stands beside it. ``signature`` ends every letter."""

    mailbox: str
    name: str
    keys: Keys
    signature: str = ""
    reply_line: bool = False
    """Whether a line on top asks to reply above it."""

    def letter(  # noqa: PLR0913 - a letter has these parts
        self,
        target: Target,
        text: str,
        *,
        turn_id: str,
        part: int,
        at: Millis,
        earlier: Sequence[str] = (),
        files: tuple[File, ...] = (),
    ) -> Written:
        """``earlier`` are our own ids of the same turn. Raises ``LetterError``."""
        mailbox, domain = self.mailbox, self.mailbox.rpartition("@")[2]
        key = session(mailbox, target.conversation)
        own = message_id(self.keys, key, turn_id, part, domain)
        subject = target.subject or NO_SUBJECT.format(name=self.name)
        told, html = bodies(f"{text}\n\n{self.signature}" if self.signature else text)
        if self.reply_line:
            told, html = marked(told, html)
        raw = written(
            Letter(
                from_address=mailbox,
                from_name=self.name,
                to=(target.address,),
                reply_to=reply_to(self.keys, mailbox, target.conversation, target.address),
                subject=answering(subject) if target.answers else subject,
                message_id=own,
                twin=twin(self.keys, own),
                in_reply_to=target.in_reply_to,
                references=(*target.references, *earlier),
                date=at,
                text=told,
                html=html,
                auto="auto-replied" if target.answers else "auto-generated",
                loop=loop_mark(self.keys, target.conversation),
                attachments=files,
            )
        )
        return Written(own, raw)

    def bounces_to(self, conversation: str, delivery: int) -> str:
        """The envelope's sender."""
        return bounce_address(self.keys, self.mailbox, conversation, delivery)
