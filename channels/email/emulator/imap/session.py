"""One client from its greeting to its end."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from channels.email.emulator.boxes import Account
from channels.email.emulator.faults import Fault, Faults
from channels.email.emulator.imap.mailbox import Mailbox
from channels.email.emulator.imap.messages import Messages
from channels.email.emulator.imap.view import View
from channels.email.emulator.imap.wire import BadCommandError, Command, NoError, Token, Wire, word
from gateway.engine.kinds import Millis

CAPABILITIES = "IMAP4rev1 IDLE MOVE UIDPLUS UNSELECT LITERAL+ AUTH=PLAIN"
MAY_NOT_REMOVE = frozenset({"FETCH", "STORE", "SEARCH"})
"""Commands that speak in numbers, so those may not change meanwhile (RFC 3501 7.4.1)."""

Do = Callable[[list[Token]], Awaitable[str]]


class House(Protocol):
    """What a mail server must know to show mail."""

    faults: Faults

    def account(self, address: str, password: str) -> Account | None: ...

    def now(self) -> Millis: ...


class Session:
    def __init__(self, wire: Wire, house: House) -> None:
        self.account: Account | None = None
        self.view: View | None = None
        self.wire = wire
        self._house = house
        self._idle = False
        self._over = False
        mailbox, messages = Mailbox(self, house.now), Messages(self)
        self._anytime: dict[str, Do] = {
            "CAPABILITY": self._capability,
            "NOOP": self._nothing,
            "LOGOUT": self._logout,
            "LOGIN": self._login,
            "AUTHENTICATE": self._authenticate,
        }
        self._signed_in: dict[str, Do] = {**mailbox.commands}
        self._selected: dict[str, Do] = {**messages.commands, "IDLE": self._idling}
        self._uid: dict[str, Do] = messages.uid_commands

    # -- life --------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Serve the client until it goes, or the line does."""
        try:
            with contextlib.suppress(ConnectionError, EOFError):
                fault = self._house.faults.take("imap:CONNECT")
                if fault is not None:
                    await self._strike(fault)
                self.wire.say(f"* OK [CAPABILITY {CAPABILITIES}] ready")
                while not self._over:
                    await self.wire.flush()
                    await self._next()
                await self.wire.flush()
        finally:
            self.leave()
            self.wire.end()

    def leave(self) -> None:
        """No folder is selected any more."""
        if self.view is not None:
            self.view.close()
            self.view = None

    def changed(self) -> None:
        """Something happened in the folder. A client that idles hears of it at once."""
        if self.view is None:
            return
        if self.view.validity != self.view.folder.validity:
            self.wire.say("* BYE the mailbox is another one now")
            self.wire.end()
        elif self._idle:
            self._tell()

    def _tell(self, *, removals: bool = True) -> None:
        if self.view is not None:
            for line in self.view.news(removals=removals):
                self.wire.say(line)

    # -- commands ----------------------------------------------------------------------------------
    async def _next(self) -> None:
        try:
            command = await self.wire.command()
        except BadCommandError as bad:
            self.wire.say(f"* BAD {bad}")
            return
        name, arguments = command.name, command.arguments
        by_uid = name == "UID" and bool(arguments)
        if by_uid:
            name, arguments = word(arguments[0]).upper(), arguments[1:]
        fault = self._house.faults.take(f"imap:{name}")
        if fault is not None and fault.kind != "cut_after":
            if fault.kind in {"refuse", "tempfail"}:
                self.wire.say(f"{command.tag} NO [UNAVAILABLE] come again later")
                return
            await self._strike(fault)
        said = await self._done(command, self._find(name, by_uid=by_uid), arguments)
        if fault is not None and fault.kind == "cut_after":
            await self._strike(fault)
        self._tell(removals=by_uid or name not in MAY_NOT_REMOVE)
        self.wire.say(f"{command.tag} {said}")

    async def _done(self, command: Command, do: Do | None, arguments: list[Token]) -> str:
        try:
            if do is None:
                raise BadCommandError(f"{command.name} isn't for now")
            return f"OK {await do(arguments)}"
        except NoError as no:
            return f"NO {no}"
        except (BadCommandError, IndexError) as bad:
            return f"BAD {bad}"

    def _find(self, name: str, *, by_uid: bool) -> Do | None:
        if by_uid:
            return self._uid.get(name) if self.view is not None else None
        found = self._anytime.get(name)
        if found is None and self.account is not None:
            found = self._signed_in.get(name)
        if found is None and self.view is not None:
            found = self._selected.get(name)
        return found

    async def _strike(self, fault: Fault) -> None:
        if fault.kind == "slow":
            await asyncio.sleep(fault.seconds)
        elif fault.kind == "mute":
            while True:  # whatever the client says
                await self.wire.line()
        else:
            self.wire.cut()
            raise EOFError

    async def _capability(self, arguments: Sequence[Token]) -> str:
        self.wire.say(f"* CAPABILITY {CAPABILITIES}")
        return "done"

    async def _nothing(self, arguments: Sequence[Token]) -> str:
        return "done"

    async def _logout(self, arguments: Sequence[Token]) -> str:
        self.wire.say("* BYE until next time")
        self._over = True
        return "done"

    async def _login(self, arguments: Sequence[Token]) -> str:
        return self._sign_in(word(arguments[0]), word(arguments[1]))

    async def _authenticate(self, arguments: Sequence[Token]) -> str:
        if word(arguments[0]).upper() != "PLAIN":
            raise NoError("[CANNOT] only PLAIN")
        given = arguments[1] if len(arguments) > 1 else await self._asked()
        try:
            _, address, password = base64.b64decode(word(given)).decode().split("\0")
        except ValueError:
            raise BadCommandError("that is no PLAIN answer") from None
        return self._sign_in(address, password)

    async def _asked(self) -> bytes:
        self.wire.say("+ ")
        await self.wire.flush()
        return await self.wire.line()

    def _sign_in(self, address: str, password: str) -> str:
        self.account = self._house.account(address, password)
        if self.account is None:
            raise NoError("[AUTHENTICATIONFAILED] wrong address or password")
        return f"[CAPABILITY {CAPABILITIES}] signed in"

    async def _idling(self, arguments: Sequence[Token]) -> str:
        # In one breath with what happened meanwhile, as servers may: a client may read both at once.
        news = [] if self.view is None else self.view.news()
        self.wire.say("\r\n".join(["+ idling", *news]))
        self._idle = True
        try:
            await self.wire.flush()
            if (await self.wire.line()).upper() != b"DONE":
                raise BadCommandError("DONE was expected")
        finally:
            self._idle = False
        return "done"
