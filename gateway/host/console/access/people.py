"""The users of the operators' pages, as the store keeps them.

A user is invited by the CLI and sets up a password and a second factor by a link, or comes from the
OpenID provider and has neither here. ``epoch`` rises with whatever must end what began before:
disabling, resetting, setting up anew.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import cast

from gateway.engine.errors import BusyError, ConfigError, NotFoundError, RequestError
from gateway.engine.kinds import JsonObject, Millis
from gateway.engine.ledger import Document, Ledger
from gateway.engine.limits import Clock
from gateway.engine.struct import replace, struct
from gateway.host.console.access.visitor import Role, role_from

KIND = "console_user"
NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,127}")
LOCAL_USER = "dev"
"""Whoever signs in by the link of ``gateway dev``; nobody else may be called so."""
PATIENCE = 50
MOST = 1000


class UserExistsError(RequestError):
    status = 409
    code = "user_exists"


@struct(frozen=True, slots=True, kw_only=True)
class Person:
    """``secret`` is that of the second factor, sealed; ``step`` the last of its time steps that was
    used; ``recovery`` the digests of codes that weren't yet."""

    name: str
    role: Role
    disabled: bool = False
    provided: bool = False
    """Known by the OpenID provider, which also says the role."""
    epoch: int = 0
    password: str | None = None
    secret: bytes | None = None
    step: int = -1
    recovery: tuple[str, ...] = ()
    made: Millis = Millis(0)
    seen: Millis | None = None

    @property
    def ready(self) -> bool:
        """Whether a password and a second factor are set up."""
        return self.password is not None and self.secret is not None

    @property
    def state(self) -> str:
        if self.disabled:
            return "disabled"
        return "active" if self.ready or self.provided else "invited"


class People:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock

    async def find(self, name: str) -> Person | None:
        row = await self._ledger.document(KIND, name) if NAME.fullmatch(name) else None
        return None if row is None else _person(row)

    async def all(self) -> list[Person]:
        return [_person(row) for row in await self._ledger.documents(KIND, MOST)]

    async def any(self) -> bool:
        return bool(await self._ledger.documents(KIND, 1))

    async def add(self, name: str, role: Role) -> Person:
        """Invite somebody. Raises ``UserExistsError``, and ``RequestError`` for a name that won't do."""
        check_name(name)
        person = Person(name=name, role=role, made=self._clock.now())
        if not await self._ledger.put_document(_row(person), None):
            raise UserExistsError(
                f"there is a user {name!r} already",
                fix=f"gateway users role {name} {role}, or gateway users reset {name}",
            )
        return person

    async def change(self, name: str, change: Callable[[Person], Person | None]) -> Person | None:
        """Put a user as ``change`` makes it, however often somebody else was quicker; ``None`` from
        it leaves everything as it is. Raises ``NotFoundError``."""
        for _ in range(PATIENCE):
            row = await self._ledger.document(KIND, name) if NAME.fullmatch(name) else None
            if row is None:
                raise NotFoundError(f"there is no user {name!r}", fix="gateway users list")
            changed = change(_person(row))
            if changed is None or await self._ledger.put_document(_row(changed), row.version):
                return changed
        raise BusyError("this user is being changed by others at this moment", fix="try again")

    async def provided(self, name: str, role: Role) -> Person:
        """Somebody whom the OpenID provider vouches for, with the role that it gives. A disabled
        user stays so."""
        now = self._clock.now()
        person = Person(name=name, role=role, provided=True, made=now, seen=now)
        if await self._ledger.put_document(_row(person), None):
            return person
        found = await self.change(
            name, lambda known: replace(known, role=role, provided=True, seen=now)
        )
        return found or person


def check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name == LOCAL_USER:
        raise RequestError(
            f"{name!r} can't be a user's name",
            fix="use lower case letters, digits and . _ @ + -, beginning with a letter or digit;"
            f" {LOCAL_USER!r} is taken",
        )


def with_role(role: Role) -> Callable[[Person], Person]:
    return lambda person: replace(person, role=role)


def switched(*, off: bool) -> Callable[[Person], Person]:
    """Disabled, or enabled again. What was open before stays ended."""
    return lambda person: replace(person, disabled=off, epoch=person.epoch + 1)


def without_proof(person: Person) -> Person:
    """Invited anew: no password, no second factor, no recovery codes, no sessions."""
    return replace(person, epoch=person.epoch + 1, password=None, secret=None, step=-1, recovery=())


def person_json(person: Person) -> JsonObject:
    """A user as lists show it: nothing of it opens anything."""
    return {
        "name": person.name,
        "identity": f"console:{person.name}",
        "role": person.role,
        "state": person.state,
        "recovery_codes": len(person.recovery),
        "made": person.made,
        "last_sign_in": person.seen,
    }


def _row(person: Person) -> Document:
    secret = None if person.secret is None else base64.b64encode(person.secret).decode("ascii")
    body: JsonObject = {
        "role": person.role,
        "disabled": person.disabled,
        "provided": person.provided,
        "epoch": person.epoch,
        "password": person.password,
        "secret": secret,
        "step": person.step,
        "recovery": [*person.recovery],
        "made": person.made,
        "seen": person.seen,
    }
    return Document(kind=KIND, key=person.name, body=body)


def _person(row: Document) -> Person:
    held, role = row.body, role_from(row.body.get("role"))
    if role is None:
        raise ConfigError(
            f"the user {row.key!r} has a role that this release doesn't know",
            fix="install the release that wrote it, or a newer one",
        )
    secret, password, seen = held.get("secret"), held.get("password"), held.get("seen")
    return Person(
        name=row.key,
        role=role,
        disabled=held.get("disabled") is not False,
        provided=held.get("provided") is True,
        epoch=cast("int", held["epoch"]),
        password=password if isinstance(password, str) else None,
        secret=base64.b64decode(secret) if isinstance(secret, str) else None,
        step=cast("int", held["step"]),
        recovery=tuple(map(str, cast("list[object]", held["recovery"]))),
        made=Millis(cast("int", held["made"])),
        seen=Millis(seen) if isinstance(seen, int) else None,
    )
