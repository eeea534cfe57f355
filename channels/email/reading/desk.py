"""What mail is judged by, as its operator set it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from channels.email.identity.attest import Trust
from channels.email.identity.dkim import Signed
from channels.email.mail import Way
from channels.email.policy import EmailRules
from channels.email.reading.automated import Own
from channels.email.writing.tokens import Keys
from gateway.engine.struct import replace, struct

__all__ = ["Desk"]


@struct(frozen=True, slots=True, kw_only=True)
class Desk:
    """``trust`` is that of the mailbox, ``handing`` of the server that hands mail over."""

    mailbox: str
    rules: EmailRules
    trust: Trust
    handing: Trust
    own: Own
    keys: Keys
    signed: Callable[[bytes], Awaitable[tuple[Signed, ...]]] | None = None
    """Checks a mail's own signatures."""

    def believes(self, way: Way) -> Trust:
        """Whom to believe of what a header says: each way has the border that its operator named, since the
        line of another's can be forged below it. A provider's webhook has none: nothing that is documented
        tells its lines from a sender's."""
        match way:
            case "imap":
                return self.trust
            case "lmtp" | "smtp":
                return self.handing
            case "webhook":
                return replace(self.trust, authserv_id=None, border_host=None)
