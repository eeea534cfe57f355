"""The menu of what may go wrong between the mail server and the gateway."""

from __future__ import annotations

from collections.abc import Sequence

from channels.email.emulator.faults import Fault
from gateway.playground.faults import Entry


class MailEntry(Entry[Fault]):
    @property
    def embedded(self) -> bool:
        """Whether it takes the embedded server as the one that is read from."""
        return self.sample.on.startswith("imap:")


MENU: Sequence[MailEntry] = (
    MailEntry(
        name="Cut the line after the next letter",
        about="The server has the letter and can't say so. In half a minute the same goes once more, shown once.",
        sample=Fault("cut_after", "smtp:END"),
    ),
    MailEntry(
        name="Cut the line before the next letter is in",
        about="Nothing arrived. It is sent again.",
        sample=Fault("cut_before", "smtp:DATA"),
    ),
    MailEntry(
        name="Come again later (451)",
        about="The server takes no letter now. It is tried again.",
        sample=Fault("tempfail", "smtp:RCPT"),
    ),
    MailEntry(
        name="Refuse the next letter (550)",
        about="It can't be delivered, and the console says so: it may be sent from there once more.",
        sample=Fault("refuse", "smtp:END"),
    ),
    MailEntry(
        name="Take letters slowly, three times",
        about="Each of the next three letters takes three seconds.",
        sample=Fault("slow", "smtp:END", count=3, seconds=3.0),
    ),
    MailEntry(
        name="Cut the line while mail is read",
        about="The gateway connects again, and reads what it hadn't read.",
        sample=Fault("cut_before", "imap:FETCH"),
    ),
)
