"""Everything that the sign-in works with, and signing in itself."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from aiohttp import web

from channels.protocol import Sealer
from gateway.engine.errors import GatewayError
from gateway.engine.ledger import Ledger
from gateway.engine.limits import Clock
from gateway.engine.struct import replace
from gateway.host.auth import ForbiddenError
from gateway.host.console.access import factor
from gateway.host.console.access.links import Link, Links
from gateway.host.console.access.people import LOCAL_USER, People, Person
from gateway.host.console.access.sessions import Held, Way, WebSessions
from gateway.host.console.access.tokens import derived
from gateway.host.console.access.tries import Tries
from gateway.sealing import make_sealer

if TYPE_CHECKING:
    from gateway.host.console.access.oidc import Provider

log = logging.getLogger("gateway.console")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to sign in through a provider. All of it follows from a cookie that this browser
    alone has, so that nothing is kept and nobody else's browser can finish it."""

    token: str

    def state(self, onward: str) -> str:
        """What the provider hands back. It carries where to go, so that nobody can change that."""
        return f"{derived(self.token, f'the state before {onward}')}.{onward}"

    @property
    def nonce(self) -> str:
        return derived(self.token, "the nonce of a sign-in")

    @property
    def verifier(self) -> str:
        return derived(self.token, "the verifier of a sign-in")


@dataclass(kw_only=True)
class Access:
    """Who may see the operators' pages of one host.

    There is one way in: ``local`` takes the link that ``gateway dev`` prints and nothing else, an
    OpenID provider goes before named users.
    """

    ledger: Ledger
    clock: Clock
    sealer: Sealer | None = None
    public_url: str | None = None
    proxies: tuple[str, ...] = ()
    local: bool = False
    provider: Provider | None = None
    passwords: factor.Passwords = field(default_factory=factor.Passwords)

    @property
    def way(self) -> Way:
        if self.local:
            return "link"
        return "password" if self.provider is None else "oidc"

    @property
    def secure(self) -> bool:
        """Whether browsers come over TLS, and cookies may say so."""
        return not self.local and (self.public_url or "").lower().startswith("https://")

    @cached_property
    def people(self) -> People:
        return People(self.ledger, self.clock)

    @cached_property
    def sessions(self) -> WebSessions:
        return WebSessions(self.ledger, self.clock)

    @cached_property
    def links(self) -> Links:
        return Links(self.ledger, self.clock)

    @cached_property
    def tries(self) -> Tries:
        return Tries(self.ledger, self.clock)

    def sealing(self) -> Sealer:
        """Raises ``ConfigError``, which names the setting that is missing."""
        return self.sealer or make_sealer(())

    async def off(self) -> Literal["no key", "nobody"] | None:
        """What is missing before anybody can sign in here."""
        if self.way != "password":
            return None
        if self.sealer is None:
            return "no key"
        return None if await self.people.any() else "nobody"

    # -- the way of `dev` ----------------------------------------------------------------------
    async def local_link(self, url: str) -> str:
        """A link into the pages of a host on this machine, for whoever sits at it."""
        token = await self.links.make("sign-in", Link(LOCAL_USER, 0))
        return f"{url}/console/sign-in?once={token}"

    async def by_link(self, token: str, address: str) -> Held | None:
        if not self.local or await self.links.use(token, "sign-in") is None:
            log.warning("sign-in by link failed: it was used or is over (from %s)", address)
            return None
        return self.entered(Held(LOCAL_USER, "link", 0), address)

    # -- the way of named users ----------------------------------------------------------------
    async def by_password(self, name: str, password: str, code: str, address: str) -> Held | None:
        """Raises ``LockedError``. Whether there is such a user changes nothing of what is done."""
        last = [
            await self.tries.take("address", address),
            await self.tries.take("user", name),
        ]
        person = await self.people.find(name)
        able = person is not None and person.ready and not person.disabled
        kept = person.password if person is not None and able else None
        right = await self.passwords.check(kept, password[: factor.LONGEST + 1])
        held = await self._second(person, code) if right and person is not None else None
        if held is None:
            # A name that nobody has may be a password in the wrong field.
            who = "an unknown user" if person is None else f"user {name}"
            log.warning("sign-in of %s failed (from %s)", who, address)
            if any(last):
                log.warning("sign-in of %s is locked for a while (from %s)", who, address)
            return None
        await self.tries.forgive(name)
        await self.tries.give_back(address)
        return self.entered(held, address)

    async def _second(self, person: Person, code: str) -> Held | None:
        """Use up a code of the moment or a recovery code: of two who bring the same, one is let in."""
        now = self.clock.now()
        recovery = factor.recovery_digest(code)

        def used(known: Person) -> Person | None:
            if known.disabled or known.epoch != person.epoch or known.secret is None:
                return None
            if recovery in known.recovery:
                left = tuple(one for one in known.recovery if one != recovery)
                return replace(known, recovery=left, seen=now)
            secret = self.sealing().open(known.secret, about(known.name)).decode("ascii")
            step = factor.step_of(secret, code.replace(" ", ""), now, after=known.step)
            return None if step is None else replace(known, step=step, seen=now)

        let_in = await self.people.change(person.name, used)
        if let_in is None:
            return None
        if len(let_in.recovery) < len(person.recovery):
            log.warning("user %s used a recovery code: %d left", person.name, len(let_in.recovery))
        return Held(person.name, "password", let_in.epoch)

    async def set_up(self, link: Link, password: str, secret: str, step: int) -> list[str] | None:
        """Keep what a user proves themselves with from now on, and tell the recovery codes, once.
        ``None`` if the invitation isn't theirs any more."""
        hashed = await self.passwords.hash(password)
        sealed = self.sealing().seal(secret.encode("ascii"), about(link.user))
        codes = factor.recovery_codes()
        digests = tuple(map(factor.recovery_digest, codes))

        def ready(known: Person) -> Person | None:
            if known.disabled or known.epoch != link.epoch or known.ready:
                return None
            return replace(known, password=hashed, secret=sealed, step=step, recovery=digests)

        if await self.people.change(link.user, ready) is None:
            return None
        log.info("user %s set up a password and a second factor", link.user)
        return codes

    # -- the way of a provider -----------------------------------------------------------------
    @property
    def back(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.public_url}/console/sign-in/back"

    async def by_provider(self, code: str, attempt: Attempt, address: str) -> Held:
        """Raises ``LockedError``, ``NotLetInError``, ``ProviderError``."""
        provider = self.provider
        if provider is None:
            raise ForbiddenError("nobody signs in through a provider here")
        last = await self.tries.take("address", address)
        try:
            vouched = await provider.finish(
                code, self.back, nonce=attempt.nonce, verifier=attempt.verifier
            )
            person = await self.people.provided(vouched.name, vouched.role)
            if person.disabled:
                raise ForbiddenError(
                    f"{person.name} is disabled here", fix=f"gateway users enable {person.name}"
                )
        except GatewayError as error:
            log.warning("sign-in through %s failed: %s (from %s)", provider.host, error, address)
            if error.status >= 500:  # the provider's fault, or ours
                await self.tries.give_back(address)
            elif last:
                log.warning("sign-in from %s is locked for a while", address)
            raise
        await self.tries.give_back(address)
        return self.entered(Held(person.name, "oidc", person.epoch), address)

    def entered(self, held: Held, address: str) -> Held:
        log.info("%s signed in by %s (from %s)", held.user, held.way, address)
        return held


def about(name: str) -> str:
    """What a sealed second factor belongs to: another user's opens nothing."""
    return f"the second factor of console user {name}"


ACCESS = web.AppKey("gateway_console_access", Access)
