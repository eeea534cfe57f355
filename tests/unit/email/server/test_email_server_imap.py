"""A client reads, moves, waits and is thrown out as by any IMAP server."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from imapclient import IMAPClient  # type: ignore[import-untyped]
from imapclient.exceptions import (  # type: ignore[import-untyped]
    IMAPClientAbortError,
    IMAPClientError,
    LoginError,
)
from typing_extensions import override

from channels.email.emulator.boxes import INBOX
from channels.email.emulator.faults import Fault, Faults
from channels.email.emulator.imap.sets import spans, within
from channels.email.emulator.imap.wire import BadCommandError
from channels.email.emulator.letters import File
from channels.email.ways.account import Account
from channels.email.ways.wire import Wire
from gateway.engine.kinds import Millis
from gateway.values import Secret
from tests.unit.email.server.conftest import ADA, SUPPORT, Post, draft

ODD = (
    b"",
    b"no header at all",
    b"Subject: 8 bit \xe9\xff\r\n\r\n\xe9\x00\xff",
    b"X: y\r\n\r\n* 99 EXISTS\r\n)\r\n* BYE\r\na1 OK done\r\n",
    b"X: y\r\n\r\n" + b"z" * 200_000 + b"\r\n{5}\r\n",
)


async def fill(post: Post, count: int) -> None:
    for number in range(1, count + 1):
        await post.server.deliver(draft(subject=f"number {number}").raw(), SUPPORT, ADA)


async def test_a_mail_is_found_read_and_moved_away(post: Post) -> None:
    await post.server.deliver(draft(files=[File("a.txt", "text/plain", b"hi")]).raw(), SUPPORT, ADA)

    def work(client: IMAPClient) -> None:
        assert {b"IDLE", b"MOVE", b"UIDPLUS"} <= set(client.capabilities())
        client.create_folder("Processed")
        assert {name for _, _, name in client.list_folders()} == {INBOX, "Processed"}
        selected = client.select_folder(INBOX)
        assert (selected[b"EXISTS"], selected[b"UIDNEXT"]) == (1, 2)
        assert client.search("UNSEEN") == [1]
        [got] = client.fetch([1], ["BODY.PEEK[]", "FLAGS", "RFC822.SIZE", "INTERNALDATE"]).values()
        [kept] = post.server.mails(SUPPORT)
        assert got[b"BODY[]"] == kept
        assert (got[b"RFC822.SIZE"], got[b"FLAGS"]) == (len(kept), ())
        header = client.fetch([1], ["BODY.PEEK[HEADER]"])[1][b"BODY[HEADER]"]
        assert header.endswith(b"\r\n\r\n")
        assert kept.startswith(header)
        client.move([1], "Processed")
        assert client.search() == []
        assert client.folder_status("Processed", ["MESSAGES", "UIDNEXT"]) == {
            b"MESSAGES": 1,
            b"UIDNEXT": 2,
        }
        client.logout()

    await post.by_imap(work)
    assert post.server.mails(SUPPORT) == []
    assert len(post.server.mails(SUPPORT, "Processed")) == 1


async def test_flags_copies_removals_and_what_is_appended(post: Post) -> None:
    await fill(post, 3)

    def work(client: IMAPClient) -> None:
        client.create_folder("Kept")
        client.select_folder(INBOX)
        client.add_flags([1, 3], ["\\Seen", "june"])
        client.remove_flags([3], ["june"])
        assert client.get_flags([1, 3]) == {1: (b"\\Seen", b"june"), 3: (b"\\Seen",)}
        assert client.search("UNSEEN") == [2]
        assert client.search(["KEYWORD", "june"]) == [1]
        assert client.search(["NOT", ["HEADER", "Subject", "number 2"]]) == [1, 3]
        client.copy([2], "Kept")
        client.delete_messages([1, 2])
        client.expunge([1])
        assert client.search() == [2, 3]
        client.expunge()
        assert client.search() == [3]
        assert b"APPENDUID" in client.append(INBOX, b"Subject: new\r\n\r\nhi\r\n", ["\\Seen"])
        assert client.search("ALL") == [3, 4]
        assert client.search("UID 9:*") == [4]  # `n:*` always holds the newest
        assert client.fetch("4", ["BODY[TEXT]"])[4][b"BODY[TEXT]"] == b"hi\r\n"

    await post.by_imap(work)
    assert b"number 2" in post.server.mails(SUPPORT, "Kept")[0]


@pytest.mark.parametrize("raw", ODD)
async def test_any_bytes_come_back_as_they_were_put_there(post: Post, raw: bytes) -> None:
    def work(client: IMAPClient) -> Any:
        client.append(INBOX, raw)
        client.select_folder(INBOX)
        return client.fetch([1], ["BODY.PEEK[]"])[1][b"BODY[]"]

    assert await post.by_imap(work) == raw


async def test_a_waiting_client_hears_of_mail_and_of_what_others_do(post: Post) -> None:
    await fill(post, 2)
    idling = threading.Event()
    loop = asyncio.get_running_loop()

    def wait(client: IMAPClient) -> list[Any]:
        client.select_folder(INBOX)
        client.idle()
        idling.set()
        heard: list[Any] = []
        for _ in range(4):
            heard += client.idle_check(timeout=5)
            if (1, b"EXPUNGE") in heard:
                break
        client.idle_done()
        client.noop()
        return heard

    def move(client: IMAPClient) -> None:
        client.select_folder(INBOX)
        client.move([1], "Done")

    post.support.create("Done")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(post.by_imap(wait))
        await loop.run_in_executor(None, idling.wait, 5)
        await fill(post, 1)
        await post.by_imap(move)
    assert waiting.result()[0] == (3, b"EXISTS")
    assert (1, b"EXPUNGE") in waiting.result()


class JustBefore(Faults):
    """A mail comes between a command and its answer."""

    step: str
    come: Callable[[], object]

    @override
    def take(self, step: str) -> Fault | None:
        if step == self.step:
            self.come()
        return super().take(step)


async def test_mail_that_is_told_in_one_breath_with_the_waiting_is_heard(post: Post) -> None:
    faults = post.server.faults = JustBefore()
    faults.step = "imap:IDLE"
    faults.come = lambda: post.support.inbox.add(draft().raw(), Millis(0))
    login = Secret(post.support.password)
    account = Account(
        host=post.server.host, port=post.server.ports.imap, tls=False, user=SUPPORT, password=login
    )
    wire = Wire(account, 2, 5, None)

    def heard() -> str:
        wire.open(())
        assert wire.listed(Millis(0)) == []
        return wire.idle()

    try:
        assert await asyncio.to_thread(heard) == "new"
    finally:
        await asyncio.to_thread(wire.close)


async def test_numbers_stay_while_a_client_speaks_in_them(post: Post) -> None:
    await fill(post, 3)
    post.support.create("Done")

    def work(client: IMAPClient) -> None:
        client.use_uid = False
        client.select_folder(INBOX)
        with post.imap() as other:
            other.select_folder(INBOX)
            other.move([1], "Done")
        got = client.fetch([1, 2], ["UID"])
        assert {number: told[b"UID"] for number, told in got.items()} == {2: 2}
        client.noop()
        assert client.search() == [1, 2]

    await post.by_imap(work)


async def test_a_new_validity_throws_out_who_has_the_folder_open(post: Post) -> None:
    await fill(post, 2)

    def work(client: IMAPClient) -> tuple[int, int]:
        before = client.select_folder(INBOX)
        asyncio.run_coroutine_threadsafe(renew(), loop).result(5)
        with pytest.raises((IMAPClientAbortError, OSError)):
            client.noop()
        with post.imap() as again:
            after = again.select_folder(INBOX)
            assert again.search() == [1, 2]
        return before[b"UIDVALIDITY"], after[b"UIDVALIDITY"]

    async def renew() -> None:
        post.server.renew(SUPPORT)

    loop = asyncio.get_running_loop()
    before, after = await post.by_imap(work)
    assert after > before


async def test_mails_outlive_a_restart(post: Post) -> None:
    await fill(post, 1)
    ports = vars_of(post)
    await post.server.stop()
    with pytest.raises(ConnectionRefusedError):
        await post.by_imap(lambda client: None)
    await post.server.start()
    assert vars_of(post) == ports
    seen = await post.by_imap(lambda client: client.select_folder(INBOX))
    assert seen[b"EXISTS"] == 1


def vars_of(post: Post) -> tuple[int, int, int]:
    ports = post.server.ports
    return ports.submission, ports.mx, ports.imap


@pytest.mark.parametrize(
    ("kind", "step", "moved"),
    [
        ("cut_before", "imap:CONNECT", False),
        ("cut_before", "imap:LOGIN", False),
        ("cut_before", "imap:SELECT", False),
        ("cut_before", "imap:MOVE", False),
        ("cut_after", "imap:MOVE", True),
        ("refuse", "imap:MOVE", False),
    ],
)
async def test_the_line_breaks_where_it_is_told_to(
    post: Post, kind: Any, step: str, moved: bool
) -> None:
    await fill(post, 1)
    post.support.create("Done")
    fault = post.server.faults.add(Fault(kind, step))

    def work(client: IMAPClient) -> None:
        client.select_folder(INBOX)
        client.move([1], "Done")

    with pytest.raises((IMAPClientError, LoginError, OSError)):
        await post.by_imap(work)
    assert fault.struck == 1
    assert len(post.server.mails(SUPPORT, "Done")) == moved
    await post.by_imap(lambda client: client.noop())  # once was enough


async def test_a_mute_server_keeps_the_line_and_ends_all_the_same(post: Post) -> None:
    post.server.faults.add(Fault("mute", "imap:NOOP"))

    def work(client: IMAPClient) -> None:
        client.socket().settimeout(0.2)
        client.noop()

    with pytest.raises(TimeoutError):
        await post.by_imap(work)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"a1 SELECT INBOX", b"a1 BAD"),
        (b"a1 UID", b"a1 BAD"),
        (b"a1 LOGIN (", b"* BAD"),
        (b'a1 LOGIN "x', b"* BAD"),
        (b"a1 LOGIN x", b"a1 BAD"),
        (b"a1 LOGIN x y", b"a1 NO"),
        (b"\xff\xff", b"\xef\xbf\xbd\xef\xbf\xbd BAD"),
        (b"a1 AUTHENTICATE PLAIN !", b"a1 BAD"),
    ],
)
async def test_nonsense_is_answered_and_breaks_nothing(
    post: Post, said: bytes, answer: bytes
) -> None:
    def work() -> bytes:
        where = (post.server.host, post.server.ports.imap)
        with socket.create_connection(where, 5) as line, line.makefile("rwb") as wire:
            wire.readline()
            wire.write(said + b"\r\n")
            wire.flush()
            return wire.readline()

    assert (await asyncio.to_thread(work)).startswith(answer)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("1,4:6", (1, 4, 6), (2, 7)),
        ("9:*", (7, 8, 9), (6,)),
        ("*", (7,), (6,)),
        ("6:4", (5,), (3,)),
    ],
)
def test_sets_of_numbers(text: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    ranges = spans(text, 7)
    assert all(within(number, ranges) for number in inside)
    assert not any(within(number, ranges) for number in outside)


@pytest.mark.parametrize("text", ["", "x", "1:", "1,,2", "-1", "1" * 20])
def test_what_is_no_set(text: str) -> None:
    with pytest.raises(BadCommandError):
        spans(text, 7)
