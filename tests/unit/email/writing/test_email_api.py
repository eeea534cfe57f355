"""One attempt to hand a letter over, against a real server, with the line cut at every step."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from channels.email.api import Accepted, Later, Refused, Submission, Turned, Unclear
from gateway.engine.errors import ConfigError
from tests.unit.email.writing.post import (
    HOST,
    PASSWORD,
    USER,
    Post,
    contexts,
    post_office,
    scripted,
    wire,
)

SENDER, ADA, EVE = "support+b@shop.example", "ada@example.com", "eve@example.com"
LETTER = b"Subject: hello\r\n\r\n.\r\n..two\r\nend.\r\n"
GREAT = LETTER + (b"." + b"x" * 900 + b"\r\n") * 1_000
HUGE = GREAT * 9
"""More than is under way at once."""


@pytest.fixture(scope="module")
def office() -> Iterator[Post]:
    with post_office() as post:
        yield post


@pytest.fixture
def post(office: Post) -> Post:
    office.says.clear()
    office.taken.clear()
    return office


def way_out(
    port: int, user: str = USER, password: str = PASSWORD, seconds: float = 20
) -> Submission:
    return Submission(
        f"smtp://{quote(user, safe='')}:{quote(password, safe='')}@{HOST}:{port}", seconds=seconds
    )


async def test_a_letter_arrives_as_it_was_written(post: Post) -> None:
    outcome = await way_out(post.port).send(SENDER, [ADA, EVE], LETTER)
    assert outcome == Accepted("250 2.0.0 queued as 4711")
    assert post.taken == [(SENDER, [ADA, EVE], LETTER)]


async def test_nobody_has_to_be_named_as_its_sender(post: Post) -> None:
    assert isinstance(await way_out(post.port).send("", [ADA], LETTER), Accepted)
    assert post.taken == [("", [ADA], LETTER)]


async def test_a_great_letter_arrives_whole(post: Post) -> None:
    assert isinstance(await way_out(post.port).send(SENDER, [ADA], GREAT), Accepted)
    assert post.taken[0][2] == GREAT


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "END"])
async def test_a_server_that_says_not_now_is_asked_again(post: Post, step: str) -> None:
    post.says[step] = "451 4.7.1 come back"
    outcome = await way_out(post.port).send(SENDER, [ADA], LETTER)
    assert isinstance(outcome, Later)
    assert outcome.after > 0
    assert "451 4.7.1 come back" in outcome.why
    assert outcome.problem == ""
    assert post.taken == []


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "END"])
async def test_a_server_that_says_never_is_believed(post: Post, step: str) -> None:
    post.says[step] = "550 5.1.1 nobody of this name"
    outcome = await way_out(post.port).send(SENDER, [ADA], LETTER)
    assert outcome == Refused(550, "550 5.1.1 nobody of this name", (ADA,), "5.1.1")
    assert post.taken == []


async def test_one_recipient_refused_keeps_the_letter_from_nobody_else(post: Post) -> None:
    post.says[f"RCPT {EVE}"] = "553 no such name"
    outcome = await way_out(post.port).send(SENDER, [EVE, ADA], LETTER)
    turned = Turned(EVE, 553, "", "553 no such name")
    assert outcome == Accepted("250 2.0.0 queued as 4711", (turned,))
    assert post.taken == [(SENDER, [ADA], LETTER)]


async def test_one_recipient_put_off_makes_all_wait(post: Post) -> None:
    post.says[f"RCPT {EVE}"] = "450 4.2.0 greylisted"
    assert isinstance(await way_out(post.port).send(SENDER, [ADA, EVE], LETTER), Later)
    assert post.taken == []


@pytest.mark.parametrize("cut", ["accept", "EHLO", "AUTH", "MAIL", "RCPT", "DATA", "body"])
async def test_cut_before_its_end_a_letter_is_certain_not_to_have_arrived(
    post: Post, cut: str
) -> None:
    letter = HUGE if cut == "body" else LETTER
    async with wire(post.port, cut) as port:
        outcome = await way_out(port).send(SENDER, [ADA], letter)
    assert isinstance(outcome, Later)
    assert "connection was lost" in outcome.why
    assert post.taken == []


@pytest.mark.parametrize(("cut", "arrived"), [("end", 0), ("answer", 1)])
async def test_cut_behind_its_end_nobody_can_tell(post: Post, cut: str, arrived: int) -> None:
    async with wire(post.port, cut) as port:
        outcome = await way_out(port).send(SENDER, [ADA], LETTER)
    assert isinstance(outcome, Unclear)
    assert len(post.taken) == arrived


async def test_a_letter_that_is_still_on_its_way_when_time_runs_out_has_not_arrived(
    post: Post,
) -> None:
    async with wire(post.port, "stall") as port:
        outcome = await way_out(port, seconds=0.5).send(SENDER, [ADA], HUGE)
    assert isinstance(outcome, Later)
    assert "time ran out" in outcome.why


async def test_nobody_there_is_no_answer(post: Post) -> None:
    async with wire(post.port, "accept") as port:
        pass
    assert isinstance(await way_out(port).send(SENDER, [ADA], LETTER), Later)


@pytest.mark.parametrize(
    ("user", "password", "says"),
    [
        (USER, "wrong & secret", ""),
        (USER, "wrong & secret", "535 5.7.8 no: wrong & secret d3JvbmcgJiBzZWNyZXQ="),
    ],
)
async def test_refused_credentials_are_told_to_an_operator_and_to_no_log(
    post: Post, caplog: pytest.LogCaptureFixture, user: str, password: str, says: str
) -> None:
    if says:
        post.says["AUTH"] = says
    with caplog.at_level(logging.DEBUG, "channels"):
        outcome = await way_out(post.port, user, password).send(SENDER, [ADA], LETTER)
    assert isinstance(outcome, Later)
    assert "user and password" in outcome.problem
    told = f"{outcome} {caplog.text}"
    assert "secret" not in told
    assert "d3Jvbmcg" not in told


async def test_a_server_that_cant_sign_anybody_in_now_is_asked_again(post: Post) -> None:
    post.says["AUTH"] = "454 4.7.0 later, " + PASSWORD
    outcome = await way_out(post.port).send(SENDER, [ADA], LETTER)
    assert isinstance(outcome, Later)
    assert (outcome.problem, PASSWORD in outcome.why) == ("", False)


async def test_a_server_that_wants_a_password_says_so_to_the_operator(post: Post) -> None:
    post.says["MAIL"] = "530 5.7.0 Authentication required"
    outcome = await Submission(f"smtp://{HOST}:{post.port}").send(SENDER, [ADA], LETTER)
    assert isinstance(outcome, Later)
    assert "EMAIL_SMTP_URL" in outcome.problem


@pytest.mark.parametrize(
    ("says", "kind", "words"),
    [
        ({"GREETING": "554 go away"}, Later, "refuses to serve us"),
        ({"GREETING": "421 4.3.2 closing"}, Later, "421 4.3.2 closing"),
        ({"GREETING": "good morning"}, Later, "while connecting"),
        ({"GREETING": "220-" + "x" * 40_000}, Later, "Response too long"),
        ({"EHLO": "502 what?", "HELO": "250 hello"}, Later, "takes no user name"),
        ({"EHLO": "250-x\r\n250 AUTH CRAM-MD5"}, Later, "takes no user name"),
        ({"EHLO": "250-x\r\n250 AUTH LOGIN", "AUTH": "535 no"}, Later, "refuses user and password"),
        ({"MAIL": "421 4.3.2 closing"}, Later, "421 4.3.2 closing"),
        ({"MAIL": "552 5.3.4 too big"}, Refused, "552 5.3.4 too big"),
        ({"RCPT": "251 will forward"}, Accepted, "250 2.0.0 queued"),
        ({"DATA": "250 what?"}, Later, "asking to begin"),
        ({"DATA": "554 5.7.1 spam"}, Refused, "5.7.1"),
        ({"END": "354 what?"}, Unclear, "354 what?"),
        ({"END": "what?"}, Unclear, "understood"),
        ({"END": "421 4.3.2 closing"}, Later, "421 4.3.2 closing"),
        ({"END": "554 5.7.1\x1b[31m spam"}, Refused, "5.7.1 [31m spam"),
        ({"QUIT": "what?"}, Accepted, "250 2.0.0 queued"),
    ],
)  # fmt: skip
async def test_whatever_a_server_says_it_means_one_of_four_things(
    says: dict[str, str], kind: type, words: str
) -> None:
    async with scripted(**says) as (port, _):
        outcome = await way_out(port).send(SENDER, [ADA], LETTER)
    assert type(outcome) is kind
    assert words in str(outcome)
    assert "\x1b" not in str(outcome)


async def test_a_server_is_told_the_size_where_it_asks_for_it() -> None:
    async with scripted(EHLO="250-x\r\n250-SIZE 1000000\r\n250 AUTH PLAIN") as (port, heard):
        assert isinstance(await way_out(port).send(SENDER, [ADA], LETTER), Accepted)
    assert heard[0] == "EHLO shop.example"
    assert f"MAIL FROM:<{SENDER}> SIZE={len(LETTER)}" in heard
    assert [line.partition(" ")[0] for line in heard].count("AUTH") == 1


async def test_whoever_stops_waiting_leaves_nothing_behind(post: Post) -> None:
    async with wire(post.port, "stall") as port:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await way_out(port).send(SENDER, [ADA], HUGE)
    assert post.taken == []


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.com\r\nRCPT TO:<eve@example.com>",
        "ada@example.com\n",
        "ada@ex\x00ample.com",
        "ada>@example.com",
        "ädä@example.com",
        "ada@exämple.com",
        "ada eve@example.com",
        '"a b"@example.com',
        "ada@[127.0.0.1]",
        "ada..eve@example.com",
        "ada",
        "@example.com",
        "a" * 65 + "@example.com",
        "ada@-x.example",
    ],
)
async def test_an_address_that_says_more_than_an_address_is_never_said(
    post: Post, address: str
) -> None:
    async with wire(post.port, "accept") as port:
        for sender, recipient in ((SENDER, address), (address, ADA)):
            outcome = await way_out(port).send(sender, [recipient], LETTER)
            assert isinstance(outcome, Refused)
            assert address not in outcome.why


@pytest.mark.parametrize("data", [b"x", b"a\n.\nb\r\n", b"a\r.\r\n", b"a\x00\r\n"])
async def test_lines_that_servers_read_differently_are_never_said(data: bytes) -> None:
    assert isinstance(await way_out(1).send(SENDER, [ADA], data), Refused)


# -- TLS -----------------------------------------------------------------------------------------------
async def test_tls_from_the_first_byte(tmp_path: Path) -> None:
    server, client = contexts(tmp_path)
    with post_office(tls=server) as post:
        url = f"smtps://{USER}:{quote(PASSWORD, safe='')}@localhost:{post.port}"
        outcome = await Submission(url, tls=client).send(SENDER, [ADA], LETTER)
        assert isinstance(outcome, Accepted)
        assert post.taken == [(SENDER, [ADA], LETTER)]
        distrusted = await Submission(url).send(SENDER, [ADA], LETTER)
        assert isinstance(distrusted, Later)
        assert "certificate" in distrusted.problem
        assert len(post.taken) == 1


async def test_tls_before_anything_is_said(tmp_path: Path, post: Post) -> None:
    server, client = contexts(tmp_path)
    with post_office(upgrade=server) as upgrading:
        url = f"smtps://{USER}:{quote(PASSWORD, safe='')}@localhost:{upgrading.port}?tls=starttls"
        outcome = await Submission(url, tls=client).send(SENDER, [ADA], LETTER)
        assert isinstance(outcome, Accepted)
    plain = f"smtps://u:secret@{HOST}:{post.port}"
    for url in (plain, f"{plain}?tls=starttls"):
        outcome = await Submission(url, tls=client).send(SENDER, [ADA], LETTER)
        assert isinstance(outcome, Later)
        assert "TLS" in outcome.problem
    assert post.taken == []


@pytest.mark.parametrize(
    "url",
    [
        "smtp://user:secret@mail.shop.example",
        "smtp://user:secret@10.0.0.1",
        "http://user:secret@localhost",
        "smtps://user:secret@",
        "smtps://user:secret@host:port",
        "smtps://user:sec/ret@host",
        "smtps://user:secret@host/path",
        "smtps://user:secret@host?tls=none",
        "smtp://user:secret@localhost?tls=starttls",
    ],
)
def test_a_way_out_that_would_tell_a_password_is_refused_without_telling_it(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Submission(url)
    assert "sec" not in f"{caught.value}".replace("second", "")
