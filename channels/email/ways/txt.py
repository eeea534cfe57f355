"""TXT records, for a mail's own signatures."""

from __future__ import annotations

from channels.email.identity.dkim import Resolve

__all__ = ["resolver"]

SECONDS = 4.0
"""For one look-up."""


def resolver() -> Resolve:
    """By the machine's own name servers. Imported when it is first asked: who doesn't check signatures
    needn't wait for it."""

    async def resolve(name: str) -> bytes | None:
        from dns.asyncresolver import Resolver
        from dns.exception import DNSException
        from dns.resolver import NXDOMAIN, NoAnswer

        try:
            found = await Resolver().resolve(name, "TXT", lifetime=SECONDS)
        except (NXDOMAIN, NoAnswer):
            return None
        except DNSException as error:
            raise OSError(f"a name server doesn't answer: {type(error).__name__}") from error
        for record in found:
            return b"".join(record.strings)
        return None

    return resolve
