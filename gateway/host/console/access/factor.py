"""What somebody proves themselves with: a password, a code of the moment, a recovery code.

All of it is pure or slow, none of it knows a store. Passwords are hashed with argon2id, off the event
loop and two at a time: each takes 64 MiB for as long as it is looked at.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from functools import cached_property
from typing import TYPE_CHECKING

from pyotp import random_base32
from pyotp.totp import TOTP

from gateway.engine.kinds import Millis
from gateway.host.console.access.tokens import same

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 12, 256
"""Characters of a password."""
PERIOD = 30
"""Seconds that a code is good for; the one before and the one after are taken, too."""
RECOVERY_CODES = 10
ISSUER = "June Gateway"


class Passwords:
    """Hashes and checks. The work it takes is argon2-cffi's choice, which follows RFC 9106; tests ask
    for less."""

    def __init__(self, *, rounds: int | None = None, kibibytes: int | None = None) -> None:
        self._rounds, self._kibibytes = rounds, kibibytes
        self._places = asyncio.Semaphore(2)

    async def hash(self, password: str) -> str:
        async with self._places:
            return await asyncio.to_thread(lambda: self._hasher.hash(password))

    async def check(self, kept: str | None, password: str) -> bool:
        """``None``: there is nobody; that takes the same work, and is never right."""
        async with self._places:
            right = await asyncio.to_thread(self._matches, kept, password)
        return right and kept is not None

    def _matches(self, kept: str | None, password: str) -> bool:
        from argon2.exceptions import InvalidHashError, VerificationError

        try:
            return self._hasher.verify(kept or self._nobody, password)
        except (VerificationError, InvalidHashError):
            return False

    @cached_property
    def _hasher(self) -> PasswordHasher:
        from argon2 import Parameters, PasswordHasher, profiles

        base: Parameters = profiles.RFC_9106_LOW_MEMORY
        return PasswordHasher(
            time_cost=self._rounds or base.time_cost,
            memory_cost=self._kibibytes or base.memory_cost,
            parallelism=base.parallelism,
        )

    @cached_property
    def _nobody(self) -> str:
        return self._hasher.hash(secrets.token_hex(16))


def password_problem(password: str, name: str) -> str | None:
    """Why a password won't do. Length is what counts; rules about characters only annoy."""
    if len(password) < SHORTEST:
        return f"The password needs at least {SHORTEST} characters; four words will do."
    if len(password) > LONGEST:
        return f"The password may have {LONGEST} characters at most."
    if name.lower() in password.lower() and len(password) < SHORTEST + len(name):
        return "The password is little more than the name: add to it."
    if len(set(password)) < 5:
        return "The password repeats a few characters: mix them."
    return None


# -- the second factor -----------------------------------------------------------------------------
def new_secret() -> str:
    return random_base32()


def enrolment(secret: str, name: str) -> str:
    """The address that an authenticator app reads off the picture."""
    return TOTP(secret).provisioning_uri(name=name, issuer_name=ISSUER)


def step_of(secret: str, code: str, now: Millis, after: int = -1) -> int | None:
    """The time step that a code is of. One at or before ``after`` was used already: who looks over
    a shoulder is too late."""
    made, current = TOTP(secret), now // 1000 // PERIOD
    found = None
    for step in (current - 1, current, current + 1):
        if same(made.generate_otp(step), code) and step > after:
            found = step
    return found


def picture(text: str) -> str:
    """A QR code as SVG that may stand inside a page: no style, no script, nothing from elsewhere."""
    import segno

    return segno.make(text, error="m").svg_inline(
        scale=4, border=3, dark="#000", light="#fff", title="QR code for your authenticator app"
    )


# -- for the day the phone is lost -----------------------------------------------------------------
def recovery_codes() -> list[str]:
    """80 random bits each, in groups that can be copied by hand."""
    return [_grouped(secrets.token_hex(10)) for _ in range(RECOVERY_CODES)]


def recovery_digest(code: str) -> str:
    """Under which a recovery code is kept, however it was typed."""
    plain = "".join(code.lower().split()).replace("-", "")
    return hashlib.sha256(b"recovery\x00" + plain.encode("utf-8", "surrogatepass")).hexdigest()


def _grouped(text: str) -> str:
    return "-".join(text[at : at + 5] for at in range(0, len(text), 5))
