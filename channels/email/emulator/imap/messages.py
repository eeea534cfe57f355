"""Commands about the mails of the selected folder, by number and by UID."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from channels.email.emulator.boxes import Folder, Stored
from channels.email.emulator.imap import fetch
from channels.email.emulator.imap.mailbox import Client
from channels.email.emulator.imap.sets import criteria
from channels.email.emulator.imap.view import View
from channels.email.emulator.imap.wire import BadCommandError, NoError, Token, word

Do = Callable[[list[Token]], Awaitable[str]]


class Messages:
    def __init__(self, client: Client) -> None:
        self._client = client
        both = {
            "SEARCH": self._search,
            "FETCH": self._fetch,
            "STORE": self._store,
            "COPY": self._copy,
            "MOVE": self._move,
        }
        self.commands: dict[str, Do] = {name: _by(do, by_uid=False) for name, do in both.items()}
        self.commands["EXPUNGE"] = self._expunge
        self.uid_commands: dict[str, Do] = {name: _by(do, by_uid=True) for name, do in both.items()}
        self.uid_commands["EXPUNGE"] = self._expunge_some

    @property
    def _view(self) -> View:
        if self._client.view is None:
            raise BadCommandError("select a mailbox first")
        return self._client.view

    @property
    def _writable(self) -> View:
        if self._view.read_only:
            raise NoError("[READ-ONLY] it was only opened to be read")
        return self._view

    # -- reading -----------------------------------------------------------------------------------
    async def _search(self, arguments: Sequence[Token], *, by_uid: bool) -> str:
        mails = dict(self._view.mails())
        asked = criteria(arguments, mails)
        found = [mail.uid if by_uid else n for n, mail in mails.items() if asked(n, mail)]
        self._client.wire.say(" ".join(["* SEARCH", *map(str, found)]))
        return "done"

    async def _fetch(self, arguments: Sequence[Token], *, by_uid: bool) -> str:
        view = self._view
        asked = fetch.items(arguments[1])
        if by_uid and "UID" not in asked:
            asked = ["UID", *asked]
        for number, mail in view.chosen(word(arguments[0]), by_uid=by_uid):
            if fetch.marks_seen(asked) and not view.read_only and "\\Seen" not in mail.flags:
                mail.flags |= {"\\Seen"}
                asked_now = [*asked, "FLAGS"] if "FLAGS" not in asked else asked
            else:
                asked_now = asked
            if "FLAGS" in asked_now:
                view.seen(mail)
            told = fetch.answer(mail, asked_now)
            self._client.wire.put(f"* {number} FETCH (".encode("ascii"), told, b")\r\n")
            await self._client.wire.flush()
        return "done"

    # -- changing ----------------------------------------------------------------------------------
    async def _store(self, arguments: Sequence[Token], *, by_uid: bool) -> str:
        view = self._writable
        how = word(arguments[1]).upper()
        given = arguments[2] if isinstance(arguments[2], list) else arguments[2:]
        flags = frozenset(word(flag) for flag in given)
        action, _, silent = how.partition(".")
        for number, mail in view.chosen(word(arguments[0]), by_uid=by_uid):
            match action:
                case "FLAGS":
                    mail.flags = flags
                case "+FLAGS":
                    mail.flags |= flags
                case "-FLAGS":
                    mail.flags -= flags
                case _:
                    raise BadCommandError("only flags can be stored")
            view.seen(mail)
            if not silent:
                uid = f"UID {mail.uid} " if by_uid else ""
                self._client.wire.say(f"* {number} FETCH ({uid}FLAGS {fetch.flags(mail)})")
        view.folder.changed()
        return "done"

    async def _copy(self, arguments: Sequence[Token], *, by_uid: bool) -> str:
        mails = [mail for _, mail in self._view.chosen(word(arguments[0]), by_uid=by_uid)]
        code = _copied(mails, self._target(arguments[1]))
        return f"{code} copied".lstrip()

    async def _move(self, arguments: Sequence[Token], *, by_uid: bool) -> str:
        view = self._writable
        target = self._target(arguments[1])
        mails = [mail for _, mail in view.chosen(word(arguments[0]), by_uid=by_uid)]
        if code := _copied(mails, target):
            self._client.wire.say(f"* OK {code} moved")
        view.folder.remove([mail.uid for mail in mails])
        return "moved"

    async def _expunge(self, arguments: Sequence[Token]) -> str:
        return self._remove([mail for _, mail in self._writable.mails()])

    async def _expunge_some(self, arguments: Sequence[Token]) -> str:
        chosen = self._writable.chosen(word(arguments[0]), by_uid=True)
        return self._remove([mail for _, mail in chosen])

    def _remove(self, mails: Sequence[Stored]) -> str:
        self._view.folder.remove([mail.uid for mail in mails if "\\Deleted" in mail.flags])
        return "done"

    def _target(self, name: Token) -> Folder:
        account = self._client.account
        folder = account.folder(word(name)) if account is not None else None
        if folder is None:
            raise NoError("[TRYCREATE] there is no such mailbox")
        return folder


def _by(
    do: Callable[..., Awaitable[str]], *, by_uid: bool
) -> Callable[[list[Token]], Awaitable[str]]:
    return lambda arguments: do(arguments, by_uid=by_uid)


def _copied(mails: Sequence[Stored], target: Folder) -> str:
    """The response code that says what became what (RFC 4315)."""
    if not mails:
        return ""
    new = [target.add(mail.raw, mail.at, mail.flags) for mail in mails]
    old = ",".join(str(mail.uid) for mail in mails)
    return f"[COPYUID {target.validity} {old} {','.join(map(str, new))}]"
