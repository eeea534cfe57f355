"""Commands about folders, and APPEND."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from channels.email.emulator.boxes import INBOX, Account, Folder
from channels.email.emulator.imap.view import View
from channels.email.emulator.imap.wire import BadCommandError, NoError, Token, Wire, quoted, word
from gateway.engine.kinds import Millis

FLAGS = "\\Answered \\Flagged \\Deleted \\Seen \\Draft"
LASTING = f"{FLAGS} \\*"


class Client(Protocol):
    """Who asks."""

    account: Account | None
    view: View | None
    wire: Wire

    def leave(self) -> None: ...

    def changed(self) -> None: ...


class Mailbox:
    def __init__(self, client: Client, now: Callable[[], Millis]) -> None:
        self._client = client
        self._now = now
        self.commands: dict[str, Callable[[list[Token]], Awaitable[str]]] = {
            "SELECT": self._select,
            "EXAMINE": self._examine,
            "CLOSE": self._close,
            "UNSELECT": self._unselect,
            "CHECK": self._nothing,
            "SUBSCRIBE": self._nothing,
            "UNSUBSCRIBE": self._nothing,
            "LIST": self._list,
            "LSUB": self._list,
            "CREATE": self._create,
            "DELETE": self._delete,
            "STATUS": self._status,
            "APPEND": self._append,
        }

    @property
    def _account(self) -> Account:
        if self._client.account is None:
            raise BadCommandError("sign in first")
        return self._client.account

    def _folder(self, token: Token) -> Folder:
        folder = self._account.folder(word(token))
        if folder is None:
            raise NoError("[TRYCREATE] there is no such mailbox")
        return folder

    # -- selecting ---------------------------------------------------------------------------------
    async def _select(self, arguments: Sequence[Token]) -> str:
        return self._open(arguments[0], read_only=False)

    async def _examine(self, arguments: Sequence[Token]) -> str:
        return self._open(arguments[0], read_only=True)

    def _open(self, name: Token, *, read_only: bool) -> str:
        self._client.leave()
        folder = self._folder(name)
        say = self._client.wire.say
        self._client.view = View(folder, read_only=read_only, changed=self._client.changed)
        unread = [n for n, mail in self._client.view.mails() if "\\Seen" not in mail.flags]
        say(f"* FLAGS ({FLAGS})")
        say(f"* OK [PERMANENTFLAGS ({'' if read_only else LASTING})] kept")
        say(f"* {len(self._client.view)} EXISTS")
        say("* 0 RECENT")
        if unread:
            say(f"* OK [UNSEEN {unread[0]}] first unread")
        say(f"* OK [UIDVALIDITY {folder.validity}] valid")
        say(f"* OK [UIDNEXT {folder.next}] next")
        return f"[{'READ-ONLY' if read_only else 'READ-WRITE'}] selected"

    async def _close(self, arguments: Sequence[Token]) -> str:
        view = self._client.view
        self._client.leave()
        if view is not None and not view.read_only:
            view.folder.remove([m.uid for _, m in view.mails() if "\\Deleted" in m.flags])
        return "closed"

    async def _unselect(self, arguments: Sequence[Token]) -> str:
        self._client.leave()
        return "closed"

    async def _nothing(self, arguments: Sequence[Token]) -> str:
        return "done"

    # -- folders -----------------------------------------------------------------------------------
    async def _list(self, arguments: Sequence[Token]) -> str:
        pattern = word(arguments[0]) + word(arguments[1])
        if not pattern:
            self._client.wire.say('* LIST (\\Noselect) "/" ""')
        for name in sorted(self._account.folders):
            if _matches(name, pattern):
                self._client.wire.say(f'* LIST (\\HasNoChildren) "/" {quoted(name)}')
        return "done"

    async def _create(self, arguments: Sequence[Token]) -> str:
        name = word(arguments[0]).rstrip("/")
        if self._account.folder(name) is not None:
            raise NoError("[ALREADYEXISTS] it is there")
        self._account.create(name)
        return "created"

    async def _delete(self, arguments: Sequence[Token]) -> str:
        folder = self._folder(arguments[0])
        if folder.name == INBOX:
            raise NoError("the inbox stays")
        del self._account.folders[folder.name]
        return "deleted"

    async def _status(self, arguments: Sequence[Token]) -> str:
        folder = self._folder(arguments[0])
        asked = arguments[1] if isinstance(arguments[1], list) else [arguments[1]]
        values = {
            "MESSAGES": len(folder.mails),
            "RECENT": 0,
            "UIDNEXT": folder.next,
            "UIDVALIDITY": folder.validity,
            "UNSEEN": sum("\\Seen" not in mail.flags for mail in folder.mails.values()),
        }
        told = [
            f"{name} {values[name]}" for token in asked if (name := word(token).upper()) in values
        ]
        self._client.wire.say(f"* STATUS {quoted(folder.name)} ({' '.join(told)})")
        return "done"

    async def _append(self, arguments: Sequence[Token]) -> str:
        folder, raw = self._folder(arguments[0]), arguments[-1]
        if isinstance(raw, list):
            raise BadCommandError("there is no mail in it")
        flags = [word(f) for token in arguments[1:-1] if isinstance(token, list) for f in token]
        uid = folder.add(raw, self._now(), flags)
        return f"[APPENDUID {folder.validity} {uid}] kept"


def _matches(name: str, pattern: str) -> bool:
    """``*`` stands for anything and ``%`` for one level, each at the end of the pattern only."""
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    if pattern.endswith("%"):
        return name.startswith(pattern[:-1]) and "/" not in name[len(pattern) - 1 :]
    return name == pattern or (name == INBOX and pattern.upper() == INBOX)
